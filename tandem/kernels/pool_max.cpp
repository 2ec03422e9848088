#include <limits>

#include "tandem/base/parallel.h"
#include "tandem/kernels/packed.h"
#include "tandem/kernels/pool_windows.h"
#include "tandem/kernels/reduce_load.h"

namespace tandem::kernels {
namespace {

// Turns numbers within windows into what an index array holds.
class IndexWriter {
 public:
  IndexWriter(const PoolShape& s, const Array& index, PackedOutput& memory)
      : s_(s), long_(index.dtype == kLong), memory_(memory) {
    if (!long_) return;
    for (int64_t z = 0; z < s.kernel[0]; ++z)
      for (int64_t y = 0; y < s.kernel[1]; ++y)
        for (int64_t x = 0; x < s.kernel[2]; ++x)
          delta_.push_back((z * s.dilation[0] * s.in[1] + y * s.dilation[1]) * s.in[2] +
                           x * s.dilation[2]);
  }

  // Of a row of windows, and of each channel.
  template <class C>
  void write(int64_t row, const OutputRow& at, const C* number) const {
    const int64_t inner = s_.inner, width = s_.out[2] * inner;
    if (!long_) {
      uint8_t* out = memory_.as<uint8_t>() + row * width;
      for (int64_t i = 0; i < width; ++i) out[i] = static_cast<uint8_t>(number[i]);
      return;
    }
    int64_t* out = memory_.as<int64_t>() + row * width;
    const int64_t base =
        ((at.z * s_.stride[0] - s_.padding[0]) * s_.in[1] + at.y * s_.stride[1] - s_.padding[1]) *
            s_.in[2] -
        s_.padding[2];
    for (int64_t o = 0; o < s_.out[2]; ++o)
      for (int64_t i = o * inner; i < (o + 1) * inner; ++i)
        out[i] = base + o * s_.stride[2] + delta_[static_cast<size_t>(number[i])];
  }

 private:
  const PoolShape& s_;
  bool long_;
  PackedOutput& memory_;
  std::vector<int64_t> delta_;
};

bool same_part(const Span& a, const Span& b) { return a.count == b.count && a.number == b.number; }

// Windows side by side in registers.
template <class C>
void max_by_taps(const C* x, const PoolShape& s, C* values, const Array& index,
                 PackedOutput& index_memory) {
  const PhasedRows<C> rows(s, -std::numeric_limits<C>::infinity());
  const Spans depth = regular_spans(s, 0), height = regular_spans(s, 1);
  const IndexWriter writer(s, index, index_memory);
  const PoolOps<C>& ops = pool_ops<C>();
  const bool pairs = PhasedRows<C>::pairs(s);
  std::vector<C> leftmost;  // the number of each window's first column that lies inside
  for (const Span& dx : regular_spans(s, 2)) leftmost.push_back(static_cast<C>(dx.number));
  const auto some_rows = [&](int64_t begin, int64_t end) {
    RowCache<C> cache(rows, s);
    std::vector<const C*> taps(static_cast<size_t>(volume(s.kernel)));
    std::vector<C> numbers(taps.size()), number(leftmost.size());
    const Span *last_z = nullptr, *last_y = nullptr;
    OutputRow at(s, begin);
    for (int64_t r = begin; r < end; ++r, at.next(s)) {
      const Span &dz = depth[static_cast<size_t>(at.z)], &dy = height[static_cast<size_t>(at.y)];
      size_t n = 0;
      for (int64_t z = 0; z < dz.count; ++z)
        for (int64_t y = 0; y < dy.count; ++y) {
          const int64_t iz = dz.first + z * s.dilation[0], iy = dy.first + y * s.dilation[1];
          if (pairs) {
            taps[n++] = x + ((at.plane * s.in[0] + iz) * s.in[1] + iy) * s.in[2];
            continue;
          }
          const C* row = cache.row(x, at.plane, iz, iy);
          for (int64_t k = 0; k < s.kernel[2]; ++k) taps[n++] = row + rows.tap(k);
        }
      // Most windows have the same part inside as those above them.
      if (!last_z || !same_part(*last_z, dz) || !same_part(*last_y, dy)) {
        size_t t = 0;
        for (int64_t z = 0; z < dz.count; ++z)
          for (int64_t y = 0; y < dy.count; ++y)
            for (int64_t k = 0; k < s.kernel[2]; ++k)
              numbers[t++] =
                  static_cast<C>(((dz.number + z) * s.kernel[1] + dy.number + y) * s.kernel[2] + k);
      }
      last_z = &dz;
      last_y = &dy;
      const C first = static_cast<C>((dz.number * s.kernel[1] + dy.number) * s.kernel[2]);
      for (size_t i = 0; i < number.size(); ++i) number[i] = leftmost[i] + first;
      (pairs ? ops.max_pairs : ops.max_taps)(taps.data(), numbers.data(), static_cast<int64_t>(n),
                                             s.out[2], values + r * s.out[2], number.data());
      writer.write(r, at, number.data());
    }
  };
  parallel_for(0, s.planes * s.out[0] * s.out[1], pool_grain(s.out[2] * volume(s.kernel) / 4),
               some_rows);
}

// Windows of one row, from `first` on, that have the same part inside.
struct AlikeWindows {
  int64_t first, count;
};
std::vector<AlikeWindows> alike_windows(const Spans& spans, int64_t stride) {
  std::vector<AlikeWindows> all;
  for (int64_t o = 0; o < static_cast<int64_t>(spans.size()); ++o) {
    const Span& here = spans[static_cast<size_t>(o)];
    if (o > 0) {
      const Span& before = spans[static_cast<size_t>(o - 1)];
      if (same_part(before, here) && here.first == before.first + stride) {
        ++all.back().count;
        continue;
      }
    }
    all.push_back({o, 1});
  }
  return all;
}

// Windows whose channels lie side by side in registers, row by row.
class RowsOfChannels {
 public:
  explicit RowsOfChannels(const PoolShape& s) : s_(s) {
    for (int d = 0; d < 3; ++d) spans_[d] = regular_spans(s, d);
    alike_ = alike_windows(spans_[2], s.stride[2]);
  }

