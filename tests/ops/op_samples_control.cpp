// Choices and loops. Run eagerly they are plain C++, so that the rows go through a recorded graph.
#include <cmath>

#include "tandem/autograd/autograd.h"
#include "tandem/compile/control_flow.h"
#include "tandem/compile/trace.h"
#include "tests/ops/op_table.h"

namespace tandem::table {
namespace {

List by_graph(const std::function<List(const List&)>& fn, const List& a) {
  return trace_list(fn, a).run(a);
}

List choose(const List& a) {
  return by_graph(
      [](const List& v) {
        return List{cond(
            v[0].sum() > 0, [&] { return v[0] * v[1]; }, [&] { return v[0] - v[1] * v[1]; })};
      },
      a);
}

// The sums of products with a decaying past.
List decay(const List& a) {
  return by_graph(
      [](const List& v) {
        auto [last, all] = scan(
            [&](const Tensor& c, const Tensor& x) {
              const Tensor next = c * v[2] + x;
              return std::pair{next, next * x};
            },
            v[1], v[0]);
        return List{last, all};
      },
      a);
}

List repeat_loop(const List& v) {
  const auto state = while_loop([](auto& s) { return s[0] < 3; },
                                [&](auto& s) {
                                  return List{s[0] + 1, s[1] * v[1] + v[0]};
                                },
                                {zeros({}, v[0].options().dtype(kLong)), v[0]});
  return {state[1]};
}

// The same values, by which gradients can be asked for.
List with_gradients(const List& v) {
  List in;
  for (const Tensor& t : v)
    in.push_back(t.requires_grad() ? t.alias() : t.detach().set_requires_grad(true));
  return in;
}

List repeat_gradient(const List& a) {
  return by_graph(
      [](const List& v) {
        const AutoGradMode with_grad(true);
        const List in = with_gradients(v);
        return autograd::grad({repeat_loop(in)[0]}, {in[0], in[1]}, {ones_like(in[0])},
                              /*retain_graph=*/true, /*create_graph=*/t_mode.recorder == nullptr);
      },
      a);
}

List repeat_gradient_gradient(const List& a) {
  return by_graph(
      [](const List& v) {
        const AutoGradMode with_grad(true);
        const List in = with_gradients(v);
        const List by = autograd::grad({repeat_loop(in)[0]}, {in[0], in[1]}, {ones_like(in[0])},
                                       /*retain_graph=*/true, /*create_graph=*/true);
        return autograd::grad({by[0] + by[1]}, {in[0], in[1]}, {ones_like(in[0])},
                              /*retain_graph=*/true, /*create_graph=*/t_mode.recorder == nullptr);
      },
      a);
}

Values map2(const Values& a, const Values& b, double (*f)(double, double)) {
  Values r = a;
  for (size_t i = 0; i < r.v.size(); ++i) r.v[i] = f(a.v[i], b.v[i]);
  return r;
}

ValuesList choose_reference(const ValuesList& a) {
  double sum = 0;
  for (double x : a[0].v) sum += x;
  return {sum > 0 ? map2(a[0], a[1], [](double x, double y) { return x * y; })
                  : map2(a[0], a[1], [](double x, double y) { return x - y * y; })};
}

ValuesList decay_reference(const ValuesList& a) {
  const size_t width = a[1].v.size();
  Values carry = a[1], all = a[0];
  for (size_t t = 0; t * width < a[0].v.size(); ++t)
    for (size_t i = 0; i < width; ++i) {
      const double x = a[0].v[t * width + i];
      carry.v[i] = carry.v[i] * a[2].v[i] + x;
      all.v[t * width + i] = carry.v[i] * x;
    }
  return {carry, all};
}

ValuesList repeat_reference(const ValuesList& a) {
  return {map2(a[0], a[1], [](double x, double y) { return ((x * y + x) * y + x) * y + x; })};
}

ValuesList repeat_gradient_reference(const ValuesList& a) {
  return {map2(a[0], a[1], [](double, double y) { return ((y + 1) * y + 1) * y + 1; }),
          map2(a[0], a[1], [](double x, double y) { return x * (3 * y * y + 2 * y + 1); })};
}

ValuesList repeat_gradient_gradient_reference(const ValuesList& a) {
  return {
      map2(a[0], a[1], [](double, double y) { return 3 * y * y + 2 * y + 1; }),
      map2(a[0], a[1], [](double x, double y) { return 3 * y * y + 2 * y + 1 + x * (6 * y + 2); })};
}

}  // namespace

void add_control_rows(std::vector<Row>& rows) {
  const std::vector<Sample> pairs = {
      {.label = "one way", .inputs = {real({3}, 0.5, 1), real({3})}},
      {.label = "the other", .inputs = {real({2, 2}, -1, -0.5), real({2, 2})}}};
  rows.push_back({.name = "cond",
                  .ops = {"cond"},
                  .fn = choose,
                  .reference = choose_reference,
                  .samples = pairs,
                  .dtypes = kFullFloats,
                  .refuses_others = false});
  rows.push_back(
      {.name = "scan",
       .ops = {"scan"},
       .fn = decay,
       .reference = decay_reference,
       .samples = {{.inputs = {real({4, 2}), real({2}), real({2})}},
                   {.label = "one round", .inputs = {real({1, 3}), real({3}), real({3})}}},
       .dtypes = kFullFloats,
       .refuses_others = false});
  rows.push_back({.name = "while_loop",
                  .ops = {"while_loop"},
                  .fn = [](const List& a) { return by_graph(repeat_loop, a); },
                  .reference = repeat_reference,
                  .samples = pairs,
                  .dtypes = kFullFloats,
                  .refuses_others = false});
  rows.push_back({.name = "while_loop_gradient",
                  .ops = {"while_loop_gradient"},
                  .fn = repeat_gradient,
                  .reference = repeat_gradient_reference,
                  .samples = pairs,
                  .dtypes = kFullFloats,
                  .refuses_others = false});
  rows.push_back({.name = "while_loop_gradient_gradient",
                  .ops = {"while_loop_gradient_gradient"},
                  .fn = repeat_gradient_gradient,
                  .reference = repeat_gradient_gradient_reference,
                  .samples = pairs,
                  .dtypes = kFullFloats,
                  .refuses_others = false});
}

}  // namespace tandem::table
