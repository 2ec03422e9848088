#pragma once

#include "tandem/core/apply.h"

// What the files of the view ops share.
namespace tandem::detail {

/// The gradient of a view that shows no element twice: zeros, with the gradient
/// in the place viewed.
Grads scatter_vjp(const VjpArgs& a);

/// Replaces a -1 among the wanted sizes by what the number of elements leaves
/// over.
Dims complete_sizes(const char* op, IntArrayRef wanted, int64_t numel);

/// Strides with which the same memory has another shape; false if no strides do
/// that.
bool restride(IntArrayRef sizes, IntArrayRef strides, IntArrayRef wanted, Dims& result);

/// The same values in memory with the given strides; empty strides stand for
/// row-major order. Views that were possible on a tensor with these strides are
/// possible on the result.
Tensor laid_out(const Tensor& t, IntArrayRef strides);

}  // namespace tandem::detail
