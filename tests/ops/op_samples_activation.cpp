// Rows of the activations.
#include <cmath>
#include <numbers>

#include "tests/ops/op_table.h"

namespace tandem::table {
namespace {

Row activation(const char* name, Fn fn, InPlace inplace, double (*f)(double), Input x) {
  return {.name = name,
          .ops = {name},
          .fn = std::move(fn),
          .reference = pointwise(f),
          .inplace = std::move(inplace),
          .samples = {{.label = "plain", .inputs = {std::move(x)}}},
          .dtypes = kFloats,
          .pointwise = true,
          .tolerance64 = 1e-13,
          .tolerance32 = 1e-6};
}

double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }
double elu_of(double x, double alpha, double scale, double slope) {
  return x > 0 ? scale * x : scale * alpha * std::expm1(slope * x);
}
double softplus_of(double x) { return x > 20 ? x : std::log1p(std::exp(x)); }

void add_piecewise(std::vector<Row>& rows) {
  const Input x = real({2, 3}).avoiding({0});
  const auto add = [&](const char* name, Fn fn, InPlace inplace, double (*f)(double), Input in) {
    rows.push_back(activation(name, std::move(fn), std::move(inplace), f, std::move(in)));
  };
  add(
      "relu", FN1(relu), INPLACE(a[0].relu_()),
      [](double x) { return std::isnan(x) ? x
                            : x > 0       ? x
                                          : 0; }, x);
  rows.back().ops = {"relu", "relu_backward"};
  rows.back().dtypes = kAllButBool;
  add(
      "relu6", FN1(relu6), INPLACE(relu6_(a[0])),
      [](double x) { return std::isnan(x) ? x : std::min(std::max(x, 0.0), 6.0); },
      real({2, 3}, -2, 8).avoiding({0, 6}));
  rows.back().ops = {"hardtanh"};
  rows.back().refuses_others = false;
  add(
      "leaky_relu", FN(leaky_relu(a[0], 0.1)), INPLACE(leaky_relu_(a[0], 0.1)),
      [](double x) { return x > 0 ? x : 0.1 * x; }, x);
  rows.back().ops = {"leaky_relu", "leaky_relu_backward"};
  add(
      "hardtanh", FN(hardtanh(a[0], -1, 1)), INPLACE(hardtanh_(a[0], -1, 1)),
      [](double x) { return x < -1  ? -1
                            : x > 1 ? 1
                                    : x; }, real({2, 3}).avoiding({-1, 1}));
  rows.back().ops = {"hardtanh"};
  rows.back().refuses_others = false;
  add(
      "hardsigmoid", FN1(hardsigmoid), INPLACE(hardsigmoid_(a[0])),
      [](double x) { return std::isnan(x) ? x : std::min(std::max(x + 3, 0.0), 6.0) / 6; },
      real({2, 3}, -4, 4).avoiding({-3, 3}));
  add(
      "hardswish", FN1(hardswish), INPLACE(hardswish_(a[0])),
      [](double x) {
        return std::isnan(x)            ? x
               : std::isinf(x) && x < 0 ? NAN
               : x <= -3                ? 0
               : x >= 3                 ? x
                                        : x * (x + 3) / 6;
      },
      real({2, 3}, -4, 4).avoiding({-3, 3}));
  add(
      "hardshrink", FN(hardshrink(a[0], 0.5)), nullptr,
      [](double x) { return std::abs(x) <= 0.5 ? 0 : x; }, real({2, 3}).avoiding({-0.5, 0.5}));
  add(
      "softshrink", FN(softshrink(a[0], 0.5)), nullptr,
      [](double x) {
        return x > 0.5 ? x - 0.5 : x < -0.5 ? x + 0.5 : std::isnan(x) ? x : 0;
      },
      real({2, 3}).avoiding({-0.5, 0.5}));
  add(
      "threshold", FN(threshold(a[0], 0.5, 3)), INPLACE(threshold_(a[0], 0.5, 3)),
      [](double x) { return x <= 0.5 ? 3 : x; }, real({2, 3}).avoiding({0.5}));
  rows.back().refuses_others = false;
  rows.push_back({.name = "glu",
                  .ops = {},
                  .fn = FN(glu(a[0], -1)),
                  .reference = [](const ValuesList& a) -> ValuesList {
                    return {along(a[0], -1, [](const std::vector<double>& x) {
                      std::vector<double> r;
                      const size_t half = x.size() / 2;
                      for (size_t i = 0; i < half; ++i) r.push_back(x[i] * sigmoid_of(x[half + i]));
                      return r;
                    })};
                  },
                  .samples = {{.label = "plain", .inputs = {real({2, 4})}},
                              {.label = "3-d", .inputs = {real({2, 3, 2})}}},
                  .dtypes = kFloats,
                  .refuses_others = false,
                  .tolerance16 = 1e-2});
  rows.push_back(
      {.name = "prelu",
       .ops = {},
       .fn = FN2(prelu),
       .samples = {{.label = "one weight",
                    .inputs = {x, real({1}, 0.1, 0.9)},
                    .reference = pointwise([](double x, double w) { return x > 0 ? x : w * x; })},
                   {.label = "a weight a channel",
                    .inputs = {real({2, 3}).avoiding({0}), real({3}, 0.1, 0.9)},
                    .reference = pointwise([](double x, double w) { return x > 0 ? x : w * x; })}},
       .dtypes = kFloats,
       .tolerance16 = 1e-2});
}

void add_smooth(std::vector<Row>& rows) {
  const Input x = real({2, 3}), off = real({2, 3}).avoiding({0});
  const auto add = [&](const char* name, Fn fn, InPlace inplace, double (*f)(double), Input in) {
    rows.push_back(activation(name, std::move(fn), std::move(inplace), f, std::move(in)));
  };
  add(
      "elu", FN1(elu), INPLACE(elu_(a[0])), [](double x) { return elu_of(x, 1, 1, 1); }, off);
  add(
      "selu", FN1(selu), INPLACE(selu_(a[0])),
      [](double x) { return elu_of(x, 1.6732632423543772, 1.0507009873554805, 1); }, off);
  rows.back().ops = {"elu"};
  add(
      "celu", FN(celu(a[0], 1.5)), INPLACE(celu_(a[0], 1.5)),
      [](double x) { return elu_of(x, 1.5, 1, 1 / 1.5); }, off);
  rows.back().ops = {"elu"};
  add(
      "silu", FN1(silu), INPLACE(silu_(a[0])), [](double x) { return x * sigmoid_of(x); }, x);
  add(
      "mish", FN1(mish), INPLACE(mish_(a[0])),
      [](double x) { return x * std::tanh(softplus_of(x)); }, x);
  add(
      "gelu", FN1(gelu), nullptr,
      [](double x) { return 0.5 * x * std::erfc(-x / std::numbers::sqrt2); }, x);
  add(
      "gelu tanh", FN(gelu(a[0], "tanh")), nullptr,
      [](double x) {
        if (x < -1e3) return std::isinf(x) ? NAN : 0.0;  // as LibTorch
        return 0.5 * x *
               (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
      },
      x);
  rows.back().ops = {"gelu_tanh"};
  add("softplus", FN1(softplus), nullptr, softplus_of, x);
  rows.back().samples.push_back(
      {.label = "beta 2",
       .inputs = {x},
       .fn = FN(softplus(a[0], 2, 20)),
       .reference = pointwise([](double x) { return std::log1p(std::exp(2 * x)) / 2; })});
  add(
      "log_sigmoid", FN1(log_sigmoid), nullptr,
      [](double x) { return x < 0 ? x - std::log1p(std::exp(x)) : -std::log1p(std::exp(-x)); }, x);
  add(
      "softsign", FN1(softsign), nullptr,
      [](double x) { return std::isinf(x) ? std::copysign(1.0, x) : x / (1 + std::abs(x)); }, off);
  rows.back().special = false;
  rows.back().refuses_others = false;
  add(
      "tanhshrink", FN1(tanhshrink), nullptr, [](double x) { return x - std::tanh(x); }, x);
  rows.back().refuses_others = false;
}

}  // namespace

void add_activation_rows(std::vector<Row>& rows) {
  add_piecewise(rows);
  add_smooth(rows);
}

}  // namespace tandem::table
