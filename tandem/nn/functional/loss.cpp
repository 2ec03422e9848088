#include "tandem/nn/functional/loss.h"

#include "tandem/base/warning.h"
#include "tandem/ops/ops.h"

namespace tandem::nn::functional {
namespace {

using enumtype::reduction_get_enum;

// Broadcasting is rarely what is meant.
void warn_of_sizes(const Tensor& input, const Tensor& target) {
  if (target.sizes() == input.sizes()) return;
  TANDEM_WARN("Using a target size (", target.sizes(), ") that is different to the input size (",
              input.sizes(),
              "). This will likely lead to incorrect results due to broadcasting. Please ensure "
              "they have the same size.");
}

Tensor reduced(const Tensor& losses, const LossReduction& reduction) {
  switch (reduction_get_enum(reduction)) {
    case Reduction::Mean:
      return losses.mean();
    case Reduction::Sum:
      return losses.sum();
    default:
      return losses;
  }
}

}  // namespace

Tensor l1_loss(const Tensor& input, const Tensor& target, const L1LossFuncOptions& options) {
  return tandem::l1_loss(input, target, reduction_get_enum(options.reduction()));
}

Tensor kl_div(const Tensor& input, const Tensor& target, const KLDivFuncOptions& options) {
  if (std::holds_alternative<enumtype::kBatchMean>(options.reduction())) {
    const Tensor sum = tandem::kl_div(input, target, Reduction::Sum, options.log_target());
    return input.dim() == 0 ? sum : sum / input.size(0);
  }
  if (std::holds_alternative<enumtype::kMean>(options.reduction())) {
    TANDEM_WARN_ONCE(
        "kl_div: the reduction 'mean' divides the loss by the number of samples and by the number "
        "of classes; 'batchmean', which divides by the number of samples alone, is what the "
        "divergence is defined as.");
  }
  return tandem::kl_div(input, target, reduction_get_enum(options.reduction()),
                        options.log_target());
}

Tensor mse_loss(const Tensor& input, const Tensor& target, const MSELossFuncOptions& options) {
  warn_of_sizes(input, target);
  return tandem::mse_loss(input, target, reduction_get_enum(options.reduction()));
}

Tensor binary_cross_entropy(const Tensor& input, const Tensor& target,
                            const BinaryCrossEntropyFuncOptions& options) {
  TANDEM_CHECK_SHAPE(target.sizes() == input.sizes(), "binary_cross_entropy: Using a target size (",
                     target.sizes(), ") that is different to the input size (", input.sizes(),
                     ") is deprecated. Please ensure they have the same size.");
  return tandem::binary_cross_entropy(input, target, options.weight(),
                                      reduction_get_enum(options.reduction()));
}

Tensor binary_cross_entropy_with_logits(const Tensor& input, const Tensor& target,
                                        const BinaryCrossEntropyWithLogitsFuncOptions& options) {
  TANDEM_CHECK_SHAPE(target.sizes() == input.sizes(),
                     "binary_cross_entropy_with_logits: Target size (", target.sizes(),
                     ") must be the same as input size (", input.sizes(), ")");
  return tandem::binary_cross_entropy_with_logits(input, target, options.weight(),
                                                  options.pos_weight(),
                                                  reduction_get_enum(options.reduction()));
}

Tensor hinge_embedding_loss(const Tensor& input, const Tensor& target,
                            const HingeEmbeddingLossFuncOptions& options) {
  return tandem::hinge_embedding_loss(input, target, options.margin(),
                                      reduction_get_enum(options.reduction()));
}

Tensor multi_margin_loss(const Tensor& input, const Tensor& target,
                         const MultiMarginLossFuncOptions& options) {
  return tandem::multi_margin_loss(input, target, options.p(), options.margin(), options.weight(),
                                   reduction_get_enum(options.reduction()));
}

Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                             const CosineEmbeddingLossFuncOptions& options) {
  return tandem::cosine_embedding_loss(input1, input2, target, options.margin(),
                                       reduction_get_enum(options.reduction()));
}

