#pragma once

#include <vector>

#include "tandem/nn/cloneable.h"
#include "tandem/nn/modules/container/modulelist.h"
#include "tandem/nn/modules/linear.h"
#include "tandem/nn/options/adaptive.h"

namespace tandem::nn {

struct ASMoutput {
  ASMoutput(Tensor output_, double loss_) : output(std::move(output_)), loss(loss_) {}
  /// The log probability of each target; its negative mean is the loss to differentiate.
  Tensor output;
  /// The value of that mean.
  double loss;
};

/// Softmax over many classes at less than full cost: rare classes share clusters, and which class
/// of a cluster it is is found with fewer features. Classes are sorted by falling frequency.
class AdaptiveLogSoftmaxWithLossImpl : public Cloneable<AdaptiveLogSoftmaxWithLossImpl> {
 public:
  AdaptiveLogSoftmaxWithLossImpl(int64_t in_features, int64_t n_classes,
                                 std::vector<int64_t> cutoffs)
      : AdaptiveLogSoftmaxWithLossImpl(
            AdaptiveLogSoftmaxWithLossOptions(in_features, n_classes, std::move(cutoffs))) {}
  explicit AdaptiveLogSoftmaxWithLossImpl(AdaptiveLogSoftmaxWithLossOptions options_);

  ASMoutput forward(const Tensor& input, const Tensor& target);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;

  /// The log probabilities of all classes, given what the head makes of the input.
  Tensor _get_full_log_prob(const Tensor& input, const Tensor& head_output);
  /// The log probabilities of all classes: [N, n_classes].
  Tensor log_prob(const Tensor& input);
  /// The most probable class of each row.
  Tensor predict(const Tensor& input);

  AdaptiveLogSoftmaxWithLossOptions options;
  std::vector<int64_t> cutoffs;  // the given ones and n_classes
  int64_t shortlist_size = 0, n_clusters = 0, head_size = 0;
  Linear head = nullptr;
  ModuleList tail;
};
TANDEM_NN_MODULE(AdaptiveLogSoftmaxWithLoss);

}  // namespace tandem::nn
