#pragma once

#include "tandem/core/tensor.h"

// Copies with the elements in another order, or some of them replaced.
namespace tandem {

/// x with the order of these dimensions reversed.
Tensor flip(const Tensor& x, IntArrayRef dims);
Tensor fliplr(const Tensor& x);
Tensor flipud(const Tensor& x);
/// Elements moved on by shifts; what leaves at the end comes in at the start. Without dims the
/// tensor is rolled as if it were flat.
Tensor roll(const Tensor& x, IntArrayRef shifts, IntArrayRef dims = {});
/// k quarter turns in the plane of two dimensions, from the first towards the second.
Tensor rot90(const Tensor& x, int64_t k = 1, IntArrayRef dims = {0, 1});

/// Zeros above (below) the diagonal that lies `diagonal` columns to the right of the main one.
Tensor tril(const Tensor& x, int64_t diagonal = 0);
Tensor triu(const Tensor& x, int64_t diagonal = 0);
/// A vector made a diagonal matrix; of a matrix its diagonal, copied.
Tensor diag(const Tensor& x, int64_t diagonal = 0);
Tensor diagflat(const Tensor& x, int64_t offset = 0);
Tensor diag_embed(const Tensor& x, int64_t offset = 0, int64_t dim1 = -2, int64_t dim2 = -1);

/// Copies of x with one part replaced by src: the part that the view of that name shows.
Tensor diagonal_scatter(const Tensor& x, const Tensor& src, int64_t offset = 0, int64_t dim1 = 0,
                        int64_t dim2 = 1);
Tensor select_scatter(const Tensor& x, const Tensor& src, int64_t dim, int64_t index);
Tensor slice_scatter(const Tensor& x, const Tensor& src, int64_t dim = 0,
                     std::optional<int64_t> start = std::nullopt,
                     std::optional<int64_t> end = std::nullopt, int64_t step = 1);
Tensor as_strided_scatter(const Tensor& x, const Tensor& src, IntArrayRef size, IntArrayRef stride,
                          std::optional<int64_t> offset = std::nullopt);

}  // namespace tandem
