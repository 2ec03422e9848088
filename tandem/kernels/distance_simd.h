#pragma once

#include <cstdint>

/// The loops over the elements of two points, compiled once for each instruction set. Sums are
/// dealt out to 128 bytes of strands and folded in halves, as in kernels/reduce_simd.h.
namespace tandem::kernels {

enum class Norm : uint8_t { Zero, One, Two, Infinity, Any };

/// T is float or double.
template <class T>
struct DistanceOps {
  /// The p-norm of a - b.
  T (*norm[5])(const T* a, const T* b, T p, int64_t n);
  /// acc += the gradient of the norm by a, times g. The distance is not 0; p is not 0.
  void (*add_slope[5])(const T* a, const T* b, T p, T g, T distance, T* acc, int64_t n);
};

template <class T>
const DistanceOps<T>& distance_ops();

}  // namespace tandem::kernels
