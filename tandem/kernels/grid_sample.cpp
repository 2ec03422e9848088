#include "tandem/kernels/grid_sample.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "tandem/base/parallel.h"
#include "tandem/kernels/packed.h"
#include "tandem/kernels/resample_simd.h"

namespace tandem::kernels {
namespace {

constexpr int64_t kTile = 128;  // places that are worked on together
constexpr int kMostTaps = 16;

struct Shape {
  int64_t samples, channels, image = 1, places = 1;  // image, places: elements of one channel
  int dims;                                          // 2 or 3
  int64_t extent[3] = {1, 1, 1};                     // of x: columns, rows, depth
  Shape(const Array& x, const Array& grid)
      : samples(x.sizes[0]), channels(x.sizes[1]), dims(x.ndim - 2) {
    for (int d = 0; d < dims; ++d) {
      extent[d] = x.sizes[x.ndim - 1 - d];
      image *= extent[d];
      places *= grid.sizes[1 + d];
    }
  }
};

// A coordinate in elements, and its derivative by the number in the grid.
template <class C>
struct Coordinate {
  C at, slope;
};

template <class C>
Coordinate<C> unnormalized(C x, int64_t size, const GridSampling& how) {
  const C n = static_cast<C>(size);
  if (how.align_corners) return {(x + 1) / 2 * (n - 1), (n - 1) / 2};
  return {((x + 1) * n - 1) / 2, n / 2};
}

template <class C>
void clip(Coordinate<C>& c, int64_t size) {
  const C last = static_cast<C>(size - 1);
  // At the border and beyond nothing moves. What is no number goes to the end.
  if (c.at <= 0)
    c = {C(0), C(0)};
  else if (!(c.at < last))
    c = {last, C(0)};
}

// Mirrored at half of `low` and of `high`.
template <class C>
void reflect(Coordinate<C>& c, int64_t low, int64_t high) {
  if (low == high) {
    c = {C(0), C(0)};
    return;
  }
  const C least = static_cast<C>(low) / 2, span = static_cast<C>(high - low) / 2;
  C x = c.at - least;
  if (x < 0) {
    x = -x;
    c.slope = -c.slope;
  }
  const C rest = std::fmod(x, span);
  const C turns = std::floor(x / span);
  const bool even = std::fmod(turns, C(2)) == 0;
  c.at = even ? rest + least : span - rest + least;
  if (!even) c.slope = -c.slope;
}

template <class C>
void pad(Coordinate<C>& c, int64_t size, const GridSampling& how) {
  if (how.padding == GridPadding::Zeros) return;
  if (how.padding == GridPadding::Reflection) {
    if (how.align_corners)
      reflect<C>(c, 0, 2 * (size - 1));
    else
      reflect<C>(c, -1, 2 * size - 1);
  }
  clip(c, size);
}

// floor as an integer; what is far outside or no number is outside.
template <class C>
int64_t whole(C x) {
  return x > C(-1e9) && x < C(1e9) ? static_cast<int64_t>(std::floor(x)) : int64_t{-100};
}

// What one dimension contributes: elements, their weights, and the weights' derivatives by the
// number in the grid.
template <class C>
struct Line {
  int n;
  int64_t at[4];
  C weight[4], slope[4];
};

template <class C>
Line<C> line_of(C x, int64_t size, const GridSampling& how) {
  Coordinate<C> c = unnormalized(x, size, how);
  Line<C> line;
  if (how.mode == GridMode::Bicubic) {
    const int64_t first = whole(c.at);
    const C t = c.at - std::floor(c.at), a = C(-0.75);
    line.n = 4;
    const C d[4] = {t + 1, t, 1 - t, 2 - t};
    for (int k = 0; k < 4; ++k) {
      const C v = d[k];
      const bool near = k == 1 || k == 2;
      line.weight[k] =
          near ? ((a + 2) * v - (a + 3)) * v * v + 1 : ((a * v - 5 * a) * v + 8 * a) * v - 4 * a;
      const C slope = near ? (3 * (a + 2) * v - 2 * (a + 3)) * v : (3 * a * v - 10 * a) * v + 8 * a;
      line.slope[k] = (k < 2 ? slope : -slope) * c.slope;
      // Each element is looked for by itself.
      Coordinate<C> tap{static_cast<C>(first - 1 + k), C(0)};
      pad(tap, size, how);
      line.at[k] = whole(tap.at);
    }
    if (!(t == t))
      for (int64_t& at : line.at) at = -1;
    return line;
  }
  pad(c, size, how);
  if (how.mode == GridMode::Nearest) {
    line.n = 1;
    line.at[0] = c.at > C(-1e9) && c.at < C(1e9) ? static_cast<int64_t>(std::nearbyint(c.at)) : -1;
    line.weight[0] = 1;
    line.slope[0] = 0;
    return line;
  }
  const int64_t first = whole(c.at);
  line.n = 2;
  line.at[0] = first;
  line.at[1] = first + 1;
  const C rest = c.at - static_cast<C>(first);
  const bool sound = first != -100;
  line.weight[0] = sound ? 1 - rest : C(0);
  line.weight[1] = sound ? rest : C(0);
  line.slope[0] = -c.slope;
  line.slope[1] = c.slope;
  return line;
}

// The taps of a tile of places, tap by tap.
template <class C>
struct Tile {
  int64_t n = 0;
  int n_taps = 0;
  std::array<int32_t, kMostTaps * kTile> at;
  std::array<C, kMostTaps * kTile> weight;
  std::array<C, 3 * kMostTaps * kTile> slope;  // by each of the grid's numbers

