#include "tandem/kernels/smooth_l1.h"

#include <cmath>

#include "tandem/kernels/flat.h"
#include "tandem/kernels/reduce_plan.h"

namespace tandem::kernels {
namespace {

constexpr int64_t kGrain = 16384;

template <class F>
void dispatch_floats(DType t, const F& fn) {
  dispatch_compute(t, [&]<class T>(T x) {
    if constexpr (std::is_floating_point_v<T>) fn(x);
  });
}

}  // namespace

void smooth_l1(const Array& x, double bound, double scale, const Array& out) {
  dispatch_floats(x.dtype, [&]<class T>(T) {
    const Flat<T> in(x), to = Flat<T>::result(out);
    const T b = static_cast<T>(bound), f = static_cast<T>(scale);
    parallel_for(0, x.numel, kGrain, [&](int64_t begin, int64_t end) {
      const T* p = in.get();
      T* q = to.get();
      for (int64_t i = begin; i < end; ++i) {
        const T z = std::abs(p[i]), c = b < z ? b : z;
        q[i] = c * (z - c * T(0.5)) * f;
      }
    });
    to.finish();
  });
}

void smooth_l1_backward(const Array& grad, const Array& x, double bound, double scale,
                        const Array& out) {
  // One gradient for all, as a mean or a sum leaves it, need not be repeated first.
  bool one = grad.numel > 0;
  for (int d = 0; d < grad.ndim; ++d) one &= grad.sizes[d] == 1 || grad.strides[d] == 0;
  dispatch_floats(x.dtype, [&]<class T>(T) {
    const Flat<T> in(x), to = Flat<T>::result(out);
    const T b = static_cast<T>(bound), f = static_cast<T>(scale);
    const auto slope = [&](T v) { return (v < -b ? -b : b < v ? b : v) * f; };
    if (one) {
      T g;
      load(grad.dtype, grad.data, 1, 1, &g);
      parallel_for(0, x.numel, kGrain, [&](int64_t begin, int64_t end) {
        const T* p = in.get();
        T* q = to.get();
        for (int64_t i = begin; i < end; ++i) q[i] = g * slope(p[i]);
      });
    } else {
      const Flat<T> gs(grad);
      parallel_for(0, x.numel, kGrain, [&](int64_t begin, int64_t end) {
        const T *p = in.get(), *g = gs.get();
        T* q = to.get();
        for (int64_t i = begin; i < end; ++i) q[i] = g[i] * slope(p[i]);
      });
    }
    to.finish();
  });
}

}  // namespace tandem::kernels
