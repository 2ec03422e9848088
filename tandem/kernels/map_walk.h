#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "tandem/core/shape.h"

// How map() and copy() go through operands of any layout.

namespace tandem::kernels {

inline constexpr int kMaxWalkOperands = 4;

/// The iteration space of an output and its broadcast inputs, in the fewest dimensions.
///
/// Dimensions are sorted so that the output's smallest stride is the last one, and neighbours that
/// all operands walk through without a jump are merged. Operand 0 is the output.
struct Walk {
  int operands = 0;
  int ndim = 0;  // at least 1
  int64_t numel = 0;
  Dims sizes;
  Dims strides[kMaxWalkOperands];

  Walk(const Array& out, const Array* in, int n_in);

  int64_t inner() const { return sizes[ndim - 1]; }
  int64_t inner_stride(int k) const { return strides[k][ndim - 1]; }
  /// True iff operand k lies in the order of the walk without gaps.
  bool linear(int k) const { return ndim == 1 && inner_stride(k) == 1; }

  /// Calls fn(offsets, n) for each piece of a row within elements [begin, end) of the walk;
  /// offsets[k] is where operand k's piece starts, in elements.
  template <class F>
  void rows(int64_t begin, int64_t end, const F& fn) const {
    Dims index(ndim);
    int64_t offset[kMaxWalkOperands] = {};
    int64_t rest = begin;
    for (int d = ndim - 1; d >= 0; --d) {
      index[d] = rest % sizes[d];
      rest /= sizes[d];
      for (int k = 0; k < operands; ++k) offset[k] += index[d] * strides[k][d];
    }
    const int last = ndim - 1;
    while (begin < end) {
      const int64_t n = std::min(sizes[last] - index[last], end - begin);
      fn(static_cast<const int64_t*>(offset), n);
      begin += n;
      index[last] += n;
      for (int k = 0; k < operands; ++k) offset[k] += n * strides[k][last];
      for (int d = last; d > 0 && index[d] == sizes[d]; --d) {
        index[d] = 0;
        ++index[d - 1];
        for (int k = 0; k < operands; ++k)
          offset[k] += strides[k][d - 1] - sizes[d] * strides[k][d];
      }
    }
  }
};

/// dst[i] = src[i * stride] and dst[i * stride] = src[i] for n elements of `size` bytes.
void gather(size_t size, const void* src, int64_t stride, void* dst, int64_t n);
void scatter(size_t size, const void* src, void* dst, int64_t stride, int64_t n);

inline const char* at(const Array& a, int64_t offset) {
  return static_cast<const char*>(a.data) + offset * static_cast<int64_t>(size_of(a.dtype));
}
inline char* at_mutable(const Array& a, int64_t offset) {
  return static_cast<char*>(a.data) + offset * static_cast<int64_t>(size_of(a.dtype));
}

}  // namespace tandem::kernels
