#include "tandem/base/parallel.h"
#include "tandem/kernels/packed.h"
#include "tandem/kernels/pool_windows.h"
#include "tandem/kernels/reduce_load.h"

namespace tandem::kernels {
namespace {

// What the sums of windows are divided by. An empty window has the sum 0; it is not divided by 0.
template <class C>
class Divisors {
 public:
  Divisors(const PoolDivisor& d, const Spans (&spans)[3]) : d_(d), spans_(spans) {
    for (const Span& dx : spans[2]) columns_.push_back(static_cast<C>(elements(dx)));
  }
  C of(int64_t z, int64_t y, int64_t x) const {
    if (d_.fixed) return static_cast<C>(*d_.fixed);
    return outer(z, y) * columns_[static_cast<size_t>(x)];
  }
  // Those of a row of windows; `known` is what `out` was filled for last.
  void row(int64_t z, int64_t y, std::vector<C>& out, C& known) const {
    const C rows = d_.fixed ? static_cast<C>(*d_.fixed) : outer(z, y);
    if (rows == known) return;
    known = rows;
    for (size_t x = 0; x < out.size(); ++x) out[x] = d_.fixed ? rows : rows * columns_[x];
  }

 private:
  int64_t elements(const Span& s) const {
    return std::max<int64_t>(1, d_.count_padding ? s.padded : s.count);
  }
  C outer(int64_t z, int64_t y) const {
    return static_cast<C>(elements(spans_[0][static_cast<size_t>(z)]) *
                          elements(spans_[1][static_cast<size_t>(y)]));
  }

