#pragma once

#include "tandem/core/tensor.h"
#include "tandem/nn/options/distance.h"

namespace tandem::nn::functional {

/// The cosine of the angle between x1 and x2 along a dimension.
Tensor cosine_similarity(const Tensor& x1, const Tensor& x2,
                         const CosineSimilarityFuncOptions& options = {});
/// The norm of x1 - x2 over the last dimension.
Tensor pairwise_distance(const Tensor& x1, const Tensor& x2,
                         const PairwiseDistanceFuncOptions& options = {});
/// The distances of all pairs of rows.
Tensor pdist(const Tensor& input, double p = 2.0);

}  // namespace tandem::nn::functional
