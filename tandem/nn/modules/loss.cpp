#include "tandem/nn/modules/loss.h"

#include <ostream>

#include "tandem/nn/modules/truth.h"
#include "tandem/ops/print.h"

namespace tandem::nn {

namespace F = functional;

L1LossImpl::L1LossImpl(const L1LossOptions& options) : options(options) { L1LossImpl::reset(); }
void L1LossImpl::reset() {}
void L1LossImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"L1Loss"} << "()";
}
Tensor L1LossImpl::forward(const Tensor& input, const Tensor& target) {
  const ForwardScope scope(*this);
  return F::l1_loss(input, target, options);
}

KLDivLossImpl::KLDivLossImpl(const KLDivLossOptions& options) : options(options) {
  KLDivLossImpl::reset();
}
void KLDivLossImpl::reset() {}
void KLDivLossImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"KLDivLoss"} << "()";
}
Tensor KLDivLossImpl::forward(const Tensor& input, const Tensor& target) {
  const ForwardScope scope(*this);
  return F::kl_div(input, target, options);
}

MSELossImpl::MSELossImpl(const MSELossOptions& options) : options(options) { MSELossImpl::reset(); }
void MSELossImpl::reset() {}
void MSELossImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"MSELoss"} << "()";
}
Tensor MSELossImpl::forward(const Tensor& input, const Tensor& target) {
  const ForwardScope scope(*this);
  return F::mse_loss(input, target, options);
}

BCELossImpl::BCELossImpl(const BCELossOptions& options) : options(options) { BCELossImpl::reset(); }
void BCELossImpl::reset() { weight = register_buffer("weight", options.weight()); }
void BCELossImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"BCELoss"} << "()";
}
Tensor BCELossImpl::forward(const Tensor& input, const Tensor& target) {
  const ForwardScope scope(*this);
  BCELossOptions o = options;
  o.weight(weight);
  return F::binary_cross_entropy(input, target, o);
}

BCEWithLogitsLossImpl::BCEWithLogitsLossImpl(const BCEWithLogitsLossOptions& options)
    : options(options) {
  BCEWithLogitsLossImpl::reset();
}
void BCEWithLogitsLossImpl::reset() {
  weight = register_buffer("weight", options.weight());
  pos_weight = register_buffer("pos_weight", options.pos_weight());
}
void BCEWithLogitsLossImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"BCEWithLogitsLoss"} << "()";
}
Tensor BCEWithLogitsLossImpl::forward(const Tensor& input, const Tensor& target) {
  const ForwardScope scope(*this);
  BCEWithLogitsLossOptions o = options;
  o.weight(weight);
  o.pos_weight(pos_weight);
  return F::binary_cross_entropy_with_logits(input, target, o);
}

HingeEmbeddingLossImpl::HingeEmbeddingLossImpl(const HingeEmbeddingLossOptions& options)
    : options(options) {
  HingeEmbeddingLossImpl::reset();
}
void HingeEmbeddingLossImpl::reset() {}
void HingeEmbeddingLossImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"HingeEmbeddingLoss"} << "(margin=" << options.margin() << ")";
}
Tensor HingeEmbeddingLossImpl::forward(const Tensor& input, const Tensor& target) {
  const ForwardScope scope(*this);
  return F::hinge_embedding_loss(input, target, options);
}

MultiMarginLossImpl::MultiMarginLossImpl(const MultiMarginLossOptions& options) : options(options) {
  MultiMarginLossImpl::reset();
}
void MultiMarginLossImpl::reset() { register_buffer("weight", options.weight()); }
void MultiMarginLossImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"MultiMarginLoss"} << "(p=" << options.p()
         << ", margin=" << options.margin() << ", weight=" << options.weight()
         << ", reduction=" << enumtype::get_enum_name(options.reduction()) << ")";
}
Tensor MultiMarginLossImpl::forward(const Tensor& input, const Tensor& target) {
  const ForwardScope scope(*this);
  return F::multi_margin_loss(input, target, options);
}

CosineEmbeddingLossImpl::CosineEmbeddingLossImpl(const CosineEmbeddingLossOptions& options)
    : options(options) {
  CosineEmbeddingLossImpl::reset();
}
void CosineEmbeddingLossImpl::reset() {}
void CosineEmbeddingLossImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"CosineEmbeddingLoss"} << "(margin=" << options.margin() << ")";
}
Tensor CosineEmbeddingLossImpl::forward(const Tensor& input1, const Tensor& input2,
                                        const Tensor& target) {
  const ForwardScope scope(*this);
  return F::cosine_embedding_loss(input1, input2, target, options);
}

SmoothL1LossImpl::SmoothL1LossImpl(const SmoothL1LossOptions& options) : options(options) {
  SmoothL1LossImpl::reset();
}
void SmoothL1LossImpl::reset() {}
void SmoothL1LossImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"SmoothL1Loss"} << "";
}
Tensor SmoothL1LossImpl::forward(const Tensor& input, const Tensor& target) {
  const ForwardScope scope(*this);
  return F::smooth_l1_loss(input, target, options);
}

HuberLossImpl::HuberLossImpl(const HuberLossOptions& options) : options(options) {
  HuberLossImpl::reset();
}
void HuberLossImpl::reset() {}
void HuberLossImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"HuberLoss"} << "";
}
Tensor HuberLossImpl::forward(const Tensor& input, const Tensor& target) {
  const ForwardScope scope(*this);
  return F::huber_loss(input, target, options);
}