  const PoolDivisor& d_;
  const Spans (&spans_)[3];
  std::vector<C> columns_;
};

template <class C>
void average_by_taps(const C* x, const PoolShape& s, const PoolDivisor& divisor, C* out) {
  const PhasedRows<C> rows(s, C(0));
  const Spans spans[3] = {regular_spans(s, 0), regular_spans(s, 1), regular_spans(s, 2)};
  const PoolOps<C>& ops = pool_ops<C>();
  const bool pairs = PhasedRows<C>::pairs(s);
  const Divisors<C> divisors(divisor, spans);
  parallel_for(0, s.planes * s.out[0] * s.out[1], pool_grain(s.out[2] * volume(s.kernel) / 4),
               [&](int64_t begin, int64_t end) {
                 RowCache<C> cache(rows, s);
                 std::vector<const C*> taps(static_cast<size_t>(volume(s.kernel)));
                 std::vector<C> by(static_cast<size_t>(s.out[2]));
                 C known = 0;
                 OutputRow at(s, begin);
                 for (int64_t r = begin; r < end; ++r, at.next(s)) {
                   const Span &dz = spans[0][static_cast<size_t>(at.z)],
                              &dy = spans[1][static_cast<size_t>(at.y)];
                   int64_t n = 0;
                   for (int64_t z = 0; z < dz.count; ++z)
                     for (int64_t y = 0; y < dy.count; ++y) {
                       if (pairs) {
                         const int64_t row = (at.plane * s.in[0] + dz.first + z) * s.in[1];
                         taps[static_cast<size_t>(n++)] = x + (row + dy.first + y) * s.in[2];
                         continue;
                       }
                       const C* row = cache.row(x, at.plane, dz.first + z, dy.first + y);
                       for (int64_t k = 0; k < s.kernel[2]; ++k)
                         taps[static_cast<size_t>(n++)] = row + rows.tap(k);
                     }
                   divisors.row(at.z, at.y, by, known);
                   (pairs ? ops.average_pairs : ops.average_taps)(taps.data(), n, s.out[2],
                                                                  by.data(), out + r * s.out[2]);
                 }
               });
}

template <class C>
void average_by_windows(const C* x, const PoolShape& s, const Spans (&spans)[3],
                        const PoolDivisor& divisor, C* out) {
  const int64_t inner = s.inner, plane_size = volume(s.in) * inner;
  const Divisors<C> divisors(divisor, spans);
  const int64_t each = std::max<int64_t>(1, volume(s.in) / std::max<int64_t>(1, volume(s.out)));
  parallel_for(
      0, s.planes * s.out[0] * s.out[1], pool_grain(s.out[2] * inner * each / 4),
      [&](int64_t begin, int64_t end) {
        OutputRow at(s, begin);
        for (int64_t r = begin; r < end; ++r, at.next(s)) {
          const Span &dz = spans[0][static_cast<size_t>(at.z)],
                     &dy = spans[1][static_cast<size_t>(at.y)];
          const C* plane = x + at.plane * plane_size;
          for (int64_t o = 0; o < s.out[2]; ++o) {
            const Span& dx = spans[2][static_cast<size_t>(o)];
            C* sum = out + (r * s.out[2] + o) * inner;
            std::fill_n(sum, inner, C(0));
            // Whole rows lie side by side.
            const bool whole = dx.count == s.in[2];
            for (int64_t z = 0; z < dz.count; ++z)
              for (int64_t y = 0; y < dy.count; y += whole ? dy.count : 1)
                pool_ops<C>().add_run(
                    plane +
                        (((dz.first + z) * s.in[1] + dy.first + y) * s.in[2] + dx.first) * inner,
                    inner, whole ? dy.count * dx.count : dx.count, inner, sum);
            const C by = divisors.of(at.z, at.y, o);
            for (int64_t c = 0; c < inner; ++c) sum[c] /= by;
          }
        }
      });
}

template <class C>
void spread_by_taps(const C* g, const PoolShape& s, const PoolDivisor& divisor, C* out) {
  const PhasedRows<C> rows(s, C(0));
  const Spans spans[3] = {regular_spans(s, 0), regular_spans(s, 1), regular_spans(s, 2)};
  const Divisors<C> divisors(divisor, spans);
  const int64_t in_rows = s.in[0] * s.in[1], in_size = volume(s.in);
  parallel_for(
      0, s.planes, pool_grain(volume(s.out) * volume(s.kernel) / 4),
      [&](int64_t begin, int64_t end) {
        std::vector<C> phased(rows.direct() ? 0 : static_cast<size_t>(in_rows * rows.length()));
        std::vector<C*> taps(static_cast<size_t>(volume(s.kernel)));
        std::vector<C> by(static_cast<size_t>(s.out[2]));
        C known = 0;
        for (int64_t p = begin; p < end; ++p) {
          C* target = rows.direct() ? out + p * in_size : phased.data();
          std::fill_n(target, in_rows * rows.length(), C(0));
          const int64_t end_row = (p + 1) * s.out[0] * s.out[1];
          OutputRow at{s, p * s.out[0] * s.out[1]};
          for (int64_t r = p * s.out[0] * s.out[1]; r < end_row; ++r, at.next(s)) {
            const Span &dz = spans[0][static_cast<size_t>(at.z)],
                       &dy = spans[1][static_cast<size_t>(at.y)];
            int64_t n = 0;
            for (int64_t z = 0; z < dz.count; ++z)
              for (int64_t y = 0; y < dy.count; ++y) {
                C* row = target + ((dz.first + z) * s.in[1] + dy.first + y) * rows.length();
                // Backwards, so that each element meets the windows from left to right.
                for (int64_t k = s.kernel[2]; k-- > 0;)
                  taps[static_cast<size_t>(n++)] = row + rows.tap(k);
              }
            divisors.row(at.z, at.y, by, known);
            pool_ops<C>().spread_taps(taps.data(), n, s.out[2], g + r * s.out[2], by.data());
          }
          if (rows.direct()) continue;
          for (int64_t r = 0; r < in_rows; ++r)
            rows.restore(phased.data() + r * rows.length(), out + p * in_size + r * s.in[2]);
        }
      });
}

template <class C>
void spread_by_windows(const C* g, const PoolShape& s, const Spans (&spans)[3],
                       const PoolDivisor& divisor, C* out) {
  const int64_t inner = s.inner, plane_size = volume(s.in) * inner;
  const Divisors<C> divisors(divisor, spans);
  parallel_for(0, s.planes, pool_grain(plane_size), [&](int64_t begin, int64_t end) {
    std::vector<C> share(static_cast<size_t>(inner));
    std::fill(out + begin * plane_size, out + end * plane_size, C(0));
    const int64_t first_row = begin * s.out[0] * s.out[1], end_row = end * s.out[0] * s.out[1];
    OutputRow at(s, first_row);
    for (int64_t r = first_row; r < end_row; ++r, at.next(s)) {
      const Span &dz = spans[0][static_cast<size_t>(at.z)],
                 &dy = spans[1][static_cast<size_t>(at.y)];
      C* plane = out + at.plane * plane_size;
      for (int64_t o = 0; o < s.out[2]; ++o) {
        const Span& dx = spans[2][static_cast<size_t>(o)];
        const C by = divisors.of(at.z, at.y, o);
        for (int64_t c = 0; c < inner; ++c)
          share[static_cast<size_t>(c)] = g[(r * s.out[2] + o) * inner + c] / by;
        const bool whole = dx.count == s.in[2];
        for (int64_t z = 0; z < dz.count; ++z)
          for (int64_t y = 0; y < dy.count; y += whole ? dy.count : 1)
            pool_ops<C>().spread_run(
                plane + (((dz.first + z) * s.in[1] + dy.first + y) * s.in[2] + dx.first) * inner,
                inner, whole ? dy.count * dx.count : dx.count, inner, share.data());
      }
    }
  });
}

// Runs fn(in, out) on packed memory of the compute type.
template <class F>
void on_packed(const Array& in, const Array& out, const F& fn) {
  if (out.numel == 0) return;
  const auto run = [&]<class C>(C) {
    const Packed from(in, dtype_v<C>);
    PackedOutput to(out, dtype_v<C>);
    fn(from.as<C>(), to.as<C>());
    to.commit();
  };
  if (in.dtype == kDouble)
    run(double());
  else
    run(float());
}

}  // namespace

void avg_pool(const Array& x, const PoolShape& s, const PoolDivisor& divisor, const Array& out) {
  on_packed(x, out, [&]<class C>(const C* in, C* to) {
    if (PhasedRows<C>::suits(s)) return average_by_taps<C>(in, s, divisor, to);
    const Spans spans[3] = {regular_spans(s, 0), regular_spans(s, 1), regular_spans(s, 2)};
    average_by_windows<C>(in, s, spans, divisor, to);
  });
}

void avg_pool_transposed(const Array& g, const PoolShape& s, const PoolDivisor& divisor,
                         const Array& out) {
  on_packed(g, out, [&]<class C>(const C* in, C* to) {
    if (PhasedRows<C>::suits(s)) return spread_by_taps<C>(in, s, divisor, to);
    const Spans spans[3] = {regular_spans(s, 0), regular_spans(s, 1), regular_spans(s, 2)};
    spread_by_windows<C>(in, s, spans, divisor, to);
  });
}

namespace {

// Adaptive windows that are all alike as the regular ones that they are.
std::optional<PoolShape> regular(const PoolShape& s) {
  PoolShape r = s;
  for (size_t d = 0; d < 3; ++d) {
    if (s.out[d] == 0 || s.in[d] % s.out[d] != 0) return std::nullopt;
    r.kernel[d] = r.stride[d] = s.in[d] / s.out[d];
  }
  return r;
}

}  // namespace

void adaptive_avg_pool(const Array& x, const PoolShape& s, const Array& out) {
  const std::optional<PoolShape> alike = regular(s);
  if (alike && (s.inner > 1 || volume(s.out) > 1)) return avg_pool(x, *alike, {}, out);
  on_packed(x, out, [&]<class C>(const C* in, C* to) {
    if (alike) {
      const int64_t n = volume(s.in);
      parallel_for(0, s.planes, pool_grain(n), [&](int64_t begin, int64_t end) {
        pool_ops<C>().average_planes(in + begin * n, end - begin, n, to + begin);
      });
      return;
    }
    const Spans spans[3] = {adaptive_spans(s, 0), adaptive_spans(s, 1), adaptive_spans(s, 2)};
    average_by_windows<C>(in, s, spans, {}, to);
  });
}

void adaptive_avg_pool_transposed(const Array& g, const PoolShape& s, const Array& out) {
  if (const std::optional<PoolShape> alike = regular(s))
    return avg_pool_transposed(g, *alike, {}, out);
  on_packed(g, out, [&]<class C>(const C* in, C* to) {
    const Spans spans[3] = {adaptive_spans(s, 0), adaptive_spans(s, 1), adaptive_spans(s, 2)};
    spread_by_windows<C>(in, s, spans, {}, to);
  });
}

}  // namespace tandem::kernels