  // Calls f(windows, offset in the input's plane, number of the first element, and where the first
  // of them is in the row) for the parts of a row of windows, one after the other.
  template <class F>
  void each_part(const OutputRow& at, const F& f) const {
    const int64_t inner = s_.inner, row = s_.in[2] * inner;
    const Span &dz = span(0, at.z), &dy = span(1, at.y);
    for (const AlikeWindows& a : alike_) {
      const Span& dx = span(2, a.first);
      const WindowRow w{a.count,  s_.stride[2] * inner,   dy.count, s_.dilation[1] * row,
                        dx.count, s_.dilation[2] * inner, inner};
      for (int64_t z = 0; z < dz.count; ++z)
        f(w, ((dz.first + z * s_.dilation[0]) * s_.in[1] + dy.first) * row + dx.first * inner,
          number_of(dz.number + z, dy.number, dx.number), a.first * inner);
    }
  }
  // Numbers of the first elements inside, of a row of windows.
  template <class C>
  void first_numbers(const OutputRow& at, C* number) const {
    for (const AlikeWindows& a : alike_)
      std::fill_n(number + a.first * s_.inner, a.count * s_.inner,
                  static_cast<C>(number_of(span(0, at.z).number, span(1, at.y).number,
                                           span(2, a.first).number)));
  }

 private:
  const Span& span(int d, int64_t o) const { return spans_[d][static_cast<size_t>(o)]; }
  int64_t number_of(int64_t z, int64_t y, int64_t x) const {
    return (z * s_.kernel[1] + y) * s_.kernel[2] + x;
  }