MultiLabelMarginLossImpl::MultiLabelMarginLossImpl(const MultiLabelMarginLossOptions& options)
    : options(options) {
  MultiLabelMarginLossImpl::reset();
}
void MultiLabelMarginLossImpl::reset() {}
void MultiLabelMarginLossImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"MultiLabelMarginLoss"} << "()";
}
Tensor MultiLabelMarginLossImpl::forward(const Tensor& input, const Tensor& target) {
  const ForwardScope scope(*this);
  return F::multilabel_margin_loss(input, target, options);
}

SoftMarginLossImpl::SoftMarginLossImpl(const SoftMarginLossOptions& options) : options(options) {
  SoftMarginLossImpl::reset();
}
void SoftMarginLossImpl::reset() {}
void SoftMarginLossImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"SoftMarginLoss"} << "()";
}
Tensor SoftMarginLossImpl::forward(const Tensor& input, const Tensor& target) {
  const ForwardScope scope(*this);
  return F::soft_margin_loss(input, target, options);
}

MultiLabelSoftMarginLossImpl::MultiLabelSoftMarginLossImpl(
    const MultiLabelSoftMarginLossOptions& options)
    : options(options) {
  MultiLabelSoftMarginLossImpl::reset();
}
void MultiLabelSoftMarginLossImpl::reset() { register_buffer("weight", options.weight()); }
void MultiLabelSoftMarginLossImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"MultiLabelSoftMarginLoss"} << "()";
}
Tensor MultiLabelSoftMarginLossImpl::forward(const Tensor& input, const Tensor& target) {
  const ForwardScope scope(*this);
  return F::multilabel_soft_margin_loss(input, target, options);
}

TripletMarginLossImpl::TripletMarginLossImpl(const TripletMarginLossOptions& options)
    : options(options) {
  TripletMarginLossImpl::reset();
}
void TripletMarginLossImpl::reset() {}
void TripletMarginLossImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"TripletMarginLoss"} << "(margin=" << options.margin()
         << ", p=" << options.p() << ", eps=" << options.eps()
         << ", swap=" << detail::truth(options.swap()) << ")";
}
Tensor TripletMarginLossImpl::forward(const Tensor& anchor, const Tensor& positive,
                                      const Tensor& negative) {
  const ForwardScope scope(*this);
  return F::triplet_margin_loss(anchor, positive, negative, options);
}

TripletMarginWithDistanceLossImpl::TripletMarginWithDistanceLossImpl(
    const TripletMarginWithDistanceLossOptions& options)
    : options(options) {
  TripletMarginWithDistanceLossImpl::reset();
}
void TripletMarginWithDistanceLossImpl::reset() {}
void TripletMarginWithDistanceLossImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"TripletMarginWithDistanceLoss"} << "(margin=" << options.margin()
         << ", swap=" << detail::truth(options.swap()) << ")";
}
Tensor TripletMarginWithDistanceLossImpl::forward(const Tensor& anchor, const Tensor& positive,
                                                  const Tensor& negative) {
  const ForwardScope scope(*this);
  return F::triplet_margin_with_distance_loss(anchor, positive, negative, options);
}

CTCLossImpl::CTCLossImpl(const CTCLossOptions& options) : options(options) { CTCLossImpl::reset(); }
void CTCLossImpl::reset() {}
void CTCLossImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"CTCLoss"} << "()";
}
Tensor CTCLossImpl::forward(const Tensor& log_probs, const Tensor& targets,
                            const Tensor& input_lengths, const Tensor& target_lengths) {
  const ForwardScope scope(*this);
  return F::ctc_loss(log_probs, targets, input_lengths, target_lengths, options);
}

PoissonNLLLossImpl::PoissonNLLLossImpl(const PoissonNLLLossOptions& options) : options(options) {
  PoissonNLLLossImpl::reset();
}
void PoissonNLLLossImpl::reset() {}
void PoissonNLLLossImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"PoissonNLLLoss"} << "()";
}
Tensor PoissonNLLLossImpl::forward(const Tensor& input, const Tensor& target) {
  const ForwardScope scope(*this);
  return F::poisson_nll_loss(input, target, options);
}

MarginRankingLossImpl::MarginRankingLossImpl(const MarginRankingLossOptions& options)
    : options(options) {
  MarginRankingLossImpl::reset();
}
void MarginRankingLossImpl::reset() {}
void MarginRankingLossImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"MarginRankingLoss"} << "()";
}
Tensor MarginRankingLossImpl::forward(const Tensor& input1, const Tensor& input2,
                                      const Tensor& target) {
  const ForwardScope scope(*this);
  return F::margin_ranking_loss(input1, input2, target, options);
}

NLLLossImpl::NLLLossImpl(const NLLLossOptions& options) : options(options) { NLLLossImpl::reset(); }
void NLLLossImpl::reset() { weight = register_buffer("weight", options.weight()); }
void NLLLossImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"NLLLoss"} << "()";
}
Tensor NLLLossImpl::forward(const Tensor& input, const Tensor& target) {
  const ForwardScope scope(*this);
  NLLLossOptions o = options;
  o.weight(weight);
  return F::nll_loss(input, target, o);
}

CrossEntropyLossImpl::CrossEntropyLossImpl(const CrossEntropyLossOptions& options)
    : options(options) {
  CrossEntropyLossImpl::reset();
}
void CrossEntropyLossImpl::reset() { weight = register_buffer("weight", options.weight()); }
void CrossEntropyLossImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"CrossEntropyLoss"} << "()";
}
Tensor CrossEntropyLossImpl::forward(const Tensor& input, const Tensor& target) {
  const ForwardScope scope(*this);
  CrossEntropyLossOptions o = options;
  o.weight(weight);
  return F::cross_entropy(input, target, o);
}

}  // namespace tandem::nn
