#pragma once

#include "tandem/nn/cloneable.h"
#include "tandem/nn/functional/loss.h"
#include "tandem/nn/options/loss.h"
#include "tandem/nn/pimpl.h"

namespace tandem::nn {

/// The mean distance.
struct L1LossImpl : Cloneable<L1LossImpl> {
  explicit L1LossImpl(const L1LossOptions& options = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input, const Tensor& target);

  L1LossOptions options;
};
TANDEM_NN_MODULE(L1Loss);

/// The Kullback-Leibler divergence; the input is a logarithm.
struct KLDivLossImpl : Cloneable<KLDivLossImpl> {
  explicit KLDivLossImpl(const KLDivLossOptions& options = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input, const Tensor& target);

  KLDivLossOptions options;
};
TANDEM_NN_MODULE(KLDivLoss);

/// The mean squared distance.
struct MSELossImpl : Cloneable<MSELossImpl> {
  explicit MSELossImpl(const MSELossOptions& options = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input, const Tensor& target);

  MSELossOptions options;
};
TANDEM_NN_MODULE(MSELoss);

/// Binary cross entropy of probabilities.
struct BCELossImpl : Cloneable<BCELossImpl> {
  explicit BCELossImpl(const BCELossOptions& options = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input, const Tensor& target);

  BCELossOptions options;
  /// Buffers.
  Tensor weight;
};
TANDEM_NN_MODULE(BCELoss);

/// Binary cross entropy of sigmoid(input), without overflow.
struct BCEWithLogitsLossImpl : Cloneable<BCEWithLogitsLossImpl> {
  explicit BCEWithLogitsLossImpl(const BCEWithLogitsLossOptions& options = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input, const Tensor& target);

  BCEWithLogitsLossOptions options;
  /// Buffers.
  Tensor weight, pos_weight;
};
TANDEM_NN_MODULE(BCEWithLogitsLoss);

/// The input where the target is 1, max(0, margin - input) where it is -1.
struct HingeEmbeddingLossImpl : Cloneable<HingeEmbeddingLossImpl> {
  explicit HingeEmbeddingLossImpl(const HingeEmbeddingLossOptions& options = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input, const Tensor& target);

  HingeEmbeddingLossOptions options;
};
TANDEM_NN_MODULE(HingeEmbeddingLoss);

/// The loss of a support vector machine.
struct MultiMarginLossImpl : Cloneable<MultiMarginLossImpl> {
  explicit MultiMarginLossImpl(const MultiMarginLossOptions& options = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input, const Tensor& target);

  MultiMarginLossOptions options;
};
TANDEM_NN_MODULE(MultiMarginLoss);

/// How far the angle of two vectors is from what it should be.
struct CosineEmbeddingLossImpl : Cloneable<CosineEmbeddingLossImpl> {
  explicit CosineEmbeddingLossImpl(const CosineEmbeddingLossOptions& options = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input1, const Tensor& input2, const Tensor& target);

  CosineEmbeddingLossOptions options;
};
TANDEM_NN_MODULE(CosineEmbeddingLoss);

/// Quadratic up to a distance of beta, and linear from there on.
struct SmoothL1LossImpl : Cloneable<SmoothL1LossImpl> {
  explicit SmoothL1LossImpl(const SmoothL1LossOptions& options = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input, const Tensor& target);

  SmoothL1LossOptions options;
};
TANDEM_NN_MODULE(SmoothL1Loss);

/// Quadratic up to a distance of delta, and linear from there on.
struct HuberLossImpl : Cloneable<HuberLossImpl> {
  explicit HuberLossImpl(const HuberLossOptions& options = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input, const Tensor& target);

  HuberLossOptions options;
};
TANDEM_NN_MODULE(HuberLoss);

/// The margin loss of samples with several right classes.
struct MultiLabelMarginLossImpl : Cloneable<MultiLabelMarginLossImpl> {
  explicit MultiLabelMarginLossImpl(const MultiLabelMarginLossOptions& options = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input, const Tensor& target);

  MultiLabelMarginLossOptions options;
};
TANDEM_NN_MODULE(MultiLabelMarginLoss);

/// log(1 + exp(-target * input)).
struct SoftMarginLossImpl : Cloneable<SoftMarginLossImpl> {
  explicit SoftMarginLossImpl(const SoftMarginLossOptions& options = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input, const Tensor& target);

  SoftMarginLossOptions options;
};
TANDEM_NN_MODULE(SoftMarginLoss);

/// The mean over classes of binary cross entropy of sigmoid(input).
struct MultiLabelSoftMarginLossImpl : Cloneable<MultiLabelSoftMarginLossImpl> {
  explicit MultiLabelSoftMarginLossImpl(const MultiLabelSoftMarginLossOptions& options = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input, const Tensor& target);

  MultiLabelSoftMarginLossOptions options;
};
TANDEM_NN_MODULE(MultiLabelSoftMarginLoss);

/// The positive should be nearer to the anchor than the negative, by a margin.
struct TripletMarginLossImpl : Cloneable<TripletMarginLossImpl> {
  explicit TripletMarginLossImpl(const TripletMarginLossOptions& options = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& anchor, const Tensor& positive, const Tensor& negative);

  TripletMarginLossOptions options;
};
TANDEM_NN_MODULE(TripletMarginLoss);

/// The same with a distance of the user's.
struct TripletMarginWithDistanceLossImpl : Cloneable<TripletMarginWithDistanceLossImpl> {
  explicit TripletMarginWithDistanceLossImpl(
      const TripletMarginWithDistanceLossOptions& options = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& anchor, const Tensor& positive, const Tensor& negative);

  TripletMarginWithDistanceLossOptions options;
};
TANDEM_NN_MODULE(TripletMarginWithDistanceLoss);

/// Connectionist temporal classification.
struct CTCLossImpl : Cloneable<CTCLossImpl> {
  explicit CTCLossImpl(const CTCLossOptions& options = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                 const Tensor& target_lengths);

  CTCLossOptions options;
};
TANDEM_NN_MODULE(CTCLoss);

/// Of targets that are Poisson distributed.
struct PoissonNLLLossImpl : Cloneable<PoissonNLLLossImpl> {
  explicit PoissonNLLLossImpl(const PoissonNLLLossOptions& options = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input, const Tensor& target);

  PoissonNLLLossOptions options;
};
TANDEM_NN_MODULE(PoissonNLLLoss);

/// input1 should be greater than input2 where the target is 1, less where it is -1.
struct MarginRankingLossImpl : Cloneable<MarginRankingLossImpl> {
  explicit MarginRankingLossImpl(const MarginRankingLossOptions& options = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input1, const Tensor& input2, const Tensor& target);

  MarginRankingLossOptions options;
};
TANDEM_NN_MODULE(MarginRankingLoss);

/// The negative log likelihood of classes; the input are logarithms of probabilities.
struct NLLLossImpl : Cloneable<NLLLossImpl> {
  explicit NLLLossImpl(const NLLLossOptions& options = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input, const Tensor& target);

  NLLLossOptions options;
  /// Buffers.
  Tensor weight;
};
TANDEM_NN_MODULE(NLLLoss);

/// Softmax and negative log likelihood in one, of classes or of probabilities.
struct CrossEntropyLossImpl : Cloneable<CrossEntropyLossImpl> {
  explicit CrossEntropyLossImpl(const CrossEntropyLossOptions& options = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input, const Tensor& target);

  CrossEntropyLossOptions options;
  /// Buffers.
  Tensor weight;
};
TANDEM_NN_MODULE(CrossEntropyLoss);

}  // namespace tandem::nn
