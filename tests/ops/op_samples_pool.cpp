// Rows of pooling.
#include <cmath>

#include "tandem/core/apply.h"
#include "tandem/ops/pool_op.h"
#include "tests/ops/op_table.h"

namespace tandem::table {
namespace {

// The windows of a reference: over the last dimensions, or those before `inner` channels.
struct Windows {
  Sizes kernel, stride, padding, dilation;
  bool ceil_mode = false;
  bool count_padding = true;
  double divisor = 0;  // 0: the number of elements
  int64_t inner = 1;
  Sizes adaptive = {};  // not empty: the extents of the result
};

struct Window {
  std::vector<Sizes> places;  // of its elements in the input
  double with_padding = 1;
};

// Calls fn(index in the result, the window there) for every element of the result.
Values pool(const Values& x, const Windows& w,
            const std::function<double(const Values&, const Window&)>& fn) {
  const size_t n = w.adaptive.empty() ? w.kernel.size() : w.adaptive.size();
  const size_t first = x.sizes.size() - n - (w.inner > 1 ? 1 : 0);
  Sizes sizes = x.sizes;
  for (size_t d = 0; d < n; ++d) {
    int64_t& size = sizes[first + d];
    if (!w.adaptive.empty()) {
      size = w.adaptive[d];
      continue;
    }
    const int64_t in = size;
    const double room =
        static_cast<double>(in + 2 * w.padding[d] - w.dilation[d] * (w.kernel[d] - 1) - 1) /
        static_cast<double>(w.stride[d]);
    size = static_cast<int64_t>(w.ceil_mode ? std::ceil(room) : std::floor(room)) + 1;
    if (w.ceil_mode && (size - 1) * w.stride[d] >= in + w.padding[d]) --size;
  }
  Values out = zeros_of(sizes);
  each_index(sizes, [&](const Sizes& at) {
    Window window;
    window.places = {at};
    for (size_t d = 0; d < n; ++d) {
      const int64_t in = x.sizes[first + d], o = at[first + d];
      std::vector<int64_t> inside;
      if (!w.adaptive.empty()) {
        const auto scale = static_cast<double>(in) / static_cast<double>(w.adaptive[d]);
        for (int64_t i = 0; i < in; ++i)
          if (static_cast<double>(i + 1) > static_cast<double>(o) * scale + 1e-9 &&
              static_cast<double>(i) < static_cast<double>(o + 1) * scale - 1e-9)
            inside.push_back(i);
      } else {
        int64_t all = 0;
        for (int64_t k = 0; k < w.kernel[d]; ++k) {
          const int64_t i = o * w.stride[d] - w.padding[d] + k * w.dilation[d];
          all += i < in + w.padding[d];
          if (i >= 0 && i < in) inside.push_back(i);
        }
        window.with_padding *= static_cast<double>(all);
      }
      std::vector<Sizes> places;
      for (const Sizes& p : window.places)
        for (int64_t i : inside) {
          places.push_back(p);
          places.back()[first + d] = i;
        }
      window.places = places;
    }
    out.at(at) = fn(x, window);
  });
  return out;
}

double greatest(const Values& x, const Window& w) {
  double best = -INFINITY;
  for (const Sizes& p : w.places) best = std::max(best, x.at(p));
  return best;
}

// The number of the greatest element within its plane of n dimensions.
std::function<double(const Values&, const Window&)> place_of_greatest(size_t n) {
  return [n](const Values& x, const Window& w) {
    const Sizes* best = &w.places[0];
    for (const Sizes& p : w.places)
      if (x.at(p) > x.at(*best)) best = &p;
    int64_t number = 0;
    for (size_t d = x.sizes.size() - n; d < x.sizes.size(); ++d)
      number = number * x.sizes[d] + (*best)[d];
    return static_cast<double>(number);
  };
}

Reference max_of_window(Windows w) {
  return [w](const ValuesList& a) -> ValuesList { return {pool(a[0], w, greatest)}; };
}
Reference max_and_place(Windows w) {
  return [w](const ValuesList& a) -> ValuesList {
    const size_t n = w.adaptive.empty() ? w.kernel.size() : w.adaptive.size();
    return {pool(a[0], w, greatest), pool(a[0], w, place_of_greatest(n))};
  };
}
Reference mean_of_window(Windows w) {
  return [w](const ValuesList& a) -> ValuesList {
    return {pool(a[0], w, [w](const Values& x, const Window& window) {
      double sum = 0;
      for (const Sizes& p : window.places) sum += x.at(p);
      if (w.divisor != 0) return sum / w.divisor;
      return sum / (w.count_padding && w.adaptive.empty()
                        ? window.with_padding
                        : static_cast<double>(window.places.size()));
    })};
  };
}

List pair_of_sizes(std::tuple<Tensor, Tensor> t) { return {std::get<0>(t), std::get<1>(t)}; }
#define PAIR(...) []([[maybe_unused]] const List& a) -> List { return pair_of_sizes(__VA_ARGS__); }

void add_max(std::vector<Row>& rows) {
  const Windows one{{3}, {2}, {1}, {1}}, two{{3, 2}, {2, 1}, {1, 0}, {1, 1}},
      wide{{2, 3}, {1, 2}, {0, 1}, {2, 1}, true}, three{{2, 3, 2}, {2, 2, 1}, {1, 1, 0}, {1, 1, 2}};
  rows.push_back(
      {.name = "max_pool",
       .ops = {"max_pool", "max_pool_backward"},
       .samples = {{.label = "1d",
                    .inputs = {distinct({2, 2, 9})},
                    .fn = FN(max_pool1d(a[0], 3, 2, 1)),
                    .reference = max_of_window(one)},
                   {.label = "1d short",
                    .inputs = {distinct({2, 4})},
                    .fn = FN(max_pool1d(a[0], 3, 2, 1)),
                    .reference = max_of_window(one)},
                   {.label = "2d",
                    .inputs = {distinct({1, 2, 7, 6})},
                    .fn = FN(max_pool2d(a[0], {3, 2}, {2, 1}, {1, 0})),
                    .reference = max_of_window(two)},
                   {.label = "2d dilation, ceil",
                    .inputs = {distinct({2, 5, 8})},
                    .fn = FN(max_pool2d(a[0], {2, 3}, {1, 2}, {0, 1}, {2, 1}, true)),
                    .reference = max_of_window(wide)},
                   {.label = "windows side by side",
                    .inputs = {distinct({1, 2, 4, 10})},
                    .fn = FN(max_pool2d(a[0], 2)),
                    .reference = max_of_window({{2, 2}, {2, 2}, {0, 0}, {1, 1}})},
                   {.label = "3d",
                    .inputs = {distinct({1, 1, 4, 5, 6})},
                    .fn = FN(max_pool3d(a[0], {2, 3, 2}, {2, 2, 1}, {1, 1, 0}, {1, 1, 2})),
                    .reference = max_of_window(three)},
                   {.label = "no samples",
                    .inputs = {distinct({0, 2, 4, 4})},
                    .fn = FN(max_pool2d(a[0], 2)),
                    .reference = max_of_window({{2, 2}, {2, 2}, {0, 0}, {1, 1}})},
                   {.label = "large window",
                    .inputs = {distinct({1, 17, 17})},
                    .fn = FN(max_pool2d(a[0], 17, 1)),
                    .reference = max_of_window({{17, 17}, {1, 1}, {0, 0}, {1, 1}}),
                    .dtypes = kFullFloats},
                   {.label = "big",
                    .inputs = {real({2, 16, 40, 41})},
                    .fn = FN(max_pool2d(a[0], 3, 2, 1)),
                    .reference = max_of_window({{3, 3}, {2, 2}, {1, 1}, {1, 1}}),
                    .big = true,
                    .dtypes = kFullFloats}},
       .dtypes = kAllButBool});
  rows.push_back({.name = "max_pool_with_indices",
                  .ops = {"max_pool", "max_pool_backward"},
                  .samples = {{.label = "1d",
                               .inputs = {distinct({2, 2, 9})},
                               .fn = PAIR(max_pool1d_with_indices(a[0], 3, 2, 1)),
                               .reference = max_and_place(one)},
                              {.label = "2d",
                               .inputs = {distinct({1, 2, 7, 6})},
                               .fn = PAIR(max_pool2d_with_indices(a[0], {3, 2}, {2, 1}, {1, 0})),
                               .reference = max_and_place(two)},
                              {.label = "3d",
                               .inputs = {distinct({1, 1, 4, 5, 6})},
                               .fn = PAIR(max_pool3d_with_indices(a[0], {2, 3, 2}, {2, 2, 1},
                                                                  {1, 1, 0}, {1, 1, 2})),
                               .reference = max_and_place(three)}},
                  .dtypes = kAllButBool,
                  .out = Out::kUnchecked});
  rows.push_back({.name = "adaptive_max_pool",
                  .ops = {"adaptive_max_pool", "max_pool_backward"},
                  .samples = {{.label = "1d",
                               .inputs = {distinct({2, 2, 9})},
                               .fn = PAIR(adaptive_max_pool1d(a[0], 4)),
                               .reference = max_and_place({.adaptive = {4}})},
                              {.label = "2d",
                               .inputs = {distinct({1, 2, 7, 6})},
                               .fn = PAIR(adaptive_max_pool2d(a[0], {3, 4})),
                               .reference = max_and_place({.adaptive = {3, 4}})},
                              {.label = "3d",
                               .inputs = {distinct({2, 3, 5, 4})},
                               .fn = PAIR(adaptive_max_pool3d(a[0], {2, 2, 1})),
                               .reference = max_and_place({.adaptive = {2, 2, 1}})}},
                  .dtypes = kAllButBool,
                  .out = Out::kUnchecked});
  // Samples of 0 put windows side by side as far as they go.
  const auto at_zero = [](const ValuesList& a) -> ValuesList {
    Values out = zeros_of({1, 2, 3, 2}), index = out;
    each_index(out.sizes, [&](const Sizes& i) {
      const Sizes row = {0, 2, 5}, column = {0, 3};
      const size_t r = static_cast<size_t>(i[2]), c = static_cast<size_t>(i[3]);
      double best = -INFINITY;
      for (int64_t y = row[r]; y < row[r] + 2; ++y)
        for (int64_t x = column[c]; x < column[c] + 3; ++x)
          if (const double v = a[0].at({i[0], i[1], y, x}); v > best) {
            best = v;
            index.at(i) = static_cast<double>(y * 6 + x);
          }
      out.at(i) = best;
    });
    return {out, index};
  };
  rows.push_back(
      {.name = "fractional_max_pool",
       .ops = {"fractional_max_pool", "max_pool_backward"},
       .samples = {{.label = "2d",
                    .inputs = {distinct({1, 2, 7, 6}), given({1, 2, 2}, {0, 0, 0, 0}).constant()},
                    .fn = PAIR(fractional_max_pool2d(a[0], {2, 3}, {3, 2}, a[1])),
                    .reference = at_zero},
                   {.label = "3d",
                    .inputs = {distinct({1, 4, 5, 6}), real({1, 1, 3}, 0, 0.99).constant()},
                    .fn = PAIR(fractional_max_pool3d(a[0], {2, 2, 3}, {2, 3, 2}, a[1])),
                    .grad = true}},
       .dtypes = kFullFloats,
       .out = Out::kUnchecked,
       .refuses_others = false});
  rows.push_back({.name = "max_unpool",
                  .ops = {},
                  .samples = {{.label = "2d",
                               .inputs = {real({1, 2, 2, 2}),
                                          given_index({1, 2, 2, 2}, {0, 3, 9, 14, 5, 6, 8, 11})},
                               .fn = FN(max_unpool2d(a[0], a[1], {4, 4})),
                               .reference = [](const ValuesList& a) -> ValuesList {
                                 Values out = zeros_of({1, 2, 4, 4});
                                 for (int64_t i = 0; i < 8; ++i)
                                   out.v[static_cast<size_t>(i / 4 * 16) +
                                         static_cast<size_t>(a[1].v[static_cast<size_t>(i)])] =
                                       a[0].v[static_cast<size_t>(i)];
                                 return {out};
                               }},
                              {.label = "3d",
                               .inputs = {real({1, 1, 1, 2}), given_index({1, 1, 1, 2}, {3, 5})},
                               .fn = FN(max_unpool3d(a[0], a[1], {2, 2, 2}, {2, 2, 2}, {0, 0, 0})),
                               .reference = [](const ValuesList& a) -> ValuesList {
                                 Values out = zeros_of({1, 2, 2, 2});
                                 out.v[3] = a[0].v[0];
                                 out.v[5] = a[0].v[1];
                                 return {out};
                               }}}});
}

void add_avg(std::vector<Row>& rows) {
  const Sizes dense1 = {1}, dense2 = {1, 1}, dense3 = {1, 1, 1};
  rows.push_back(
      {.name = "avg_pool",
       .ops = {"avg_pool", "avg_pool_backward"},
       .samples = {{.label = "1d",
                    .inputs = {real({2, 2, 9})},
                    .fn = FN(avg_pool1d(a[0], 3, 2, 1, true, false)),
                    .reference = mean_of_window({{3}, {2}, {1}, dense1, true, false})},
                   {.label = "2d",
                    .inputs = {real({1, 2, 7, 6})},
                    .fn = FN(avg_pool2d(a[0], {3, 2}, {2, 1}, {1, 1})),
                    .reference = mean_of_window({{3, 2}, {2, 1}, {1, 1}, dense2})},
                   {.label = "2d stride beyond the window",
                    .inputs = {real({2, 7, 13})},
                    .fn = FN(avg_pool2d(a[0], {1, 2}, {3, 3})),
                    .reference = mean_of_window({{1, 2}, {3, 3}, {0, 0}, dense2})},
                   {.label = "2d divisor, ceil",
                    .inputs = {real({2, 5, 8})},
                    .fn = FN(avg_pool2d(a[0], 3, 2, 0, true, true, 5)),
                    .reference = mean_of_window({{3, 3}, {2, 2}, {0, 0}, dense2, true, true, 5})},
                   {.label = "2d narrow",
                    .inputs = {real({2, 5, 3})},
                    .fn = FN(avg_pool2d(a[0], 2, 1, 1, true, false)),
                    .reference = mean_of_window({{2, 2}, {1, 1}, {1, 1}, dense2, true, false})},
                   {.label = "3d",
                    .inputs = {real({1, 1, 4, 5, 6})},
                    .fn = FN(avg_pool3d(a[0], {2, 3, 2}, {2, 2, 1}, {1, 1, 0})),
                    .reference = mean_of_window({{2, 3, 2}, {2, 2, 1}, {1, 1, 0}, dense3})},
                   {.label = "big",
                    .inputs = {real({2, 16, 40, 41})},
                    .fn = FN(avg_pool2d(a[0], 3, 2, 1)),
                    .reference = mean_of_window({{3, 3}, {2, 2}, {1, 1}, dense2}),
                    .big = true}},
       .dtypes = kFloats});
  rows.push_back({.name = "adaptive_avg_pool",
                  .ops = {"adaptive_avg_pool", "adaptive_avg_pool_backward"},
                  .samples = {{.label = "1d",
                               .inputs = {real({2, 2, 9})},
                               .fn = FN(adaptive_avg_pool1d(a[0], 4)),
                               .reference = mean_of_window({.adaptive = {4}})},
                              {.label = "2d",
                               .inputs = {real({1, 2, 7, 6})},
                               .fn = FN(adaptive_avg_pool2d(a[0], {3, 4})),
                               .reference = mean_of_window({.adaptive = {3, 4}})},
                              {.label = "2d to one",
                               .inputs = {real({2, 2, 7, 7})},
                               .fn = FN(adaptive_avg_pool2d(a[0], 1)),
                               .reference = mean_of_window({.adaptive = {1, 1}})},
                              {.label = "2d larger",
                               .inputs = {real({1, 2, 3})},
                               .fn = FN(adaptive_avg_pool2d(a[0], {3, 7})),
                               .reference = mean_of_window({.adaptive = {3, 7}})},
                              {.label = "3d",
                               .inputs = {real({2, 3, 5, 4})},
                               .fn = FN(adaptive_avg_pool3d(a[0], {2, 2, 1})),
                               .reference = mean_of_window({.adaptive = {2, 2, 1}})},
                              {.label = "big",
                               .inputs = {real({8, 64, 14, 15})},
                               .fn = FN(adaptive_avg_pool2d(a[0], {1, 2})),
                               .reference = mean_of_window({.adaptive = {1, 2}}),
                               .big = true}},
                  .dtypes = kFloats});
}

// Eight channels side by side behind the pooled dimensions: what chains of convolutions keep.
void add_blocked_pools(std::vector<Row>& rows) {
  const Windows w{{3, 3}, {2, 2}, {1, 1}, {1, 1}, false, false, 0, 8};
  const auto max_attrs = [](bool plane_index) {
    return MaxPoolAttrs{{3, 3}, {2, 2}, {1, 1}, {1, 1}, false, plane_index, 8};
  };
  const AvgPoolAttrs avg{{}, {3, 3}, {2, 2}, {1, 1}, false, false, std::nullopt, 8};
  const AdaptivePoolAttrs adaptive{{}, {2, 2}, 8};
  Windows to_four{.inner = 8, .adaptive = {2, 2}};
  rows.push_back(
      {.name = "pooling of blocked channels",
       .ops = {"max_pool", "max_pool_backward", "avg_pool", "avg_pool_backward",
               "adaptive_avg_pool", "adaptive_avg_pool_backward", "adaptive_max_pool"},
       .samples = {{.label = "max, index in the window",
                    .inputs = {distinct({1, 1, 4, 3, 8})},
                    .fn = [=](const List& a) -> List {
                      return {apply_n<2>(kMaxPool, {a[0]}, max_attrs(false))[0]};
                    },
                    .reference = max_of_window(w)},
                   {.label = "max, index in the plane",
                    .inputs = {distinct({2, 3, 4, 8})},
                    .fn = [=](const List& a) -> List {
                      return {apply_n<2>(kMaxPool, {a[0]}, max_attrs(true))[0]};
                    },
                    .reference = max_of_window(w)},
                   {.label = "average",
                    .inputs = {real({1, 2, 4, 5, 8})},
                    .fn = [=](const List& a) -> List { return {apply(kAvgPool, {a[0]}, avg)}; },
                    .reference = mean_of_window(w)},
                   {.label = "adaptive average",
                    .inputs = {real({1, 2, 4, 5, 8})},
                    .fn = [=](const List& a) -> List {
                      return {apply(kAdaptiveAvgPool, {a[0]}, adaptive)};
                    },
                    .reference = mean_of_window(to_four)},
                   {.label = "adaptive max",
                    .inputs = {distinct({1, 1, 4, 5, 8})},
                    .fn = [=](const List& a) -> List {
                      return {apply_n<2>(kAdaptiveMaxPool, {a[0]}, adaptive)[0]};
                    },
                    .reference = max_of_window(to_four)}},
       .dtypes = kFullFloats,
       .refuses_others = false});
  const PoolIndexAttrs planes{{4, 4}, {}, {}, {}, {}, 1};
  rows.push_back({.name = "max_pool_gather",
                  .ops = {"max_pool_gather", "max_pool_backward"},
                  .samples = {{.label = "2d",
                               .inputs = {real({1, 2, 4, 4}),
                                          given_index({1, 2, 2, 2}, {0, 3, 9, 14, 5, 5, 8, 11})},
                               .fn = [=](const List& a) -> List {
                                 return {apply(kMaxPoolGather, {a[0], a[1]}, planes)};
                               },
                               .reference = [](const ValuesList& a) -> ValuesList {
                                 Values out = zeros_of({1, 2, 2, 2});
                                 for (size_t i = 0; i < 8; ++i)
                                   out.v[i] = a[0].v[i / 4 * 16 + static_cast<size_t>(a[1].v[i])];
                                 return {out};
                               }}},
                  .dtypes = kAllButBool});
}

}  // namespace

void add_pool_rows(std::vector<Row>& rows) {
  add_max(rows);
  add_avg(rows);
  add_blocked_pools(rows);
}

}  // namespace tandem::table
