#pragma once

#include "tandem/core/op.h"
#include "tandem/core/tensor.h"
#include "tandem/kernels/pool.h"

// What the pooling ops have in common.
namespace tandem::detail {

/// Where the pooled dimensions are among those of an input.
struct PooledDims {
  int64_t first, count;  // dimensions [first, first + count)
  int64_t inner;         // channels behind them

  /// Throws where the input has too few dimensions, or not `inner` channels behind.
  PooledDims(const char* op, const TensorType& x, size_t count, int64_t channels_inner);
  Dims extents(IntArrayRef sizes) const;
  /// The sizes with the pooled extents replaced.
  Dims with(IntArrayRef sizes, IntArrayRef extents) const;
};

/// Throws unless each list has `n` numbers that make sense.
void check_windows(const char* op, size_t n, IntArrayRef kernel, IntArrayRef stride,
                   IntArrayRef padding, IntArrayRef dilation);
/// The extents of what pooling gives; an input that is too small is an error.
Dims pooled_extents(const char* op, IntArrayRef input, IntArrayRef kernel, IntArrayRef stride,
                    IntArrayRef padding, IntArrayRef dilation, bool ceil_mode);

/// One, two or three numbers as depth, rows and columns.
kernels::Extents as_extents(IntArrayRef numbers, int64_t missing);
/// What kernels need to know, from the larger and the smaller array: what is pooled and the result.
kernels::PoolShape pool_shape(const Array& pooled, const Array& result, size_t count,
                              int64_t channels_inner);

/// As many numbers as there are dimensions: one stands for all, none for `missing`.
Dims expanded(const char* op, const char* what, IntArrayRef numbers, size_t n,
              IntArrayRef missing = {});
/// The input of a public function for n dimensions: channels before them, and perhaps samples.
void check_pool_input(const char* op, const Tensor& x, int64_t n);

}  // namespace tandem::detail
