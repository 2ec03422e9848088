#include "tandem/kernels/distance.h"

#include <algorithm>
#include <cmath>

#include "tandem/kernels/distance_simd.h"
#include "tandem/kernels/flat.h"
#include "tandem/kernels/reduce_plan.h"

namespace tandem::kernels {
namespace {

Norm kind_of(double p) {
  if (p == 0) return Norm::Zero;
  if (p == 1) return Norm::One;
  if (p == 2) return Norm::Two;
  return std::isinf(p) ? Norm::Infinity : Norm::Any;
}

// Rows of x for a thread, so that it has about this many elements to look at.
int64_t rows_at_once(int64_t each) {
  return std::max<int64_t>(1, 16384 / std::max<int64_t>(1, each));
}

template <class F>
void dispatch_floats(DType t, const F& fn) {
  dispatch_compute(t, [&]<class T>(T x) {
    if constexpr (std::is_floating_point_v<T>) fn(x);
  });
}

}  // namespace

void cdist(const Array& x, const Array& y, double p, const Array& out) {
  if (out.numel == 0) return;
  const int64_t rows = x.sizes[1], others = y.sizes[1], n = x.sizes[2];
  dispatch_floats(x.dtype, [&]<class T>(T) {
    const Flat<T> a(x), b(y), to = Flat<T>::result(out);
    const auto norm = distance_ops<T>().norm[static_cast<int>(kind_of(p))];
    parallel_for(0, x.sizes[0] * rows, rows_at_once(others * n), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* other = b.get() + i / rows * others * n;
        for (int64_t j = 0; j < others; ++j)
          to.get()[i * others + j] = norm(a.get() + i * n, other + j * n, static_cast<T>(p), n);
      }
    });
    to.finish();
  });
}

void cdist_backward(const Array& grad, const Array& x, const Array& y, double p,
                    const Array& distances, const Array& grad_x) {
  if (grad_x.numel == 0) return;
  const int64_t rows = x.sizes[1], others = y.sizes[1], n = x.sizes[2];
  dispatch_floats(x.dtype, [&]<class T>(T) {
    const Flat<T> g(grad), a(x), b(y), d(distances), to = Flat<T>::result(grad_x);
    const auto add = distance_ops<T>().add_slope[static_cast<int>(kind_of(p))];
    parallel_for(0, x.sizes[0] * rows, rows_at_once(others * n), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* other = b.get() + i / rows * others * n;
        T* acc = to.get() + i * n;
        std::fill(acc, acc + n, T(0));
        for (int64_t j = 0; j < others; ++j)
          if (const T distance = d[i * others + j]; distance != 0)
            add(a.get() + i * n, other + j * n, static_cast<T>(p), g[i * others + j], distance, acc,
                n);
      }
    });
    to.finish();
  });
}

}  // namespace tandem::kernels
