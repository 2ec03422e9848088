#include "tandem/nn/functional/distance.h"

#include "tandem/ops/distance.h"

namespace tandem::nn::functional {

Tensor cosine_similarity(const Tensor& x1, const Tensor& x2,
                         const CosineSimilarityFuncOptions& options) {
  return tandem::cosine_similarity(x1, x2, options.dim(), options.eps());
}

Tensor pairwise_distance(const Tensor& x1, const Tensor& x2,
                         const PairwiseDistanceFuncOptions& options) {
  return tandem::pairwise_distance(x1, x2, options.p(), options.eps(), options.keepdim());
}

Tensor pdist(const Tensor& input, double p) { return tandem::pdist(input, p); }

}  // namespace tandem::nn::functional