Tensor smooth_l1_loss(const Tensor& input, const Tensor& target,
                      const SmoothL1LossFuncOptions& options, std::optional<double> beta) {
  warn_of_sizes(input, target);
  return tandem::smooth_l1_loss(input, target, reduction_get_enum(options.reduction()),
                                beta.value_or(options.beta()));
}

Tensor huber_loss(const Tensor& input, const Tensor& target, const HuberLossFuncOptions& options) {
  warn_of_sizes(input, target);
  return tandem::huber_loss(input, target, reduction_get_enum(options.reduction()),
                            options.delta());
}

Tensor multilabel_margin_loss(const Tensor& input, const Tensor& target,
                              const MultilabelMarginLossFuncOptions& options) {
  return tandem::multilabel_margin_loss(input, target, reduction_get_enum(options.reduction()));
}

Tensor soft_margin_loss(const Tensor& input, const Tensor& target,
                        const SoftMarginLossFuncOptions& options) {
  return tandem::soft_margin_loss(input, target, reduction_get_enum(options.reduction()));
}

Tensor multilabel_soft_margin_loss(const Tensor& input, const Tensor& target,
                                   const MultilabelSoftMarginLossFuncOptions& options) {
  TANDEM_CHECK_SHAPE(input.dim() > 0,
                     "multilabel_soft_margin_loss: expected an input with a dimension of classes");
  Tensor loss = tandem::binary_cross_entropy_with_logits(input, target, options.weight(), {},
                                                         Reduction::None);
  return reduced(loss.sum(-1) / input.size(-1), options.reduction());
}

Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                           const TripletMarginLossFuncOptions& options) {
  return tandem::triplet_margin_loss(anchor, positive, negative, options.margin(), options.p(),
                                     options.eps(), options.swap(),
                                     reduction_get_enum(options.reduction()));
}

Tensor triplet_margin_with_distance_loss(const Tensor& anchor, const Tensor& positive,
                                         const Tensor& negative,
                                         const TripletMarginWithDistanceLossFuncOptions& options) {
  const auto distance = [&](const Tensor& a, const Tensor& b) {
    return options.distance_function() ? (*options.distance_function())(a, b)
                                       : tandem::pairwise_distance(a, b);
  };
  const Tensor near = distance(anchor, positive);
  Tensor far = distance(anchor, negative);
  if (options.swap()) far = min(far, distance(positive, negative));
  return reduced((near - far + options.margin()).clamp_min(0), options.reduction());
}

Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                const Tensor& target_lengths, const CTCLossFuncOptions& options) {
  return tandem::ctc_loss(log_probs, targets, input_lengths, target_lengths, options.blank(),
                          reduction_get_enum(options.reduction()), options.zero_infinity());
}

Tensor poisson_nll_loss(const Tensor& input, const Tensor& target,
                        const PoissonNLLLossFuncOptions& options) {
  return tandem::poisson_nll_loss(input, target, options.log_input(), options.full(), options.eps(),
                                  reduction_get_enum(options.reduction()));
}

Tensor margin_ranking_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                           const MarginRankingLossFuncOptions& options) {
  TANDEM_CHECK_SHAPE(input1.dim() == input2.dim() && input1.dim() == target.dim(),
                     "margin_ranking_loss : All input tensors should have same dimension but got "
                     "sizes: input1: ",
                     input1.sizes(), ", input2: ", input2.sizes(), ", target: ", target.sizes());
  return tandem::margin_ranking_loss(input1, input2, target, options.margin(),
                                     reduction_get_enum(options.reduction()));
}

Tensor nll_loss(const Tensor& input, const Tensor& target, const NLLLossFuncOptions& options) {
  TANDEM_CHECK_SHAPE(input.dim() >= 2, "nll_loss: Expected 2 or more dimensions (got ", input.dim(),
                     ")");
  return tandem::nll_loss_nd(input, target, options.weight(),
                             reduction_get_enum(options.reduction()), options.ignore_index());
}

Tensor cross_entropy(const Tensor& input, const Tensor& target,
                     const CrossEntropyFuncOptions& options) {
  return tandem::cross_entropy_loss(input, target, options.weight(),
                                    reduction_get_enum(options.reduction()), options.ignore_index(),
                                    options.label_smoothing());
}

}  // namespace tandem::nn::functional
