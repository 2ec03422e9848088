#pragma once

#include <vector>

#include "tandem/nn/cloneable.h"
#include "tandem/nn/options/normalization.h"

namespace tandem::nn {

/// Normalises over the last dimensions, then multiplies and adds element by element.
class LayerNormImpl : public Cloneable<LayerNormImpl> {
 public:
  LayerNormImpl(std::vector<int64_t> normalized_shape)
      : LayerNormImpl(LayerNormOptions(std::move(normalized_shape))) {}
  explicit LayerNormImpl(const LayerNormOptions& options_);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  LayerNormOptions options;
  Tensor weight, bias;  // undefined unless elementwise_affine
};
TANDEM_NN_MODULE(LayerNorm);

/// Divides by the strength of neighbouring channels.
class LocalResponseNormImpl : public Cloneable<LocalResponseNormImpl> {
 public:
  LocalResponseNormImpl(int64_t size) : LocalResponseNormImpl(LocalResponseNormOptions(size)) {}
  explicit LocalResponseNormImpl(const LocalResponseNormOptions& options_) : options(options_) {}
  Tensor forward(const Tensor& input);
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;

  LocalResponseNormOptions options;
};
TANDEM_NN_MODULE(LocalResponseNorm);

class CrossMapLRN2dImpl : public Cloneable<CrossMapLRN2dImpl> {
 public:
  CrossMapLRN2dImpl(int64_t size) : CrossMapLRN2dImpl(CrossMapLRN2dOptions(size)) {}
  explicit CrossMapLRN2dImpl(const CrossMapLRN2dOptions& options_) : options(options_) {}
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  CrossMapLRN2dOptions options;
};
TANDEM_NN_MODULE(CrossMapLRN2d);

/// Normalises groups of channels of each sample.
class GroupNormImpl : public Cloneable<GroupNormImpl> {
 public:
  GroupNormImpl(int64_t num_groups, int64_t num_channels)
      : GroupNormImpl(GroupNormOptions(num_groups, num_channels)) {}
  explicit GroupNormImpl(const GroupNormOptions& options_);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  GroupNormOptions options;
  Tensor weight, bias;  // undefined unless affine
};
TANDEM_NN_MODULE(GroupNorm);

}  // namespace tandem::nn
