// Rows of convolutions, and of the columns they are made of.
#include <algorithm>

#include "tandem/core/apply.h"
#include "tandem/ops/conv_blocked_op.h"
#include "tests/blocked.h"
#include "tests/ops/op_table.h"

namespace tandem::table {
namespace {

/// How a convolution goes over one dimension, the same for all of them but where `more` says so.
struct Form {
  int64_t stride = 1, padding = 0, dilation = 1, groups = 1, end = -1, extra = 0;
  int64_t last() const { return end < 0 ? padding : end; }
};

/// Calls fn(x index, w index, y index) for every product of a convolution whose operands have these
/// shapes; y's channels are w's first dimension.
template <class F>
void each_product(const Sizes& x, const Sizes& w, const Sizes& y, const Form& f, const F& fn) {
  const int64_t per_group = w[0] / f.groups;
  each_index(y, [&](const Sizes& at) {
    each_index(Sizes(w.begin() + 1, w.end()), [&](const Sizes& k) {
      Sizes from{at[0], at[1] / per_group * w[1] + k[0]}, weight{at[1], k[0]};
      for (size_t d = 2; d < y.size(); ++d) {
        from.push_back(at[d] * f.stride - f.padding + k[d - 1] * f.dilation);
        weight.push_back(k[d - 1]);
        if (from[d] < 0 || from[d] >= x[d]) return;
      }
      fn(from, weight, at);
    });
  });
}

void add_bias(Values& y, const ValuesList& a) {
  if (a.size() > 2) each_index(y.sizes, [&](const Sizes& at) { y.at(at) += a[2].v[at[1]]; });
}

Reference convolved(Form f) {
  return [=](const ValuesList& a) -> ValuesList {
    Sizes sizes{a[0].sizes[0], a[1].sizes[0]};
    for (size_t d = 2; d < a[0].sizes.size(); ++d)
      sizes.push_back(
          (a[0].sizes[d] + f.padding + f.last() - f.dilation * (a[1].sizes[d] - 1) - 1) / f.stride +
          1);
    Values y = zeros_of(sizes);
    each_product(a[0].sizes, a[1].sizes, sizes, f,
                 [&](const Sizes& x, const Sizes& w, const Sizes& at) {
                   y.at(at) += a[0].at(x) * a[1].at(w);
                 });
    add_bias(y, a);
    return {y};
  };
}

Reference transposed(Form f) {
  return [=](const ValuesList& a) -> ValuesList {
    Sizes sizes{a[0].sizes[0], a[1].sizes[1] * f.groups};
    for (size_t d = 2; d < a[0].sizes.size(); ++d)
      sizes.push_back((a[0].sizes[d] - 1) * f.stride - 2 * f.padding +
                      f.dilation * (a[1].sizes[d] - 1) + f.extra + 1);
    Values y = zeros_of(sizes);
    each_product(sizes, a[1].sizes, a[0].sizes, f,
                 [&](const Sizes& to, const Sizes& w, const Sizes& at) {
                   y.at(to) += a[0].at(at) * a[1].at(w);
                 });
    add_bias(y, a);
    return {y};
  };
}

/// The same for a sample without a batch.
Reference single(Reference of) {
  return [=](ValuesList a) -> ValuesList {
    a[0].sizes.insert(a[0].sizes.begin(), 1);
    ValuesList y = of(a);
    y[0].sizes.erase(y[0].sizes.begin());
    return y;
  };
}

Sample conv(const char* label, Sizes x, Sizes w, Fn fn, Reference reference, bool bias = false,
            bool big = false) {
  Sample s{.label = label,
           .inputs = {real(std::move(x)), real(w)},
           .fn = std::move(fn),
           .reference = std::move(reference),
           .big = big};
  if (bias) s.inputs.push_back(real({w[0]}));
  return s;
}

Row row_of(const char* name, std::vector<std::string> ops, std::vector<Sample> samples) {
  return {.name = name,
          .ops = std::move(ops),
          .samples = std::move(samples),
          .dtypes = kAllButBool,
          .tolerance64 = 1e-11,
          .tolerance32 = 3e-5,
          .tolerance_layout = 3e-5};
}

void add_convolutions(std::vector<Row>& rows) {
  rows.push_back(row_of(
      "conv1d", {"convolution", "convolution_input", "convolution_weight"},
      {conv("plain", {2, 2, 5}, {3, 2, 3}, FN2(conv1d), convolved({})),
       conv("everything", {2, 4, 7}, {2, 2, 2}, FN(conv1d(a[0], a[1], a[2], 2, 1, 3, 2)),
            convolved({.stride = 2, .padding = 1, .dilation = 3, .groups = 2}), true),
       conv("same", {1, 2, 5}, {2, 2, 4}, FN(conv1d(a[0], a[1], {}, 1, "same")),
            convolved({.padding = 1, .end = 2})),
       conv("valid", {1, 2, 5}, {2, 2, 4}, FN(conv1d(a[0], a[1], {}, 1, "valid")), convolved({})),
       conv("one sample", {2, 5}, {3, 2, 3}, FN2(conv1d), single(convolved({})))}));
  rows.push_back(row_of(
      "conv2d", {"convolution", "convolution_input", "convolution_weight"},
      {conv("plain", {2, 2, 4, 5}, {3, 2, 3, 2}, FN2(conv2d), convolved({})),
       conv("bias and padding", {1, 2, 3, 4}, {2, 2, 3, 3},
            FN(conv2d(a[0], a[1], a[2], IntArrayRef{1, 1}, IntArrayRef{1, 1})),
            convolved({.padding = 1}), true),
       conv("stride that leaves a rest", {2, 1, 6, 4}, {2, 1, 3, 3},
            FN(conv2d(a[0], a[1], {}, 2, 1)), convolved({.stride = 2, .padding = 1})),
       conv("dilation and groups", {1, 4, 5, 5}, {4, 2, 2, 2},
            FN(conv2d(a[0], a[1], a[2], 1, 1, 2, 2)),
            convolved({.padding = 1, .dilation = 2, .groups = 2}), true),
       conv("each channel by itself", {2, 3, 4, 3}, {6, 1, 2, 2},
            FN(conv2d(a[0], a[1], a[2], 1, IntArrayRef{0, 0}, 1, 3)), convolved({.groups = 3}),
            true),
       conv("kernel of one", {2, 3, 3, 2}, {2, 3, 1, 1}, FN2(conv2d), convolved({})),
       conv("kernel of one with stride", {2, 3, 3, 4}, {2, 3, 1, 1}, FN(conv2d(a[0], a[1], {}, 2)),
            convolved({.stride = 2})),
       conv(
           "same", {1, 2, 4, 3}, {2, 2, 2, 4}, FN(conv2d(a[0], a[1], a[2], 1, "same")),
           [](const ValuesList& a) -> ValuesList {
             // One more column and row at the end than in front.
             Values x = zeros_of({1, 2, 5, 6});
             each_index(a[0].sizes, [&](const Sizes& at) {
               x.at({at[0], at[1], at[2], at[3] + 1}) = a[0].at(at);
             });
             return convolved({})({x, a[1], a[2]});
           },
           true),
       conv("one sample", {2, 4, 3}, {2, 2, 3, 3}, FN(conv2d(a[0], a[1], a[2], 1, 1)),
            single(convolved({.padding = 1})), true),
       conv("no samples", {0, 2, 4, 4}, {3, 2, 3, 3}, FN2(conv2d), convolved({})),
       conv("no channels of the result", {2, 2, 4, 4}, {0, 2, 3, 3}, FN2(conv2d), convolved({})),
       conv("big", {2, 16, 20, 19}, {24, 16, 3, 3}, FN(conv2d(a[0], a[1], a[2], 1, 1)),
            convolved({.padding = 1}), true, true),
       conv("big with groups", {2, 32, 20, 19}, {32, 8, 3, 3},
            FN(conv2d(a[0], a[1], {}, 2, 1, 1, 4)),
            convolved({.stride = 2, .padding = 1, .groups = 4}), false, true),
       conv("big, kernel of one", {2, 40, 17, 13}, {48, 40, 1, 1}, FN2(conv2d), convolved({}),
            false, true)}));
  for (Sample& s : rows.back().samples) s.grad = !s.big;
  rows.push_back(row_of(
      "conv3d", {"convolution", "convolution_input", "convolution_weight"},
      {conv("plain", {1, 2, 3, 2, 4}, {2, 2, 2, 2, 2}, FN2(conv3d), convolved({})),
       conv("everything", {1, 2, 4, 3, 5}, {2, 1, 2, 2, 2},
            FN(conv3d(a[0], a[1], a[2], 2, 1, 2, 2)),
            convolved({.stride = 2, .padding = 1, .dilation = 2, .groups = 2}), true),
       conv("one sample", {2, 3, 2, 3}, {2, 2, 2, 2, 2}, FN2(conv3d), single(convolved({})))}));
  rows.push_back(
      row_of("convolution", {"convolution", "convolution_input"},
             {conv("plain", {1, 2, 4, 3}, {2, 2, 2, 2},
                   FN(convolution(a[0], a[1], {}, 1, 0, 1, false, 0, 1)), convolved({})),
              conv("transposed", {1, 2, 4, 3}, {2, 3, 2, 2},
                   FN(convolution(a[0], a[1], {}, 1, 0, 1, true, 0, 1)), transposed({}))}));
}

void add_transposed(std::vector<Row>& rows) {
  const auto biased = [](Sample s, int64_t channels) {
    s.inputs.push_back(real({channels}));
    return s;
  };
  rows.push_back(row_of(
      "conv_transpose1d", {"convolution", "convolution_input", "convolution_weight"},
      {conv("plain", {2, 2, 4}, {2, 3, 3}, FN2(conv_transpose1d), transposed({})),
       biased(conv("everything", {2, 4, 3}, {4, 2, 3},
                   FN(conv_transpose1d(a[0], a[1], a[2], 3, 1, 2, 2, 2)),
                   transposed({.stride = 3, .padding = 1, .dilation = 2, .groups = 2, .extra = 2})),
              4),
       conv("more room than the stride", {1, 2, 3}, {2, 2, 2},
            FN(conv_transpose1d(a[0], a[1], {}, 1, 0, 2, 1, 3)),
            transposed({.dilation = 3, .extra = 2})),
       conv("one sample", {2, 4}, {2, 3, 3}, FN2(conv_transpose1d), single(transposed({})))}));
  rows.push_back(
      row_of("conv_transpose2d", {"convolution", "convolution_input", "convolution_weight"},
             {conv("plain", {2, 2, 3, 2}, {2, 2, 2, 3}, FN2(conv_transpose2d), transposed({})),
              biased(conv("stride and bias", {1, 3, 3, 2}, {3, 2, 3, 3},
                          FN(conv_transpose2d(a[0], a[1], a[2], 2, 1, 1)),
                          transposed({.stride = 2, .padding = 1, .extra = 1})),
                     2),
              conv("groups", {1, 4, 2, 3}, {4, 1, 2, 2},
                   FN(conv_transpose2d(a[0], a[1], {}, 1, 0, 0, 2)), transposed({.groups = 2})),
              conv("no samples", {0, 2, 3, 3}, {2, 2, 2, 2}, FN2(conv_transpose2d), transposed({})),
              biased(conv("big", {2, 16, 12, 11}, {16, 24, 3, 3},
                          FN(conv_transpose2d(a[0], a[1], a[2], 2, 1, 1)),
                          transposed({.stride = 2, .padding = 1, .extra = 1}), false, true),
                     24)}));
  for (Sample& s : rows.back().samples) s.grad = !s.big;
  rows.push_back(
      row_of("conv_transpose3d", {"convolution", "convolution_input", "convolution_weight"},
             {biased(conv("everything", {1, 2, 2, 3, 2}, {2, 1, 2, 2, 2},
                          FN(conv_transpose3d(a[0], a[1], a[2], 2, 1, 1, 2, 1)),
                          transposed({.stride = 2, .padding = 1, .groups = 2, .extra = 1})),
                     2)}));
}

Reference columns(Form f, int64_t kernel) {
  return [=](const ValuesList& a) -> ValuesList {
    const Sizes& x = a[0].sizes;
    const auto fits = [&](int64_t n) {
      return (n + 2 * f.padding - f.dilation * (kernel - 1) - 1) / f.stride + 1;
    };
    const int64_t h = fits(x[2]), w = fits(x[3]);
    Values y = zeros_of({x[0], x[1] * kernel * kernel, h * w});
    each_product(
        x, {1, x[1], kernel, kernel}, {x[0], 1, h, w}, f,
        [&](const Sizes& from, const Sizes& k, const Sizes& at) {
          y.at({at[0], (k[1] * kernel + k[2]) * kernel + k[3], at[2] * w + at[3]}) = a[0].at(from);
        });
    return {y};
  };
}

Reference images(Form f, int64_t kernel, int64_t height, int64_t width) {
  return [=](const ValuesList& a) -> ValuesList {
    const Sizes& x = a[0].sizes;
    const auto fits = [&](int64_t n) {
      return (n + 2 * f.padding - f.dilation * (kernel - 1) - 1) / f.stride + 1;
    };
    const int64_t h = fits(height), w = fits(width), c = x[1] / kernel / kernel;
    Values y = zeros_of({x[0], c, height, width});
    each_product(
        y.sizes, {1, c, kernel, kernel}, {x[0], 1, h, w}, f,
        [&](const Sizes& to, const Sizes& k, const Sizes& at) {
          y.at(to) += a[0].at({at[0], (k[1] * kernel + k[2]) * kernel + k[3], at[2] * w + at[3]});
        });
    return {y};
  };
}

void add_columns(std::vector<Row>& rows) {
  rows.push_back(row_of("im2col", {"im2col", "col2im"},
                        {{.label = "plain",
                          .inputs = {real({2, 2, 3, 4})},
                          .fn = FN(im2col(a[0], 2, 1, 0, 1)),
                          .reference = columns({}, 2)},
                         {.label = "everything",
                          .inputs = {real({1, 2, 5, 4})},
                          .fn = FN(im2col(a[0], 2, 2, 1, 2)),
                          .reference = columns({.stride = 2, .padding = 1, .dilation = 2}, 2)},
                         {.label = "one sample",
                          .inputs = {real({2, 3, 4})},
                          .fn = FN(im2col(a[0], 2, 1, 0, 1)),
                          .reference = single(columns({}, 2))},
                         {.label = "no samples",
                          .inputs = {real({0, 2, 3, 4})},
                          .fn = FN(im2col(a[0], 2, 1, 0, 1)),
                          .reference = columns({}, 2)}}));
  rows.push_back(row_of("col2im", {"im2col", "col2im"},
                        {{.label = "plain",
                          .inputs = {real({2, 8, 6})},
                          .fn = FN(col2im(a[0], {3, 4}, 2, 1, 0, 1)),
                          .reference = images({}, 2, 3, 4)},
                         {.label = "everything",
                          .inputs = {real({1, 8, 6})},
                          .fn = FN(col2im(a[0], {5, 4}, 2, 2, 1, 2)),
                          .reference = images({.stride = 2, .padding = 1, .dilation = 2}, 2, 5, 4)},
                         {.label = "one sample",
                          .inputs = {real({8, 6})},
                          .fn = FN(col2im(a[0], {3, 4}, 2, 1, 0, 1)),
                          .reference = single(images({}, 2, 3, 4))}}));
  rows.back().tolerance16 = -1;
  rows.push_back(
      row_of("conv_tbc", {"convolution"},
             {{.label = "plain",
               .inputs = {real({5, 2, 3}), real({2, 3, 4}), real({4})},
               .fn = FN(conv_tbc(a[0], a[1], a[2], 1)),
               .reference = [](const ValuesList& a) -> ValuesList {
                 const int64_t time = a[0].sizes[0], width = a[1].sizes[0];
                 Values y = zeros_of({time + 2 - width + 1, a[0].sizes[1], a[1].sizes[2]});
                 each_index(y.sizes, [&](const Sizes& at) {
                   y.at(at) = a[2].v[at[2]];
                   for (int64_t k = 0; k < width; ++k)
                     for (int64_t c = 0; c < a[0].sizes[2]; ++c)
                       if (const int64_t t = at[0] + k - 1; t >= 0 && t < time)
                         y.at(at) += a[0].at({t, at[1], c}) * a[1].at({k, c, at[2]});
                 });
                 return {y};
               }}}));
}

// What graph/layout puts in the place of convolutions.

/// The place of element [n, c, ...] of a plain tensor in a blocked one.
Sizes in_blocks(const Sizes& at) { return {at[0], at[1] / 8, at[2], at[3], at[1] % 8}; }

Values blocked_of(const Values& x) {
  Values y = zeros_of({x.sizes[0], x.sizes[1] / 8, x.sizes[2], x.sizes[3], 8});
  each_index(x.sizes, [&](const Sizes& at) { y.at(in_blocks(at)) = x.at(at); });
  return y;
}
Values plain_of(const Values& x) {
  Values y = zeros_of({x.sizes[0], x.sizes[1] * 8, x.sizes[2], x.sizes[3]});
  each_index(y.sizes, [&](const Sizes& at) { y.at(at) = x.at(in_blocks(at)); });
  return y;
}

using Order = kernels::WeightOrder;

void add_layouts(std::vector<Row>& rows) {
  Row to = row_of("to_blocked", {"to_blocked"},
                  {{.label = "plain", .inputs = {real({2, 16, 3, 4})}},
                   {.label = "big", .inputs = {real({2, 32, 40, 41})}, .big = true},
                   {.label = "no samples", .inputs = {real({0, 8, 3, 4})}}});
  to.fn = FN(to_blocked(a[0]));
  to.reference = [](const ValuesList& a) -> ValuesList { return {blocked_of(a[0])}; };
  to.grad = Grad::kNo;
  to.dtypes = kEvery;
  rows.push_back(to);
  Row from = row_of("from_blocked", {"from_blocked"},
                    {{.label = "plain", .inputs = {real({2, 2, 3, 4, 8})}},
                     {.label = "no samples", .inputs = {real({0, 2, 3, 4, 8})}}});
  from.fn = FN(from_blocked(a[0]));
  from.reference = [](const ValuesList& a) -> ValuesList { return {plain_of(a[0])}; };
  from.grad = Grad::kNo;
  from.dtypes = kEvery;
  rows.push_back(from);

  // There and back is where one was; the orders themselves are what the convolutions read below.
  const auto round = [](Order order) {
    return [order](const List& a) -> List {
      return {from_blocked_weight(to_blocked_weight(a[0], order), order)};
    };
  };
  const auto sample = [&](const char* label, Sizes sizes, Order order) {
    return Sample{.label = label, .inputs = {real(std::move(sizes))}, .fn = round(order)};
  };
  Row weights = row_of("to_blocked_weight", {"to_blocked_weight", "from_blocked_weight"},
                       {sample("in, out", {16, 8, 3, 2}, Order::in_out),
                        sample("out, in", {8, 24, 1, 1}, Order::out_in),
                        sample("few inputs", {16, 3, 2, 2}, Order::plain_in),
                        sample("each by itself", {16, 1, 3, 3}, Order::depthwise)});
  weights.reference = [](const ValuesList& a) -> ValuesList { return {a[0]}; };
  weights.grad = Grad::kNo;
  weights.dtypes = bit(kFloat);
  rows.push_back(weights);
}

Sample blocked_sample(const char* label, Sizes x, Sizes w, Order y_order, Order x_order, Form f,
                      bool relu) {
  BlockedConvAttrs attrs{{f.stride, f.stride},
                         {f.padding, f.padding},
                         {f.dilation, f.dilation},
                         f.groups,
                         {},
                         static_cast<int64_t>(y_order),
                         relu};
  const auto extent = [=](size_t d) {
    return (x[d] + 2 * f.padding - f.dilation * (w[d] - 1) - 1) / f.stride + 1;
  };
  const Sizes y{x[0], w[0], extent(2), extent(3)};
  const bool plain_x = y_order == Order::plain_in;
  // Transformed weights are only read.
  const Order w_order = y_order == Order::winograd ? Order::in_out : y_order;
  return {.label = label,
          .inputs = {real(x), real(w), real({w[0]}), real(y)},
          .fn = [=](const List& a) -> List {
            BlockedConvAttrs forward = attrs, by_w = attrs, by_x = attrs;
            forward.sizes = {y[2], y[3]};
            by_w.sizes = {w[2], w[3]};
            by_w.order = static_cast<int64_t>(w_order);
            by_x.sizes = {x[2], x[3]};
            by_x.order = static_cast<int64_t>(x_order);
            const Tensor in = plain_x ? a[0] : to_blocked(a[0]), grad = to_blocked(a[3]);
            const Tensor weight = to_blocked_weight(a[1], y_order);
            List out{from_blocked(apply(kBlockedConv, {in, weight, a[2]}, forward)),
                     from_blocked(apply(kBlockedConvAdd, {grad, in, weight, a[2]}, forward)),
                     from_blocked_weight(apply(kBlockedConvWeight, {in, grad}, by_w), w_order)};
            by_w.plain = true;
            if (w_order == Order::in_out)
              out.push_back(apply(kBlockedConvWeight, {in, grad}, by_w));
            if (!plain_x)
              out.push_back(from_blocked(
                  apply(kBlockedConvInput, {grad, to_blocked_weight(a[1], x_order)}, by_x)));
            return out;
          },
          .reference = [=](const ValuesList& a) -> ValuesList {
            Values result = convolved(f)({a[0], a[1], a[2]})[0], sum = result;
            for (size_t i = 0; i < sum.v.size(); ++i) {
              sum.v[i] += a[3].v[i];
              if (relu) sum.v[i] = std::max(sum.v[i], 0.0);
              if (relu) result.v[i] = std::max(result.v[i], 0.0);
            }
            Values gx = zeros_of(x), gw = zeros_of(w);
            each_product(x, w, y, f, [&](const Sizes& i, const Sizes& k, const Sizes& at) {
              gx.at(i) += a[3].at(at) * a[1].at(k);
              gw.at(k) += a[3].at(at) * a[0].at(i);
            });
            ValuesList out{result, sum, gw};
            if (w_order == Order::in_out) out.push_back(gw);
            if (!plain_x) out.push_back(gx);
            return out;
          }};
}

void add_blocked(std::vector<Row>& rows) {
  Row row = row_of("blocked_convolution",
                   {"blocked_convolution", "blocked_convolution_add", "blocked_convolution_input",
                    "blocked_convolution_weight"},
                   {blocked_sample("plain", {2, 16, 6, 7}, {8, 16, 3, 3}, Order::in_out,
                                   Order::out_in, {}, true),
                    blocked_sample("stride", {2, 8, 9, 8}, {16, 8, 3, 3}, Order::in_out,
                                   Order::out_in, {.stride = 2, .padding = 1}, false),
                    blocked_sample("kernel of one", {2, 8, 5, 4}, {24, 8, 1, 1}, Order::in_out,
                                   Order::out_in, {}, true),
                    blocked_sample("groups", {1, 16, 6, 6}, {32, 8, 3, 3}, Order::in_out,
                                   Order::out_in, {.padding = 1, .groups = 2}, false),
                    blocked_sample("few inputs", {2, 3, 12, 12}, {16, 3, 3, 3}, Order::plain_in,
                                   Order::plain_in, {.stride = 2, .padding = 1}, false),
                    blocked_sample("each by itself", {2, 16, 7, 7}, {16, 1, 3, 3}, Order::depthwise,
                                   Order::depthwise, {.padding = 1, .groups = 16}, false)});
  row.grad = Grad::kNo;
  row.dtypes = bit(kFloat);
  row.out = Out::kUnchecked;
  row.refuses_others = false;
  const bool here = test::convolutions_are_blocked();
  if (!here) row.samples.clear();
  rows.push_back(row);

  // Squares are only used for images so large that gradients by the weight add up 450 products.
  row.name = "blocked_convolution_by_squares";
  row.samples = {blocked_sample("squares", {4, 16, 12, 11}, {32, 16, 3, 3}, Order::winograd,
                                Order::winograd_turned, {.padding = 1}, true),
                 blocked_sample("squares without padding", {5, 32, 15, 9}, {16, 32, 3, 3},
                                Order::winograd, Order::winograd_turned, {}, false),
                 blocked_sample("squares with more padding", {5, 16, 7, 10}, {16, 16, 3, 3},
                                Order::winograd, Order::winograd_turned, {.padding = 2}, true)};
  row.tolerance32 = 6e-5;
  if (!here) row.samples.clear();
  rows.push_back(row);
}

void add_backward(std::vector<Row>& rows) {
  const auto gradients = [](const List& a, bool transpose, int64_t stride,
                            int64_t padding) -> List {
    const auto [x, w, b] = convolution_backward(a[0], a[1], a[2], std::nullopt, stride, padding, 1,
                                                transpose, 0, 1, {true, true, true});
    return {x, w, b};
  };
  const auto sums = [](const Values& grad) {
    return reduce(grad, {0, 2, 3}, false, [](const std::vector<double>& v) {
      double s = 0;
      for (double e : v) s += e;
      return s;
    });
  };
  rows.push_back(row_of("convolution_backward",
                        {"convolution", "convolution_input", "convolution_weight"},
                        {{.label = "plain",
                          .inputs = {real({1, 3, 2, 2}), real({1, 2, 4, 3}), real({3, 2, 3, 2})},
                          .fn = [=](const List& a) { return gradients(a, false, 2, 1); },
                          .reference = [=](const ValuesList& a) -> ValuesList {
                            Values x = zeros_of(a[1].sizes), w = zeros_of(a[2].sizes);
                            each_product(x.sizes, w.sizes, a[0].sizes, {.stride = 2, .padding = 1},
                                         [&](const Sizes& i, const Sizes& k, const Sizes& at) {
                                           x.at(i) += a[0].at(at) * a[2].at(k);
                                           w.at(k) += a[0].at(at) * a[1].at(i);
                                         });
                            return {x, w, sums(a[0])};
                          }},
                         {.label = "transposed",
                          .inputs = {real({1, 2, 4, 3}), real({1, 3, 3, 2}), real({3, 2, 2, 2})},
                          .fn = [=](const List& a) { return gradients(a, true, 1, 0); },
                          .reference = [=](const ValuesList& a) -> ValuesList {
                            Values x = zeros_of(a[1].sizes), w = zeros_of(a[2].sizes);
                            each_product(a[0].sizes, w.sizes, x.sizes, {},
                                         [&](const Sizes& i, const Sizes& k, const Sizes& at) {
                                           x.at(at) += a[0].at(i) * a[2].at(k);
                                           w.at(k) += a[0].at(i) * a[1].at(at);
                                         });
                            return {x, w, sums(a[0])};
                          }}}));
  rows.back().out = Out::kUnchecked;
}

}  // namespace

void add_conv_rows(std::vector<Row>& rows) {
  add_convolutions(rows);
  add_transposed(rows);
  add_columns(rows);
  add_backward(rows);
  add_layouts(rows);
  add_blocked(rows);
}

}  // namespace tandem::table
