#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "tandem/kernels/pool.h"
#include "tandem/kernels/pool_simd.h"

// How the pooling kernels walk over their windows.
namespace tandem::kernels {

inline constexpr int64_t kPoolGrain = 1 << 14;

inline int64_t volume(const Extents& e) { return e[0] * e[1] * e[2]; }
/// How many of something that costs `each` make a grain.
inline int64_t pool_grain(int64_t each) {
  return std::max<int64_t>(1, kPoolGrain / std::max<int64_t>(each, 1));
}

/// The part of a window that lies inside, in one dimension.
struct Span {
  int64_t first;   // index in the input
  int64_t count;   // how many elements, `dilation` apart
  int64_t number;  // of the first one within the whole window
  int64_t padded;  // how many there are with those in the padding, for averages
};

/// The windows of one dimension.
using Spans = std::vector<Span>;

inline int64_t ceil_over(int64_t a, int64_t b) { return (a + b - 1) / b; }

inline Spans regular_spans(const PoolShape& s, int d) {
  Spans spans(static_cast<size_t>(s.out[d]));
  for (int64_t o = 0; o < s.out[d]; ++o) {
    const int64_t start = o * s.stride[d] - s.padding[d], step = s.dilation[d];
    const int64_t skipped = start < 0 ? ceil_over(-start, step) : 0;
    const int64_t inside = start < s.in[d] ? ceil_over(s.in[d] - start, step) : 0;
    const int64_t end = std::min(start + s.kernel[d], s.in[d] + s.padding[d]);
    spans[static_cast<size_t>(o)] = {start + skipped * step,
                                     std::max<int64_t>(0, std::min(s.kernel[d], inside) - skipped),
                                     skipped, std::max<int64_t>(0, end - start)};
  }
  return spans;
}

inline Spans adaptive_spans(const PoolShape& s, int d) {
  Spans spans(static_cast<size_t>(s.out[d]));
  for (int64_t o = 0; o < s.out[d]; ++o) {
    // floor(o * in / out) and ceil((o + 1) * in / out) without large products.
    const int64_t whole = s.in[d] / s.out[d], rest = s.in[d] % s.out[d];
    const auto wide = static_cast<__int128>(rest);
    const auto first = o * whole + static_cast<int64_t>(wide * o / s.out[d]);
    const auto end =
        (o + 1) * whole + static_cast<int64_t>((wide * (o + 1) + s.out[d] - 1) / s.out[d]);
    spans[static_cast<size_t>(o)] = {first, end - first, 0, end - first};
  }
  return spans;
}

/// What the rows of a plain array (inner = 1) look like to windows that move by a stride: elements
/// that the same place of neighbouring windows sees lie side by side, with a border around.
///
/// Element x of the padded row is at (x % stride) * phase + x / stride.
template <class C>
class PhasedRows {
 public:
  PhasedRows(const PoolShape& s, C border)
      : border_(border), width_(s.in[2]), stride_(s.stride[2]), padding_(s.padding[2]) {
    const int64_t seen = (s.out[2] - 1) * stride_ + (s.kernel[2] - 1) * s.dilation[2] + 1;
    phase_ = (seen + stride_ - 1) / stride_;
    direct_ = stride_ == 1 && padding_ == 0 && seen <= width_;
    const int64_t phases = std::min(stride_, seen);
    std::vector<bool> used(static_cast<size_t>(phases), false);
    for (int64_t k = 0; k < s.kernel[2]; ++k) {
      const int64_t x = k * s.dilation[2];
      used[static_cast<size_t>(x % stride_)] = true;
      taps_.push_back(direct_ ? x : x % stride_ * phase_ + x / stride_);
    }
    length_ = direct_ ? width_ : phase_ * phases;
    int64_t held = 0;
    for (int64_t p = 0; p < phases; ++p) {
      if (!used[static_cast<size_t>(p)]) continue;
      parts_.push_back(part(p));
      held += parts_.back().end - parts_.back().begin;
    }
    covered_ = held == width_;
  }

  /// True iff numbers within a window are exact in C.
  static bool numbers_fit(const PoolShape& s) {
    return static_cast<double>(s.kernel[0]) * static_cast<double>(s.kernel[1]) *
               static_cast<double>(s.kernel[2]) <
           0x1p20;
  }
  /// True iff the rows are not much longer for their border, and numbers_fit.
  static bool suits(const PoolShape& s) {
    constexpr int64_t kMost = int64_t{1} << 31;
    if (s.inner != 1 || s.in[0] >= kMost || s.in[1] >= kMost) return false;
    const int64_t seen = (s.out[2] - 1) * s.stride[2] + (s.kernel[2] - 1) * s.dilation[2] + 1;
    return s.out[2] >= 4 && seen <= 4 * s.in[2] + 64 && numbers_fit(s);
  }

