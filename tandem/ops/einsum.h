#pragma once

#include <string_view>

#include "tandem/core/tensor.h"

namespace tandem {

/// Einstein's summation: einsum("bij,bjk->bik", {x, y}).
///
/// A letter names a dimension; letters that do not appear in the output are summed over; a letter
/// twice in one operand takes the diagonal; "..." stands for further dimensions, which broadcast.
/// Without
/// "->" the output has the letters that appear once, in alphabetical order, after "...".
/// `path` is accepted and says nothing: operands are multiplied from left to right.
Tensor einsum(std::string_view equation, TensorList tensors,
              OptionalIntArrayRef path = std::nullopt);

/// Sums over the given dimensions of both, or over the last `dims` of x and the first `dims` of y.
Tensor tensordot(const Tensor& x, const Tensor& y, IntArrayRef dims_x, IntArrayRef dims_y);
Tensor tensordot(const Tensor& x, const Tensor& y, int64_t dims);

}  // namespace tandem
