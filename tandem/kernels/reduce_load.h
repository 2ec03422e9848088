#pragma once

#include <cstdint>

#include "tandem/core/dtype.h"
#include "tandem/core/shape.h"
#include "tandem/kernels/map_convert.h"
#include "tandem/kernels/map_walk.h"

/// Runs of elements of any dtype, read into and written from one of the three compute types.
namespace tandem::kernels {

namespace detail {
template <class T>
struct ComputeOf {
  using type = int64_t;
};
template <>
struct ComputeOf<float> {
  using type = float;
};
template <>
struct ComputeOf<double> {
  using type = double;
};
template <>
struct ComputeOf<Half> {
  using type = float;
};
template <>
struct ComputeOf<BFloat16> {
  using type = float;
};
}  // namespace detail

/// The type in which values of T are computed: float, double or int64_t.
template <class T>
using Compute = typename detail::ComputeOf<T>::type;

/// Calls fn with a value of the compute type of `t`: three instantiations instead of ten.
template <class F>
decltype(auto) dispatch_compute(DType t, F&& fn) {
  if (t == kDouble) return fn(double());
  if (is_floating(t)) return fn(float());
  return fn(int64_t());
}

/// out[i] = p[i * stride] for i in [0, n). C is float, double or int64_t.
template <class C>
void load(DType dtype, const void* p, int64_t stride, int64_t n, C* out);

/// out[i] = p[i * stride] != 0.
void load_nonzero(DType dtype, const void* p, int64_t stride, int64_t n, int64_t* out);

/// How many of n bytes are not zero.
int64_t count_nonzero_bytes(const void* p, int64_t n);

/// p[i * stride] = in[i] for i in [0, n).
template <class C>
void store(DType dtype, void* p, int64_t stride, int64_t n, const C* in);

/// Walks an index space in row-major order and keeps N element offsets, one for each set of
/// strides.
template <int N>
class Odometer {
 public:
  /// strides[k] has as many entries as sizes. All are borrowed.
  Odometer(IntArrayRef sizes, const int64_t* const (&strides)[N]) : sizes_(sizes) {
    for (int k = 0; k < N; ++k) {
      strides_[k] = strides[k];
      offset[k] = 0;
    }
    index_.resize(sizes.size(), 0);
  }
  void seek(int64_t linear) {
    for (int k = 0; k < N; ++k) offset[k] = 0;
    for (size_t d = sizes_.size(); d-- > 0;) {
      const int64_t size = sizes_[d] > 0 ? sizes_[d] : 1;
      index_[d] = linear % size;
      linear /= size;
      for (int k = 0; k < N; ++k) offset[k] += index_[d] * strides_[k][d];
    }
  }
  void next() {
    for (size_t d = sizes_.size(); d-- > 0;) {
      if (++index_[d] < sizes_[d]) {
        for (int k = 0; k < N; ++k) offset[k] += strides_[k][d];
        return;
      }
      for (int k = 0; k < N; ++k) offset[k] -= (index_[d] - 1) * strides_[k][d];
      index_[d] = 0;
    }
  }
  int64_t index(size_t d) const { return index_[d]; }
  int64_t offset[N];

 private:
  IntArrayRef sizes_;
  const int64_t* strides_[N];
  Dims index_;
};

}  // namespace tandem::kernels