  /// True iff windows are two columns wide and lie side by side: rows need not be phased for them.
  static bool pairs(const PoolShape& s) {
    return s.kernel[2] == 2 && s.stride[2] == 2 && s.dilation[2] == 1 && s.padding[2] == 0 &&
           2 * s.out[2] <= s.in[2];
  }

  bool direct() const { return direct_; }
  int64_t length() const { return length_; }
  /// Where tap k of the first window lies in a phased row.
  int64_t tap(int64_t k) const { return taps_[static_cast<size_t>(k)]; }

  void fill(const C* row, C* phased) const {
    const PoolOps<C>& ops = pool_ops<C>();
    for (const Part& p : parts_) {
      C* to = phased + p.phase * phase_;
      std::fill_n(to, p.begin, border_);
      ops.pick(row + p.begin * stride_ + p.phase - padding_, stride_, p.end - p.begin,
               to + p.begin);
      std::fill(to + p.end, to + phase_, border_);
    }
  }
  /// The other way round; what no window sees becomes 0.
  void restore(const C* phased, C* row) const {
    if (!covered_) std::fill_n(row, width_, C(0));
    for (const Part& p : parts_) {
      const C* from = phased + p.phase * phase_;
      C* to = row + p.phase - padding_;
      for (int64_t j = p.begin; j < p.end; ++j) to[j * stride_] = from[j];
    }
  }

 private:
  // A phase that some tap sees, and which of its elements are not border.
  struct Part {
    int64_t phase, begin, end;
  };
  Part part(int64_t phase) const {
    const int64_t begin = phase < padding_ ? ceil_over(padding_ - phase, stride_) : 0;
    const int64_t last = padding_ + width_ - phase;
    const int64_t end = last > 0 ? ceil_over(last, stride_) : 0;
    return {phase, std::min(begin, phase_), std::clamp(end, std::min(begin, phase_), phase_)};
  }

  C border_;
  int64_t width_, stride_, padding_, phase_ = 0, length_ = 0;
  bool direct_ = false;
  bool covered_ = false;  // True iff the phases hold every element of a row.
  std::vector<Part> parts_;
  std::vector<int64_t> taps_;
};

/// Rows as PhasedRows makes them, kept while the windows below still see them.
template <class C>
class RowCache {
 public:
  RowCache(const PhasedRows<C>& rows, const PoolShape& s)
      : rows_(rows),
        s_(s),
        height_(std::min(s.in[1], (s.kernel[1] - 1) * s.dilation[1] + 1)),
        depth_(std::min(s.in[0], (s.kernel[0] - 1) * s.dilation[0] + 1)) {
    if (rows.direct()) return;
    tags_.resize(static_cast<size_t>(height_ * depth_), -1);
    data_.resize(static_cast<size_t>(height_ * depth_ * rows.length()));
  }

  /// Row (z, y) of a plane of x.
  const C* row(const C* x, int64_t plane, int64_t z, int64_t y) {
    const int64_t number = (plane * s_.in[0] + z) * s_.in[1] + y;
    if (rows_.direct()) return x + number * s_.in[2];
    // Divisions of 32 bits take half the time.
    const int64_t slot = (depth_ == 1 ? 0 : remainder(z, depth_) * height_) + remainder(y, height_);
    C* data = data_.data() + slot * rows_.length();
    if (tags_[static_cast<size_t>(slot)] != number) {
      rows_.fill(x + number * s_.in[2], data);
      tags_[static_cast<size_t>(slot)] = number;
    }
    return data;
  }

 private:
  static int64_t remainder(int64_t a, int64_t b) {
    return static_cast<uint32_t>(a) % static_cast<uint32_t>(b);
  }

  const PhasedRows<C>& rows_;
  const PoolShape& s_;
  int64_t height_, depth_;
  std::vector<int64_t> tags_;
  std::vector<C> data_;
};

/// Which windows a row of the output is made of.
struct OutputRow {
  int64_t plane, z, y;
  OutputRow(const PoolShape& s, int64_t number)
      : plane(number / (s.out[0] * s.out[1])),
        z(number / s.out[1] % s.out[0]),
        y(number % s.out[1]) {}
  void next(const PoolShape& s) {
    if (++y < s.out[1]) return;
    y = 0;
    if (++z < s.out[0]) return;
    z = 0;
    ++plane;
  }
};

}  // namespace tandem::kernels
