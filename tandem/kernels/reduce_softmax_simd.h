#pragma once

#include <cstdint>

/// The element loops of softmax, compiled once for each instruction set. Each gives what the
/// pointwise functions it is made of give, one after another.
namespace tandem::kernels {

/// T is float or double. `out` may be `x`.
template <class T>
struct SoftmaxOps {
  /// out[i] = exp(x[i] - shift)
  void (*exp_shifted)(const T* x, T shift, T* out, int64_t n);
  /// out[i] = x[i] / by
  void (*divide)(const T* x, T by, T* out, int64_t n);
  /// out[i] = (x[i] - shift) - by
  void (*subtract)(const T* x, T shift, T by, T* out, int64_t n);
  /// The logarithm of the map kernels.
  T (*log)(T x);
};

template <class T>
const SoftmaxOps<T>& softmax_ops();

}  // namespace tandem::kernels
