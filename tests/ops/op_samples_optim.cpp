// Rows of the optimisers' steps. Each sample has two parameters of different shapes.
#include <cmath>

#include "tandem/ops/optim_step.h"
#include "tests/ops/op_table.h"

namespace tandem::table {
namespace {

constexpr size_t kParams = 2;
constexpr int64_t kCounters[kParams] = {0, 4};  // one parameter makes its first step

/// The next p and s of one element, in the t-th step.
using Formula = void (*)(double g, double& p, double* s, double t);
using Step = std::vector<Tensor> (*)(const StepTensors& t);

/// Makes numbers where the parameters are.
auto numbers_for(const StepTensors& t) {
  const TensorOptions where = TensorOptions(kDouble).device(t.params[0].device());
  return [=](double x) { return full({}, x, where); };
}

/// Inputs: parameters, gradients, lists of state, counters. Results: counters, parameters, state.
Fn call(Step step, size_t n_state, bool counted) {
  return [=](const List& a) -> List {
    const auto list = [&](size_t k) { return TensorList(a.data() + k * kParams, kParams); };
    StepTensors t{list(0), list(1)};
    for (size_t k = 0; k < n_state; ++k) t.state.push_back(list(2 + k));
    if (counted) t.steps = list(2 + n_state);
    return step(t);
  };
}

Reference apply_formula(Formula formula, size_t n_state, bool counted) {
  return [=](const ValuesList& a) {
    ValuesList counters, params, state(n_state * kParams);
    for (size_t i = 0; i < kParams; ++i) {
      Values p = a[i];
      const Values& g = a[kParams + i];
      double t = 0;
      if (counted) {
        counters.push_back(a[(2 + n_state) * kParams + i]);
        t = counters.back().v[0] += 1;
      }
      for (size_t k = 0; k < n_state; ++k) state[k * kParams + i] = a[(2 + k) * kParams + i];
      for (size_t e = 0; e < p.v.size(); ++e) {
        double s[3] = {};
        for (size_t k = 0; k < n_state; ++k) s[k] = state[k * kParams + i].v[e];
        formula(g.v[e], p.v[e], s, t);
        for (size_t k = 0; k < n_state; ++k) state[k * kParams + i].v[e] = s[k];
      }
      params.push_back(std::move(p));
    }
    ValuesList all = std::move(counters);
    all.insert(all.end(), params.begin(), params.end());
    all.insert(all.end(), state.begin(), state.end());
    return all;
  };
}

Sample sample(const char* label, Step step, Formula formula, std::vector<Input> state, bool counted,
              const Sizes& first = {3, 7}, const Sizes& second = {5}) {
  Sample s;
  s.label = label;
  const Sizes shapes[kParams] = {first, second};
  const auto add = [&](const Input& like) {
    for (const Sizes& shape : shapes) s.inputs.push_back(like.of_shape(shape).constant());
  };
  add(real({}));
  add(real({}));
  for (const Input& like : state) add(like);
  if (counted)
    for (const int64_t c : kCounters) s.inputs.push_back(given_index({}, {static_cast<double>(c)}));
  s.fn = call(step, state.size(), counted);
  s.reference = apply_formula(formula, state.size(), counted);
  s.grad = false;
  return s;
}

Row row(const char* name, std::vector<Sample> samples) {
  return {.name = name,
          .ops = {name},
          .samples = std::move(samples),
          .grad = Grad::kNo,
          .dtypes = kFloats,
          .out = Out::kUnchecked,
          .refuses_others = false};
}

// -- steps with fixed numbers -------------------------------------------------------------------

std::vector<Tensor> plain_sgd(const StepTensors& t) {
  const auto number = numbers_for(t);
  return sgd_step(t, {number(0.1), number(0), number(0), number(0.2)});
}
std::vector<Tensor> momentum_sgd(const StepTensors& t) {
  const auto number = numbers_for(t);
  return sgd_step(t, {number(0.1), number(0.9), number(0.3), number(0)});
}
std::vector<Tensor> nesterov_sgd(const StepTensors& t) {
  const auto number = numbers_for(t);
  return sgd_step(t, {number(0.1), number(0.9), number(0), number(0.2)}, true);
}
std::vector<Tensor> adam(const StepTensors& t) {
  const auto number = numbers_for(t);
  return adam_step(t, {number(0.1), number(0.9), number(0.99), number(1e-3), number(0.2)});
}
std::vector<Tensor> adamw(const StepTensors& t) {
  const auto number = numbers_for(t);
  return adam_step(t, {number(0.1), number(0.9), number(0.99), number(1e-3), number(0.2)}, true);
}
std::vector<Tensor> plain_rmsprop(const StepTensors& t) {
  const auto number = numbers_for(t);
  return rmsprop_step(t, {number(0.1), number(0.9), number(1e-3), number(0.2), number(0)});
}
std::vector<Tensor> full_rmsprop(const StepTensors& t) {
  const auto number = numbers_for(t);
  return rmsprop_step(t, {number(0.1), number(0.9), number(1e-3), number(0), number(0.8)}, true);
}
std::vector<Tensor> adagrad(const StepTensors& t) {
  const auto number = numbers_for(t);
  return adagrad_step(t, {number(0.1), number(0.5), number(0.2), number(1e-3)});
}
std::vector<Tensor> lion(const StepTensors& t) {
  const auto number = numbers_for(t);
  return lion_step(t, {number(0.1), number(0.9), number(0.99), number(0.2)});
}

void adam_formula(double g, double& p, double* s, double t) {
  s[0] = 0.9 * s[0] + (1 - 0.9) * g;
  s[1] = 0.99 * s[1] + (1 - 0.99) * g * g;
  const double rate = 0.1 / (1 - std::pow(0.9, t)), root = std::sqrt(1 - std::pow(0.99, t));
  p -= rate * s[0] / (std::sqrt(s[1]) / root + 1e-3);
}

}  // namespace

void add_optim_rows(std::vector<Row>& rows) {
  const Input any = real({}), positive = real({}, 0.5, 2), large = real({}, 5, 9);
  const Formula plain = [](double g, double& p, double*, double) { p -= 0.1 * (g + 0.2 * p); };
  rows.push_back(row("sgd_step", {sample("plain", plain_sgd, plain, {}, false),
                                  sample("empty and 0-d", plain_sgd, plain, {}, false, {0, 3}, {}),
                                  sample(
                                      "momentum", momentum_sgd,
                                      [](double g, double& p, double* s, double t) {
                                        s[0] = t == 1 ? g : 0.9 * s[0] + (1 - 0.3) * g;
                                        p -= 0.1 * s[0];
                                      },
                                      {any}, true),
                                  sample(
                                      "nesterov", nesterov_sgd,
                                      [](double g, double& p, double* s, double t) {
                                        g += 0.2 * p;
                                        s[0] = t == 1 ? g : 0.9 * s[0] + g;
                                        p -= 0.1 * (g + 0.9 * s[0]);
                                      },
                                      {any}, true)}));
  rows.push_back(
      row("adam_step",
          {sample(
               "plain", adam,
               [](double g, double& p, double* s, double t) { adam_formula(g + 0.2 * p, p, s, t); },
               {any, positive}, true),
           sample(
               "decoupled", adamw,
               [](double g, double& p, double* s, double t) {
                 p *= 1 - 0.1 * 0.2;
                 adam_formula(g, p, s, t);
               },
               {any, positive}, true),
           sample(
               "amsgrad", adamw,
               [](double g, double& p, double* s, double t) {
                 p *= 1 - 0.1 * 0.2;
                 double moved = p, averages[2] = {s[0], s[1]};
                 adam_formula(g, moved, averages, t);
                 s[0] = averages[0];
                 s[1] = averages[1];
                 s[2] = std::max(s[2], s[1]);
                 const double root = std::sqrt(1 - std::pow(0.99, t));
                 p -= 0.1 / (1 - std::pow(0.9, t)) * s[0] / (std::sqrt(s[2]) / root + 1e-3);
               },
               {any, positive, positive}, true)}));
  rows.push_back(row("rmsprop_step", {sample(
                                          "plain", plain_rmsprop,
                                          [](double g, double& p, double* s, double) {
                                            g += 0.2 * p;
                                            s[0] = 0.9 * s[0] + (1 - 0.9) * g * g;
                                            p -= 0.1 * g / (std::sqrt(s[0]) + 1e-3);
                                          },
                                          {positive}, true),
                                      sample(
                                          "centered with momentum", full_rmsprop,
                                          [](double g, double& p, double* s, double) {
                                            s[0] = 0.9 * s[0] + (1 - 0.9) * g * g;
                                            s[1] = 0.9 * s[1] + (1 - 0.9) * g;
                                            s[2] = 0.8 * s[2] +
                                                   g / (std::sqrt(s[0] - s[1] * s[1]) + 1e-3);
                                            p -= 0.1 * s[2];
                                          },
                                          {large, positive, any}, true)}));
  rows.push_back(row("adagrad_step", {sample(
                                         "plain", adagrad,
                                         [](double g, double& p, double* s, double t) {
                                           g += 0.2 * p;
                                           s[0] += g * g;
                                           p -= 0.1 / (1 + (t - 1) * 0.5) * g /
                                                (std::sqrt(s[0]) + 1e-3);
                                         },
                                         {positive}, true)}));
  rows.push_back(
      row("lion_step", {sample(
                           "plain", lion,
                           [](double g, double& p, double* s, double) {
                             const double u = 0.9 * s[0] + (1 - 0.9) * g;
                             p = p * (1 - 0.1 * 0.2) - 0.1 * (u > 0 ? 1 : u < 0 ? -1 : 0);
                             s[0] = 0.99 * s[0] + (1 - 0.99) * g;
                           },
                           {any}, false)}));
}

}  // namespace tandem::table
