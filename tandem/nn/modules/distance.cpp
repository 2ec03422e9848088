#include "tandem/nn/modules/distance.h"

#include <ostream>

#include "tandem/nn/modules/truth.h"

namespace tandem::nn {

CosineSimilarityImpl::CosineSimilarityImpl(const CosineSimilarityOptions& options)
    : options(options) {}
void CosineSimilarityImpl::reset() {}
void CosineSimilarityImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"CosineSimilarity"} << "(dim=" << options.dim() << ", eps=" << options.eps()
         << ")";
}
Tensor CosineSimilarityImpl::forward(const Tensor& input1, const Tensor& input2) {
  const ForwardScope scope(*this);
  return functional::cosine_similarity(input1, input2, options);
}

PairwiseDistanceImpl::PairwiseDistanceImpl(const PairwiseDistanceOptions& options)
    : options(options) {}
void PairwiseDistanceImpl::reset() {}
void PairwiseDistanceImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"PairwiseDistance"} << "(p=" << options.p() << ", eps=" << options.eps()
         << ", keepdim=" << detail::truth(options.keepdim()) << ")";
}
Tensor PairwiseDistanceImpl::forward(const Tensor& input1, const Tensor& input2) {
  const ForwardScope scope(*this);
  return functional::pairwise_distance(input1, input2, options);
}

}  // namespace tandem::nn