  void fill(const C* grid, int64_t count, const Shape& s, const GridSampling& how, bool slopes) {
    n = count;
    for (int64_t i = 0; i < n; ++i) {
      Line<C> line[3];
      for (int d = 0; d < 3; ++d) {
        if (d < s.dims)
          line[d] = line_of<C>(grid[i * s.dims + d], s.extent[d], how);
        else
          line[d] = {1, {0}, {C(1)}, {C(0)}};
      }
      int64_t t = i;
      for (int z = 0; z < line[2].n; ++z)
        for (int y = 0; y < line[1].n; ++y)
          for (int x = 0; x < line[0].n; ++x, t += kTile) {
            const int64_t ix = line[0].at[x], iy = line[1].at[y], iz = line[2].at[z];
            const bool inside = ix >= 0 && ix < s.extent[0] && iy >= 0 && iy < s.extent[1] &&
                                iz >= 0 && iz < s.extent[2];
            const auto to = static_cast<size_t>(t);
            at[to] = inside ? static_cast<int32_t>((iz * s.extent[1] + iy) * s.extent[0] + ix) : -1;
            const C wx = line[0].weight[x], wy = line[1].weight[y], wz = line[2].weight[z];
            weight[to] = wx * wy * wz;
            if (!slopes) continue;
            slope[to] = line[0].slope[x] * wy * wz;
            slope[to + kMostTaps * kTile] = wx * line[1].slope[y] * wz;
            slope[to + 2 * kMostTaps * kTile] = wx * wy * line[2].slope[z];
          }
      n_taps = line[0].n * line[1].n * line[2].n;
    }
  }
};

template <class C>
void sample(const C* x, const C* grid, const Shape& s, const GridSampling& how, C* out) {
  const int64_t tiles = (s.places + kTile - 1) / kTile;
  parallel_for(0, s.samples * tiles, std::max<int64_t>(1, 64 / (s.channels + 8)),
               [&](int64_t begin, int64_t end) {
                 const auto tile = std::make_unique<Tile<C>>();
                 for (int64_t u = begin; u < end; ++u) {
                   const int64_t sample = u / tiles, first = u % tiles * kTile;
                   tile->fill(grid + (sample * s.places + first) * s.dims,
                              std::min(kTile, s.places - first), s, how, false);
                   for (int64_t c = 0; c < s.channels; ++c)
                     resample_ops<C>().gather(x + (sample * s.channels + c) * s.image,
                                              tile->at.data(), tile->weight.data(), tile->n_taps,
                                              kTile, tile->n,
                                              out + (sample * s.channels + c) * s.places + first);
                 }
               });
}

// The gradient by the image: planes are worked on by one thread each, in the order of the places.
template <class C>
void scatter_back(const C* g, const C* grid, const Shape& s, const GridSampling& how, C* out) {
  constexpr int64_t kChannels = 8;  // that share the work of finding the taps
  const int64_t groups = (s.channels + kChannels - 1) / kChannels;
  parallel_for(0, s.samples * groups, 1, [&](int64_t begin, int64_t end) {
    const auto tile = std::make_unique<Tile<C>>();
    for (int64_t u = begin; u < end; ++u) {
      const int64_t sample = u / groups, channel = u % groups * kChannels;
      const int64_t last = std::min(s.channels, channel + kChannels);
      std::fill(out + (sample * s.channels + channel) * s.image,
                out + (sample * s.channels + last) * s.image, C(0));
      for (int64_t first = 0; first < s.places; first += kTile) {
        tile->fill(grid + (sample * s.places + first) * s.dims, std::min(kTile, s.places - first),
                   s, how, false);
        for (int64_t c = channel; c < last; ++c) {
          C* plane = out + (sample * s.channels + c) * s.image;
          const C* from = g + (sample * s.channels + c) * s.places + first;
          for (int64_t i = 0; i < tile->n; ++i)
            for (int t = 0; t < tile->n_taps; ++t) {
              const auto k = static_cast<size_t>(t * kTile + i);
              if (tile->at[k] >= 0) plane[tile->at[k]] += from[i] * tile->weight[k];
            }
        }
      }
    }
  });
}

template <class C>
void grid_back(const C* g, const C* x, const C* grid, const Shape& s, const GridSampling& how,
               C* out) {
  const int64_t tiles = (s.places + kTile - 1) / kTile;
  parallel_for(0, s.samples * tiles, std::max<int64_t>(1, 32 / (s.channels + 8)),
               [&](int64_t begin, int64_t end) {
                 const auto tile = std::make_unique<Tile<C>>();
                 C moved[kTile], sum[3][kTile];
                 for (int64_t u = begin; u < end; ++u) {
                   const int64_t sample = u / tiles, first = u % tiles * kTile;
                   tile->fill(grid + (sample * s.places + first) * s.dims,
                              std::min(kTile, s.places - first), s, how, true);
                   for (auto& row : sum) std::fill(std::begin(row), std::end(row), C(0));
                   for (int64_t c = 0; c < s.channels; ++c) {
                     const C* from = g + (sample * s.channels + c) * s.places + first;
                     for (int d = 0; d < s.dims; ++d) {
                       resample_ops<C>().gather(x + (sample * s.channels + c) * s.image,
                                                tile->at.data(),
                                                tile->slope.data() + d * kMostTaps * kTile,
                                                tile->n_taps, kTile, tile->n, moved);
                       for (int64_t i = 0; i < tile->n; ++i) sum[d][i] += from[i] * moved[i];
                     }
                   }
                   C* to = out + (sample * s.places + first) * s.dims;
                   for (int64_t i = 0; i < tile->n; ++i)
                     for (int d = 0; d < s.dims; ++d) to[i * s.dims + d] = sum[d][i];
                 }
               });
}

template <class F>
void dispatch_real(DType t, const F& fn) {
  if (t == kDouble)
    fn(double());
  else
    fn(float());
}

}  // namespace

void grid_sample(const Array& x, const Array& grid, const GridSampling& how, const Array& out) {
  if (out.numel == 0) return;
  dispatch_real(x.dtype, [&]<class C>(C) {
    const Packed image(x, dtype_v<C>), places(grid, dtype_v<C>);
    PackedOutput to(out, dtype_v<C>);
    sample<C>(image.as<C>(), places.as<C>(), Shape(x, grid), how, to.as<C>());
    to.commit();
  });
}

void grid_sample_backward(const Array& g, const Array& x, const Array& grid,
                          const GridSampling& how, const Array& x_grad, const Array& grid_grad) {
  dispatch_real(x.dtype, [&]<class C>(C) {
    const Packed grad(g, dtype_v<C>), image(x, dtype_v<C>), places(grid, dtype_v<C>);
    PackedOutput by_image(x_grad, dtype_v<C>), by_grid(grid_grad, dtype_v<C>);
    const Shape s(x, grid);
    if (x_grad.numel > 0) scatter_back<C>(grad.as<C>(), places.as<C>(), s, how, by_image.as<C>());
    if (grid_grad.numel > 0)
      grid_back<C>(grad.as<C>(), image.as<C>(), places.as<C>(), s, how, by_grid.as<C>());
    by_image.commit();
    by_grid.commit();
  });
}

}  // namespace tandem::kernels
