#pragma once

#include <cstdint>

/// What attention does to the rows of a tile, compiled once for each instruction set. Sums have an
/// order fixed by n.
namespace tandem::kernels {

template <class T>
struct AttentionOps {
  /// The greatest element; -inf if there is none. NaN counts as nothing.
  T (*greatest)(const T* x, int64_t n);
  /// x[i] = exp(x[i] - shift); the sum of them.
  T (*exp_sum)(T* x, T shift, int64_t n);
  /// x[i] += y[i]
  void (*add)(T* x, const T* y, int64_t n);
  /// x[i] = -inf where keep[i] is 0
  void (*mask)(T* x, const uint8_t* keep, int64_t n);
  /// x[i] *= by
  void (*scale)(T* x, T by, int64_t n);
  /// out[i] = words[i] < limit ? x[i] * by : 0
  void (*drop)(const T* x, const uint32_t* words, uint64_t limit, T by, T* out, int64_t n);
  /// g[i] = p[i] * (g[i] - shift)
  void (*score_grad)(const T* p, T shift, T* g, int64_t n);
  T (*dot)(const T* x, const T* y, int64_t n);
};

template <class T>
const AttentionOps<T>& attention_ops();

}  // namespace tandem::kernels
