#pragma once

#include <cstdint>

/// The loops of cross entropy, compiled once for each instruction set. Sums are dealt out to 128
/// bytes of strands and folded in halves, so that every instruction set gives the same bits.
namespace tandem::kernels {

/// T is float or double.
template <class T>
struct CrossEntropyOps {
  /// The greatest of x; nan may be passed over. -inf if there are none.
  T (*top)(const T* x, int64_t n);
  /// The sum of exp(x[i] - shift).
  T (*sum_exp)(const T* x, T shift, int64_t n);
  /// out[i] = exp(x[i] - shift) * scale - less
  void (*slope)(const T* x, T shift, T scale, T less, T* out, int64_t n);
  /// The logarithm of the map kernels.
  T (*log)(T x);
  // The same for many rows side by side: element i belongs to row i.
  void (*tops)(T* top, const T* x, int64_t n);                     // top[i] = max(x[i], top[i])
  void (*add_exp)(T* sum, const T* x, const T* shift, int64_t n);  // sum[i] += exp(x[i] - shift[i])
  void (*logs)(T* x, int64_t n);                                   // x[i] = log(x[i])
  // out[i] = exp(x[i] - shift[i]) * scale[i] - less[i] * share
  void (*slopes)(const T* x, const T* shift, const T* scale, const T* less, T share, T* out,
                 int64_t n);
  /// Binary cross entropy (binary_cross_entropy.h); false iff some x is no probability.
  bool (*binary)(const T* x, const T* target, T* out, int64_t n);
};

template <class T>
const CrossEntropyOps<T>& cross_entropy_ops();

}  // namespace tandem::kernels
