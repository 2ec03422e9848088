#pragma once

#include <string_view>

#include "tandem/core/tensor.h"

// Reading and writing at places that index tensors or masks name; see also x.index({...}).
namespace tandem {

/// result[i][j] = x[index[i][j]][j] for dim 0, x[i][index[i][j]] for dim 1, and so on.
Tensor gather(const Tensor& x, int64_t dim, const Tensor& index, bool sparse_grad = false);
Tensor take_along_dim(const Tensor& x, const Tensor& indices,
                      std::optional<int64_t> dim = std::nullopt);
/// A copy of x with src written where gather would have read. reduce: "add" or "multiply".
Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src);
Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, const Scalar& value);
Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src,
               std::string_view reduce);
Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, const Scalar& value,
               std::string_view reduce);
Tensor scatter_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src);
/// reduce: "sum", "prod", "mean", "amax" or "amin"; x's own values count if include_self.
Tensor scatter_reduce(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src,
                      std::string_view reduce, bool include_self = true);

/// The slices of a dimension that a 1-d index names, read, added to, replaced, filled.
Tensor index_select(const Tensor& x, int64_t dim, const Tensor& index);
Tensor index_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src,
                 const Scalar& alpha = 1);
/// reduce: "prod", "mean", "amax" or "amin"; x's own values count if include_self.
Tensor index_reduce(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src,
                    std::string_view reduce, bool include_self = true);
Tensor index_copy(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src);
Tensor index_fill(const Tensor& x, int64_t dim, const Tensor& index, const Scalar& value);
Tensor index_fill(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& value);

/// Elements by their number in row-major order.
Tensor take(const Tensor& x, const Tensor& index);
Tensor put(const Tensor& x, const Tensor& index, const Tensor& src, bool accumulate = false);

Tensor masked_fill(const Tensor& x, const Tensor& mask, const Scalar& value);
Tensor masked_fill(const Tensor& x, const Tensor& mask, const Tensor& value);
Tensor masked_select(const Tensor& x, const Tensor& mask);
Tensor masked_scatter(const Tensor& x, const Tensor& mask, const Tensor& src);

/// The indices of the elements that are not 0, one row each; nonzero_numpy gives the columns.
Tensor nonzero(const Tensor& x);
Tensor argwhere(const Tensor& x);
std::vector<Tensor> nonzero_numpy(const Tensor& x);
std::vector<Tensor> where(const Tensor& condition);

}  // namespace tandem
