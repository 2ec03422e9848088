#include <cmath>
#include <limits>

#include "tandem/kernels/norm_detail.h"
#include "tandem/kernels/reduce_simd.h"

// Note: the same bits as the composites
// Means over a row are added up in the order of reduce() and everything else element by element, so
// that a compiler that takes the ops apart gets the same result.
namespace tandem::kernels {
namespace {

template <class C>
C sum_of(const C* x, int64_t n, const CombineOps<C>& ops) {
  return by_blocks<C>(n, ops.join,
                      [&](int64_t at, int64_t count) { return ops.block(x + at, count); });
}

template <class C>
C squares_of(const C* x, int64_t n, C mean, const CombineOps<C>& ops) {
  return by_blocks<C>(n, ops.join, [&](int64_t at, int64_t count) {
    return squared_deviations(x + at, count, mean);
  });
}

int64_t grain_of(int64_t length) { return std::max<int64_t>(1, 16384 / length); }

// A row of an array in the compute type, where it lies or copied.
template <class C>
const C* whole_row(const Array& a, int64_t r, int64_t n, C* copy) {
  if (a.dtype == dtype_v<C>) return a.ptr<const C>() + r * n;
  load(a.dtype, at(a, r * n), 1, n, copy);
  return copy;
}

}  // namespace

void row_norm(const Array& x_any, int64_t n, const Array* weight, const Array* bias, double eps,
              const Array& out, const Array& mean, const Array& rstd) {
  const int64_t count = mean.numel;
  if (count == 0) return;
  const Contiguous x(x_any);
  dispatch_real(x_any.dtype, [&]<class C>(C) {
    C *to_mean = mean.ptr<C>(), *to_rstd = rstd.ptr<C>();
    if (n == 0) {
      std::fill_n(to_mean, count, std::numeric_limits<C>::quiet_NaN());
      std::fill_n(to_rstd, count, std::numeric_limits<C>::quiet_NaN());
      return;
    }
    const Numbers<C> w = weights(weight, n, C(1)), b = weights(bias, n, C(-0.0));
    const NormOps<C>& ops = norm_ops<C>();
    const CombineOps<C>& sum = combine_ops<C>(Combine::Sum);
    const bool direct = out.dtype == dtype_v<C>;
    parallel_for(0, count, grain_of(n), [&](int64_t begin, int64_t end) {
      Scratch<C> buffer(direct ? 0 : n);
      for (int64_t r = begin; r < end; ++r) {
        const C* row = whole_row<C>(x.get(), r, n, buffer.get());
        const C m = sum_of(row, n, sum) / static_cast<C>(n);
        const C var = squares_of(row, n, m, sum) / static_cast<C>(n);
        const C s = C(1) / std::sqrt(var + static_cast<C>(eps));
        C* to = direct ? out.ptr<C>() + r * n : buffer.get();
        ops.affine(row, n, m, s, w.get(), b.get(), to);
        if (!direct) store(out.dtype, at_mutable(out, r * n), 1, n, to);
        to_mean[r] = m;
        to_rstd[r] = s;
      }
    });
  });
}

void row_norm_grad(const Array& g_any, const Array& x_any, int64_t n, const Array& mean,
                   const Array& rstd, const Array* weight, const Array& out) {
  const int64_t count = mean.numel;
  if (out.numel == 0) return;
  const Contiguous g(g_any), x(x_any);
  dispatch_real(x_any.dtype, [&]<class C>(C) {
    const Numbers<C> m(mean), s(rstd);
    const Numbers<C> w = weights(weight, n, C(1));
    const NormOps<C>& ops = norm_ops<C>();
    const CombineOps<C>& sum = combine_ops<C>(Combine::Sum);
    const bool direct = out.dtype == dtype_v<C>;
    parallel_for(0, count, grain_of(n), [&](int64_t begin, int64_t end) {
      Scratch<C> memory(4 * n);
      C *h = memory.get(), *d = h + n, *product = d + n, *spare = product + n;
      for (int64_t r = begin; r < end; ++r) {
        const C* gr = whole_row<C>(g.get(), r, n, spare);
        ops.multiply(gr, w.get(), n, h);
        const C* xr = whole_row<C>(x.get(), r, n, spare);
        ops.centre(xr, h, n, m[r], s[r], d, product);
        const C a = sum_of<C>(h, n, sum) / static_cast<C>(n);
        const C b = sum_of<C>(product, n, sum) / static_cast<C>(n);
        C* to = direct ? out.ptr<C>() + r * n : spare;
        ops.combine(h, d, n, a, b, s[r], to);
        if (!direct) store(out.dtype, at_mutable(out, r * n), 1, n, to);
      }
    });
  });
}

void row_norm_sums(const Array& g_any, const Array& x_any, int64_t n, const Array& mean,
                   const Array& rstd, const Array& weight_grad, const Array& bias_grad) {
  const int64_t count = mean.numel;
  if (n == 0) return;
  const Contiguous g(g_any), x(x_any);
  dispatch_real(x_any.dtype, [&]<class C>(C) {
    C *to_w = weight_grad.ptr<C>(), *to_b = bias_grad.ptr<C>();
    if (count == 0) {
      std::fill_n(to_w, n, C(0));
      std::fill_n(to_b, n, C(0));
      return;
    }
    const NormOps<C>& ops = norm_ops<C>();
    const Numbers<C> m(mean), s(rstd);
    // At most 64 chunks of rows, whose sums are added up in order.
    const int64_t each = std::max<int64_t>(std::max<int64_t>(1, 32768 / n), ceil_div(count, 64));
    const int64_t chunks = ceil_div(count, each);
    Scratch<double> partial(chunks * 2 * n);
    parallel_for(0, chunks, 1, [&](int64_t begin, int64_t end) {
      Scratch<C> sums(2 * n), buffer(2 * n);
      for (int64_t chunk = begin; chunk < end; ++chunk) {
        double *pw = &partial[chunk * 2 * n], *pb = pw + n;
        std::fill_n(pw, 2 * n, 0.0);
        const int64_t last = std::min(count, (chunk + 1) * each);
        // 64 rows are added up in C.
        for (int64_t first = chunk * each; first < last; first += 64) {
          std::fill_n(sums.get(), 2 * n, C(0));
          for (int64_t r = first; r < std::min(last, first + 64); ++r) {
            const C* gr = whole_row<C>(g.get(), r, n, buffer.get());
            const C* xr = whole_row<C>(x.get(), r, n, buffer.get() + n);
            ops.param_row(gr, xr, n, m[r], s[r], sums.get(), sums.get() + n);
          }
          for (int64_t i = 0; i < n; ++i) {
            pw[i] += static_cast<double>(sums[i]);
            pb[i] += static_cast<double>(sums[n + i]);
          }
        }
      }
    });
    parallel_for(0, n, 4096, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        double w = 0, b = 0;
        for (int64_t chunk = 0; chunk < chunks; ++chunk) {
          w += partial[chunk * 2 * n + i];
          b += partial[(chunk * 2 + 1) * n + i];
        }
        to_w[i] = static_cast<C>(w);
        to_b[i] = static_cast<C>(b);
      }
    });
  });
}

}  // namespace tandem::kernels
