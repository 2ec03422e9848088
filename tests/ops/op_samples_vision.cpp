// Rows of images in other sizes, seen through grids, and shuffled.
#include <algorithm>
#include <cmath>

#include "tests/ops/op_table.h"

namespace tandem::table {
namespace {

struct Tap {
  int64_t at;
  double weight;
};
using Taps = std::vector<Tap>;
// What element o of `out` is made of, among `in` elements.
using TapsOf = std::function<Taps(int64_t o, int64_t in, int64_t out)>;

double source(int64_t o, int64_t in, int64_t out, bool align) {
  const auto n = static_cast<double>(in), m = static_cast<double>(out), i = static_cast<double>(o);
  if (align) return out > 1 ? i * (n - 1) / (m - 1) : 0;
  return (i + 0.5) * n / m - 0.5;
}
int64_t inside(int64_t i, int64_t n) { return std::clamp<int64_t>(i, 0, n - 1); }

Taps nearest(int64_t o, int64_t in, int64_t out) { return {{inside(o * in / out, in), 1}}; }
Taps nearest_exact(int64_t o, int64_t in, int64_t out) {
  return {{inside((2 * o + 1) * in / (2 * out), in), 1}};
}
TapsOf linear(bool align) {
  return [align](int64_t o, int64_t in, int64_t out) -> Taps {
    const double x = std::max(source(o, in, out, align), 0.0);
    const auto i = static_cast<int64_t>(x);
    const double rest = x - static_cast<double>(i);
    return {{inside(i, in), 1 - rest}, {inside(i + 1, in), rest}};
  };
}
double cubic(double x, double a) {
  x = std::abs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}
TapsOf cubic_taps(bool align) {
  return [align](int64_t o, int64_t in, int64_t out) -> Taps {
    const double x = source(o, in, out, align);
    const auto i = static_cast<int64_t>(std::floor(x));
    Taps taps;
    for (int64_t k = i - 1; k < i + 3; ++k)
      taps.push_back({inside(k, in), cubic(x - static_cast<double>(k), -0.75)});
    return taps;
  };
}
TapsOf smooth(bool bicubic) {
  return [bicubic](int64_t o, int64_t in, int64_t out) -> Taps {
    const double step = static_cast<double>(in) / static_cast<double>(out);
    const double reach = std::max(step, 1.0), center = (static_cast<double>(o) + 0.5) * step;
    Taps taps;
    double total = 0;
    for (int64_t i = 0; i < in; ++i) {
      const double x = (static_cast<double>(i) + 0.5 - center) / reach;
      const double w = bicubic ? cubic(x, -0.5) : std::max(0.0, 1 - std::abs(x));
      taps.push_back({i, w});
      total += w;
    }
    for (Tap& t : taps) t.weight /= total;
    return taps;
  };
}

// The last dimensions resampled one after another.
Reference resampled(Sizes out, TapsOf of) {
  return [=](const ValuesList& a) -> ValuesList {
    Values x = a[0];
    for (size_t k = 0; k < out.size(); ++k) {
      const size_t d = x.sizes.size() - out.size() + k;
      Sizes sizes = x.sizes;
      sizes[d] = out[k];
      Values next = zeros_of(sizes);
      each_index(sizes, [&](const Sizes& at) {
        Sizes from = at;
        for (const Tap& t : of(at[d], x.sizes[d], out[k])) {
          from[d] = t.at;
          next.at(at) += x.at(from) * t.weight;
        }
      });
      x = next;
    }
    return {x};
  };
}

Sample sized(const char* label, Sizes in, Sizes out, TapsOf of, Fn fn) {
  return {.label = label,
          .inputs = {real(std::move(in))},
          .fn = std::move(fn),
          .reference = resampled(std::move(out), std::move(of))};
}

void add_upsampling(std::vector<Row>& rows) {
  rows.push_back(
      {.name = "upsample_nearest",
       .ops = {"upsample", "upsample_backward"},
       .samples = {sized("1d", {1, 2, 4}, {7}, nearest, FN(upsample_nearest1d(a[0], {7}))),
                   sized("2d", {1, 2, 3, 4}, {6, 3}, nearest, FN(upsample_nearest2d(a[0], {6, 3}))),
                   sized("3d", {1, 1, 2, 3, 2}, {4, 2, 3}, nearest,
                         FN(upsample_nearest3d(a[0], {4, 2, 3}))),
                   sized("exact 1d", {1, 2, 4}, {7}, nearest_exact,
                         FN(_upsample_nearest_exact1d(a[0], {7}))),
                   sized("exact 2d", {1, 2, 3, 4}, {5, 3}, nearest_exact,
                         FN(_upsample_nearest_exact2d(a[0], {5, 3}))),
                   sized("exact 3d", {1, 1, 2, 3, 2}, {4, 2, 5}, nearest_exact,
                         FN(_upsample_nearest_exact3d(a[0], {4, 2, 5}))),
                   sized("no samples", {0, 2, 3, 4}, {6, 3}, nearest,
                         FN(upsample_nearest2d(a[0], {6, 3})))}});
  Sample big =
      sized("big", {2, 8, 30, 31}, {60, 62}, nearest, FN(upsample_nearest2d(a[0], {60, 62})));
  big.big = true;
  rows.back().samples.push_back(big);

  rows.push_back({.name = "upsample_linear",
                  .ops = {"upsample", "upsample_backward"},
                  .samples = {sized("1d", {1, 2, 4}, {7}, linear(false),
                                    FN(upsample_linear1d(a[0], {7}, false))),
                              sized("1d corners", {1, 2, 4}, {7}, linear(true),
                                    FN(upsample_linear1d(a[0], {7}, true))),
                              sized("2d", {1, 2, 3, 4}, {6, 3}, linear(false),
                                    FN(upsample_bilinear2d(a[0], {6, 3}, false))),
                              sized("2d corners", {1, 2, 3, 4}, {5, 4}, linear(true),
                                    FN(upsample_bilinear2d(a[0], {5, 4}, true))),
                              sized("3d", {1, 1, 2, 3, 2}, {4, 2, 3}, linear(false),
                                    FN(upsample_trilinear3d(a[0], {4, 2, 3}, false))),
                              sized("3d corners", {1, 1, 2, 3, 2}, {4, 1, 3}, linear(true),
                                    FN(upsample_trilinear3d(a[0], {4, 1, 3}, true))),
                              sized("2d smooth", {1, 1, 5, 6}, {2, 8}, smooth(false),
                                    FN(_upsample_bilinear2d_aa(a[0], {2, 8}, false)))},
                  .dtypes = kFloats,
                  .tolerance32 = 1e-5});
  big = sized("big", {2, 8, 30, 31}, {61, 62}, linear(false),
              FN(upsample_bilinear2d(a[0], {61, 62}, false)));
  big.big = true;
  rows.back().samples.push_back(big);

  rows.push_back({.name = "upsample_bicubic",
                  .ops = {"upsample", "upsample_backward"},
                  .samples = {sized("2d", {1, 2, 3, 4}, {6, 3}, cubic_taps(false),
                                    FN(upsample_bicubic2d(a[0], {6, 3}, false))),
                              sized("2d corners", {1, 1, 3, 4}, {5, 4}, cubic_taps(true),
                                    FN(upsample_bicubic2d(a[0], {5, 4}, true))),
                              sized("2d smooth", {1, 1, 5, 6}, {2, 8}, smooth(true),
                                    FN(_upsample_bicubic2d_aa(a[0], {2, 8}, false)))},
                  .dtypes = kFloats,
                  .tolerance32 = 1e-5});
}

// Numbers of a plane at a place that need not be inside.
double at_or_zero(const Values& x, int64_t n, int64_t c, const Sizes& place) {
  Sizes i = {n, c};
  for (size_t d = 0; d < place.size(); ++d) {
    if (place[d] < 0 || place[d] >= x.sizes[d + 2]) return 0;
    i.push_back(place[d]);
  }
  return x.at(i);
}

// Linear in each dimension, zeros or the border outside.
Reference seen(bool align, bool border) {
  return [=](const ValuesList& a) -> ValuesList {
    const Values &x = a[0], &grid = a[1];
    const size_t n = x.sizes.size() - 2;
    Sizes sizes = {x.sizes[0], x.sizes[1]};
    sizes.insert(sizes.end(), grid.sizes.begin() + 1, grid.sizes.end() - 1);
    Values out = zeros_of(sizes);
    each_index(sizes, [&](const Sizes& at) {
      Sizes g(at.begin() + 1, at.end());
      g[0] = at[0];
      g.insert(g.begin() + 1, at.begin() + 2, at.end());
      g.resize(n + 1);
      g.push_back(0);
      std::vector<double> place(n);
      for (size_t d = 0; d < n; ++d) {
        g[n + 1] = static_cast<int64_t>(n - 1 - d);
        const auto size = static_cast<double>(x.sizes[d + 2]);
        const double p = grid.at(g);
        place[d] = align ? (p + 1) / 2 * (size - 1) : ((p + 1) * size - 1) / 2;
        if (border) place[d] = std::clamp(place[d], 0.0, size - 1);
      }
      for (int64_t corner = 0; corner < (1 << n); ++corner) {
        double weight = 1;
        Sizes i(n);
        for (size_t d = 0; d < n; ++d) {
          const double low = std::floor(place[d]);
          const bool up = corner >> d & 1;
          i[d] = static_cast<int64_t>(low) + up;
          weight *= up ? place[d] - low : low + 1 - place[d];
        }
        out.at(at) += weight * at_or_zero(x, at[0], at[1], i);
      }
    });
    return {out};
  };
}

void add_grids(std::vector<Row>& rows) {
  const Input image = real({2, 2, 3, 4}), grid = real({2, 2, 3, 2}, -1.3, 1.3);
  rows.push_back({.name = "grid_sampler",
                  .ops = {"grid_sampler"},
                  .samples = {{.label = "bilinear",
                               .inputs = {image, grid},
                               .fn = FN(grid_sampler(a[0], a[1], 0, 0, false)),
                               .reference = seen(false, false)},
                              {.label = "bilinear corners",
                               .inputs = {image, grid},
                               .fn = FN(grid_sampler(a[0], a[1], 0, 0, true)),
                               .reference = seen(true, false)},
                              {.label = "border",
                               .inputs = {image, grid},
                               .fn = FN(grid_sampler_2d(a[0], a[1], 0, 1, false)),
                               .reference = seen(false, true)},
                              {.label = "mirrored",
                               .inputs = {image, grid},
                               .fn = FN(grid_sampler(a[0], a[1], 0, 2, true))},
                              {.label = "bicubic",
                               .inputs = {image, grid},
                               .fn = FN(grid_sampler(a[0], a[1], 2, 1, false))},
                              {.label = "nearest",
                               .inputs = {image, grid},
                               .fn = FN(grid_sampler(a[0], a[1], 1, 0, false))},
                              {.label = "3d",
                               .inputs = {real({1, 2, 2, 3, 3}), real({1, 2, 1, 2, 3}, -1.3, 1.3)},
                               .fn = FN(grid_sampler_3d(a[0], a[1], 0, 0, false)),
                               .reference = seen(false, false)},
                              {.label = "big",
                               .inputs = {real({3, 9, 20, 21}), real({3, 24, 25, 2}, -1.1, 1.1)},
                               .fn = FN(grid_sampler(a[0], a[1], 0, 0, false)),
                               .reference = seen(false, false),
                               .big = true}},
                  .grad = Grad::kOnce,
                  .dtypes = kFloats,
                  .tolerance32 = 2e-5,
                  .tolerance16 = -1});
  // Gradients by the image have gradients again.
  rows.push_back({.name = "grid_sampler, fixed grid",
                  .ops = {"grid_sampler", "grid_sampler_backward"},
                  .samples = {{.label = "bilinear",
                               .inputs = {image, grid.constant()},
                               .fn = FN(grid_sampler(a[0], a[1], 0, 0, false)),
                               .reference = seen(false, false)},
                              {.label = "bicubic",
                               .inputs = {image, grid.constant()},
                               .fn = FN(grid_sampler(a[0], a[1], 2, 2, true))}},
                  .dtypes = kFloats,
                  .tolerance32 = 2e-5,
                  .tolerance16 = -1});
  rows.push_back({.name = "affine_grid_generator",
                  .ops = {},
                  .samples = {{.label = "2d",
                               .inputs = {real({2, 2, 3})},
                               .fn = FN(affine_grid_generator(a[0], {2, 1, 2, 3}, false))},
                              {.label = "3d",
                               .inputs = {real({1, 3, 4})},
                               .fn = FN(affine_grid_generator(a[0], {1, 1, 2, 1, 3}, true))}},
                  .dtypes = kFloats,
                  .refuses_others = false,
                  .tolerance16 = -1});
}

void add_shuffles(std::vector<Row>& rows) {
  const auto moved = [](Sizes out, std::function<Sizes(const Sizes&)> from) -> Reference {
    return [=](const ValuesList& a) -> ValuesList {
      Values r = zeros_of(out);
      each_index(out, [&](const Sizes& i) { r.at(i) = a[0].at(from(i)); });
      return {r};
    };
  };
  rows.push_back(
      {.name = "pixel_shuffle",
       .ops = {},
       .samples = {
           {.label = "up",
            .inputs = {real({1, 8, 2, 3})},
            .fn = FN(pixel_shuffle(a[0], 2)),
            .reference =
                moved({1, 2, 4, 6},
                      [](const Sizes& i) -> Sizes {
                        return {i[0], i[1] * 4 + i[2] % 2 * 2 + i[3] % 2, i[2] / 2, i[3] / 2};
                      })},
           {.label = "down",
            .inputs = {real({2, 4, 6})},
            .fn = FN(pixel_unshuffle(a[0], 2)),
            .reference = moved({8, 2, 3},
                               [](const Sizes& i) -> Sizes {
                                 return {i[0] / 4, i[1] * 2 + i[0] / 2 % 2, i[2] * 2 + i[0] % 2};
                               })},
           {.label = "channels",
            .inputs = {real({1, 6, 2})},
            .fn = FN(channel_shuffle(a[0], 3)),
            .reference = moved({1, 6, 2}, [](const Sizes& i) -> Sizes {
              return {i[0], i[1] % 3 * 2 + i[1] / 3, i[2]};
            })}}});
}

}  // namespace

void add_vision_rows(std::vector<Row>& rows) {
  add_upsampling(rows);
  add_grids(rows);
  add_shuffles(rows);
}

}  // namespace tandem::table
