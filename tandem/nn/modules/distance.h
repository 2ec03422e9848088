#pragma once

#include "tandem/nn/cloneable.h"
#include "tandem/nn/functional/distance.h"
#include "tandem/nn/options/distance.h"
#include "tandem/nn/pimpl.h"

namespace tandem::nn {

/// The cosine of the angle between two tensors along a dimension.
class CosineSimilarityImpl : public Cloneable<CosineSimilarityImpl> {
 public:
  explicit CosineSimilarityImpl(const CosineSimilarityOptions& options = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input1, const Tensor& input2);

  CosineSimilarityOptions options;
};
TANDEM_NN_MODULE(CosineSimilarity);

/// The norm of the difference of two tensors over the last dimension.
class PairwiseDistanceImpl : public Cloneable<PairwiseDistanceImpl> {
 public:
  explicit PairwiseDistanceImpl(const PairwiseDistanceOptions& options = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input1, const Tensor& input2);

  PairwiseDistanceOptions options;
};
TANDEM_NN_MODULE(PairwiseDistance);

}  // namespace tandem::nn
