#pragma once

#include "tandem/core/tensor.h"

namespace tandem {

// cdist and dist are in ops/reduction.h.

/// norm(x1 - x2 + eps, p) over the last dimension.
Tensor pairwise_distance(const Tensor& x1, const Tensor& x2, double p = 2, double eps = 1e-06,
                         bool keepdim = false);
/// The cosine of the angle between x1 and x2 along a dimension; eps bounds the norms.
Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, int64_t dim = 1, double eps = 1e-08);
/// The distances of all pairs of rows of x [N, M], row i with row j > i: [N (N - 1) / 2].
Tensor pdist(const Tensor& x, double p = 2);

}  // namespace tandem