  const PoolShape& s_;
  Spans spans_[3];
  std::vector<AlikeWindows> alike_;
};

template <class C>
void max_by_channels(const C* x, const PoolShape& s, C* values, const Array& index,
                     PackedOutput& index_memory) {
  const RowsOfChannels rows(s);
  const IndexWriter writer(s, index, index_memory);
  const PoolOps<C>& ops = pool_ops<C>();
  const int64_t width = s.out[2] * s.inner;
  const auto some_rows = [&](int64_t begin, int64_t end) {
    std::vector<C> number(static_cast<size_t>(width));
    OutputRow at(s, begin);
    for (int64_t r = begin; r < end; ++r, at.next(s)) {
      const C* plane = x + at.plane * volume(s.in) * s.inner;
      C* best = values + r * width;
      std::fill_n(best, width, -std::numeric_limits<C>::infinity());
      rows.first_numbers(at, number.data());
      rows.each_part(at, [&](const WindowRow& w, int64_t from, int64_t first, int64_t to) {
        ops.max_windows(w, plane + from, static_cast<C>(first), static_cast<C>(s.kernel[2]),
                        best + to, number.data() + to);
      });
      writer.write(r, at, number.data());
    }
  };
  parallel_for(0, s.planes * s.out[0] * s.out[1], pool_grain(width * volume(s.kernel) / 4),
               some_rows);
}

template <class C>
void max_run(const C* x, int64_t step, int64_t n, int64_t inner, C first, C* best, C* number) {
  if constexpr (std::is_integral_v<C>) {
    for (int64_t i = 0; i < n; ++i)
      for (int64_t c = 0; c < inner; ++c) {
        const C v = x[i * step + c];
        if (v <= best[c]) continue;
        best[c] = v;
        number[c] = first + i;
      }
  } else {
    pool_ops<C>().max_run(x, step, n, inner, first, best, number);
  }
}

// Any windows, one after another. Elements are numbered from the first of a run, so that numbers
// are small enough to be exact in C.
constexpr int64_t kLongestRun = 1 << 20;
template <class C>
void max_by_windows(const C* x, const PoolShape& s, const Spans (&spans)[3],
                    const std::vector<Spans>* of_plane, C* values, const Array& index,
                    PackedOutput& index_memory) {
  const int64_t inner = s.inner, plane_size = volume(s.in) * inner;
  const bool plain_index = index.dtype == kLong;
  parallel_for(
      0, s.planes * s.out[0] * s.out[1],
      pool_grain(s.out[2] * inner *
                 std::max<int64_t>(1, volume(s.in) / std::max<int64_t>(1, volume(s.out)))),
      [&](int64_t begin, int64_t end) {
        std::vector<C> best(static_cast<size_t>(inner)), number(best.size());
        std::vector<int64_t> where(best.size());
        OutputRow at(s, begin);
        for (int64_t r = begin; r < end; ++r, at.next(s)) {
          const auto span = [&](int d, int64_t o) -> const Span& {
            return of_plane ? of_plane[d][static_cast<size_t>(at.plane)][static_cast<size_t>(o)]
                            : spans[d][static_cast<size_t>(o)];
          };
          const Span &dz = span(0, at.z), &dy = span(1, at.y);
          for (int64_t o = 0; o < s.out[2]; ++o) {
            const Span& dx = span(2, o);
            if constexpr (std::is_integral_v<C>)
              std::fill(best.begin(), best.end(), std::numeric_limits<C>::min());
            else
              std::fill(best.begin(), best.end(), -std::numeric_limits<C>::infinity());
            const auto place = [&](int64_t z, int64_t y, int64_t k) {
              if (!plain_index)
                return ((dz.number + z) * s.kernel[1] + dy.number + y) * s.kernel[2] + dx.number +
                       k;
              return ((dz.first + z * s.dilation[0]) * s.in[1] + dy.first + y * s.dilation[1]) *
                         s.in[2] +
                     dx.first + k * s.dilation[2];
            };
            std::fill(where.begin(), where.end(), place(0, 0, 0));
            for (int64_t z = 0; z < dz.count; ++z)
              for (int64_t y = 0; y < dy.count; ++y) {
                const int64_t offset =
                    ((dz.first + z * s.dilation[0]) * s.in[1] + dy.first + y * s.dilation[1]) *
                        s.in[2] +
                    dx.first;
                for (int64_t k = 0; k < dx.count; k += kLongestRun) {
                  std::fill(number.begin(), number.end(), C(-1));
                  max_run<C>(x + at.plane * plane_size + (offset + k * s.dilation[2]) * inner,
                             s.dilation[2] * inner, std::min(kLongestRun, dx.count - k), inner,
                             C(0), best.data(), number.data());
                  for (size_t c = 0; c < number.size(); ++c)
                    if (number[c] >= 0) where[c] = place(z, y, k + static_cast<int64_t>(number[c]));
                }
              }
            const int64_t to = (r * s.out[2] + o) * inner;
            std::copy(best.begin(), best.end(), values + to);
            for (size_t c = 0; c < where.size(); ++c) {
              if (plain_index)
                index_memory.as<int64_t>()[to + static_cast<int64_t>(c)] = where[c];
              else
                index_memory.as<uint8_t>()[to + static_cast<int64_t>(c)] =
                    static_cast<uint8_t>(where[c]);
            }
          }
        }
      });
}

// Runs fn(x, values, index memory) on packed memory of the compute type.
template <class F>
void on_packed(const Array& x, const Array& values, const Array& index, const F& fn) {
  if (values.numel == 0) return;
  dispatch_compute(x.dtype, [&]<class C>(C) {
    const Packed in(x, dtype_v<C>);
    PackedOutput out(values, dtype_v<C>), at(index, index.dtype);
    fn(in.as<C>(), out.as<C>(), at);
    out.commit();
    at.commit();
  });
}

}  // namespace

void max_pool(const Array& x, const PoolShape& s, const Array& values, const Array& index) {
  on_packed(x, values, index, [&]<class C>(const C* in, C* out, PackedOutput& at) {
    if constexpr (std::is_floating_point_v<C>) {
      if (PhasedRows<C>::suits(s)) return max_by_taps<C>(in, s, out, index, at);
      // Numbers within a window must be exact in C.
      if (s.inner > 1 && PhasedRows<C>::numbers_fit(s))
        return max_by_channels<C>(in, s, out, index, at);
    }
    const Spans spans[3] = {regular_spans(s, 0), regular_spans(s, 1), regular_spans(s, 2)};
    max_by_windows<C>(in, s, spans, nullptr, out, index, at);
  });
}

void adaptive_max_pool(const Array& x, const PoolShape& s, const Array& values,
                       const Array& index) {
  on_packed(x, values, index, [&]<class C>(const C* in, C* out, PackedOutput& at) {
    const Spans spans[3] = {adaptive_spans(s, 0), adaptive_spans(s, 1), adaptive_spans(s, 2)};
    max_by_windows<C>(in, s, spans, nullptr, out, index, at);
  });
}

void fractional_max_pool(const Array& x, const Array& samples, const PoolShape& s,
                         const Array& values, const Array& index) {
  const Packed random(samples, kDouble);
  const int64_t n = samples.ndim > 0 ? samples.sizes[samples.ndim - 1] : 0;
  // Steps are computed in the dtype of the input, as they would be with samples of that dtype.
  const bool single = x.dtype != kDouble;
  std::vector<Spans> spans[3];
  for (int d = 0; d < 3; ++d)
    for (int64_t p = 0; p < s.planes; ++p) {
      Spans& of_plane = spans[d].emplace_back();
      const int64_t room = s.in[d] - s.kernel[d];
      // Of two samples the first is for the columns, of three the first is for the depth.
      const int64_t which = n == 2 ? 2 - d : d;
      const double sample = n == 2 && d == 0 ? 0 : random.as<double>()[p * n + which];
      const double alpha =
          s.out[d] > 1 ? static_cast<double>(room) / static_cast<double>(s.out[d] - 1) : 0;
      const auto floor_of = [&](double i) {
        const double v =
            single ? static_cast<float>(static_cast<float>(i + sample) * static_cast<float>(alpha))
                   : (i + sample) * alpha;
        // A sample that is no number in [0, 1) must not lead outside.
        return v >= 0 && v <= 0x1p52 ? static_cast<int64_t>(v) : 0;
      };
      for (int64_t o = 0; o < s.out[d]; ++o) {
        const int64_t at =
            o == s.out[d] - 1 ? room : floor_of(static_cast<double>(o)) - floor_of(0);
        of_plane.push_back({std::clamp<int64_t>(at, 0, room), s.kernel[d], 0, s.kernel[d]});
      }
    }
  on_packed(x, values, index, [&]<class C>(const C* in, C* out, PackedOutput& at) {
    const Spans none[3];
    max_by_windows<C>(in, s, none, spans, out, index, at);
  });
}

namespace {

// Calls fn(plane, element of the output within the plane, channel, element of the input within the
// plane, -1 if there is none) for planes [begin, end).
template <class F>
void each_index(const PoolShape& s, const Array& index, const Packed& memory, int64_t begin,
                int64_t end, const F& fn) {
  const int64_t in_size = volume(s.in), out_size = volume(s.out), inner = s.inner;
  const auto checked = [in_size](int64_t at) { return at >= 0 && at < in_size ? at : -1; };
  if (index.dtype == kLong) {
    for (int64_t p = begin; p < end; ++p) {
      const int64_t* at = memory.as<int64_t>() + p * out_size * inner;
      for (int64_t o = 0; o < out_size; ++o)
        for (int64_t c = 0; c < inner; ++c) fn(p, o, c, checked(at[o * inner + c]));
    }
    return;
  }
  int64_t delta[256];
  std::fill(std::begin(delta), std::end(delta), std::numeric_limits<int64_t>::min() / 2);
  const int64_t known = std::min<int64_t>(256, volume(s.kernel));
  for (int64_t k = 0; k < known; ++k) {
    const int64_t x = k % s.kernel[2], y = k / s.kernel[2] % s.kernel[1],
                  z = k / s.kernel[2] / s.kernel[1];
    delta[k] = (z * s.dilation[0] * s.in[1] + y * s.dilation[1]) * s.in[2] + x * s.dilation[2];
  }
  for (int64_t p = begin; p < end; ++p) {
    const uint8_t* at = memory.as<uint8_t>() + p * out_size * inner;
    int64_t o = 0;
    for (int64_t z = 0; z < s.out[0]; ++z)
      for (int64_t y = 0; y < s.out[1]; ++y) {
        int64_t base =
            ((z * s.stride[0] - s.padding[0]) * s.in[1] + y * s.stride[1] - s.padding[1]) *
                s.in[2] -
            s.padding[2];
        for (int64_t x = 0; x < s.out[2]; ++x, ++o, base += s.stride[2])
          for (int64_t c = 0; c < inner; ++c) fn(p, o, c, checked(base + delta[at[o * inner + c]]));
      }
  }
}

template <class C>
C sum_of(C a, C b) {
  if constexpr (std::is_integral_v<C>)
    return static_cast<C>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  else
    return a + b;
}

}  // namespace

namespace {

// pool_scatter where channels lie side by side and indices are numbers within windows.
template <class C>
void scatter_by_channels(const C* g, const uint8_t* index, const PoolShape& s, C* out) {
  const RowsOfChannels rows(s);
  const PoolOps<C>& ops = pool_ops<C>();
  const int64_t width = s.out[2] * s.inner, in_size = volume(s.in) * s.inner;
  const int64_t rows_of_plane = s.out[0] * s.out[1];
  parallel_for(0, s.planes, pool_grain(in_size), [&](int64_t begin, int64_t end) {
    std::vector<C> number(static_cast<size_t>(width));
    std::fill_n(out + begin * in_size, (end - begin) * in_size, C(0));
    OutputRow at(s, begin * rows_of_plane);
    for (int64_t r = begin * rows_of_plane; r < end * rows_of_plane; ++r, at.next(s)) {
      for (int64_t i = 0; i < width; ++i) number[i] = static_cast<C>(index[r * width + i]);
      rows.each_part(at, [&](const WindowRow& w, int64_t to, int64_t first, int64_t from) {
        ops.spread_windows(w, out + at.plane * in_size + to, static_cast<C>(first),
                           static_cast<C>(s.kernel[2]), g + r * width + from, number.data() + from);
      });
    }
  });
}

}  // namespace

void pool_scatter(const Array& g, const Array& index, const PoolShape& s, const Array& out) {
  if (out.numel == 0) return;
  dispatch_compute(g.dtype, [&]<class C>(C) {
    const Packed grad(g, dtype_v<C>), at(index, index.dtype);
    PackedOutput to(out, dtype_v<C>);
    const int64_t in_size = volume(s.in) * s.inner, out_size = volume(s.out) * s.inner;
    const C* from = grad.as<C>();
    C* target = to.as<C>();
    if constexpr (std::is_floating_point_v<C>) {
      if (s.inner > 1 && index.dtype != kLong && g.numel > 0) {
        scatter_by_channels(from, at.as<uint8_t>(), s, target);
        return to.commit();
      }
    }
    parallel_for(0, s.planes, pool_grain(in_size), [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        std::fill_n(target + p * in_size, in_size, C(0));
        each_index(s, index, at, p, p + 1, [&](int64_t, int64_t o, int64_t c, int64_t i) {
          if (i < 0) return;
          C& element = target[p * in_size + i * s.inner + c];
          element = sum_of(element, from[p * out_size + o * s.inner + c]);
        });
      }
    });
    to.commit();
  });
}

void pool_gather(const Array& x, const Array& index, const PoolShape& s, const Array& out) {
  if (out.numel == 0) return;
  dispatch_compute(x.dtype, [&]<class C>(C) {
    const Packed from(x, dtype_v<C>), at(index, index.dtype);
    PackedOutput to(out, dtype_v<C>);
    const int64_t in_size = volume(s.in) * s.inner, out_size = volume(s.out) * s.inner;
    parallel_for(0, s.planes, pool_grain(out_size), [&](int64_t begin, int64_t end) {
      each_index(s, index, at, begin, end, [&](int64_t p, int64_t o, int64_t c, int64_t i) {
        to.as<C>()[p * out_size + o * s.inner + c] =
            i < 0 ? C(0) : from.as<C>()[p * in_size + i * s.inner + c];
      });
    });
    to.commit();
  });
}

}  // namespace tandem::kernels
