#pragma once

#include <vector>

#include "tandem/nn/cloneable.h"
#include "tandem/nn/modules/common.h"
#include "tandem/nn/options/conv.h"

namespace tandem::nn {

/// What all convolutions share: options, weight and bias.
template <size_t D, class Derived>
class ConvNdImpl : public Cloneable<Derived> {
 public:
  explicit ConvNdImpl(detail::ConvNdOptions<D> options);
  void reset() override;
  /// Weight and bias drawn evenly from +-1 / sqrt(number of inputs that an output sees).
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;

  detail::ConvNdOptions<D> options;
  Tensor weight;
  Tensor bias;

 protected:
  /// The module's name and options as printed.
  void print(std::ostream& stream, const char* name) const;
  /// The input with a border of the padding mode; for modes other than zeros.
  Tensor padded(const Tensor& input) const;
  bool pads_zeros() const {
    return std::holds_alternative<enumtype::kZeros>(options.padding_mode());
  }

  // Two numbers for each dimension, the last dimension first, as pad() takes them.
  std::vector<int64_t> _reversed_padding_repeated_twice;
};

/// Convolution over one dimension: [batch, channels, length].
class Conv1dImpl : public ConvNdImpl<1, Conv1dImpl> {
 public:
  Conv1dImpl(int64_t in_channels, int64_t out_channels, ExpandingArray<1> kernel_size)
      : Conv1dImpl(Conv1dOptions(in_channels, out_channels, kernel_size)) {}
  explicit Conv1dImpl(Conv1dOptions options);
  Tensor forward(const Tensor& input);
};
TANDEM_NN_MODULE(Conv1d);

/// Convolution over images: [batch, channels, height, width].
class Conv2dImpl : public ConvNdImpl<2, Conv2dImpl> {
 public:
  Conv2dImpl(int64_t in_channels, int64_t out_channels, ExpandingArray<2> kernel_size)
      : Conv2dImpl(Conv2dOptions(in_channels, out_channels, kernel_size)) {}
  explicit Conv2dImpl(Conv2dOptions options);
  Tensor forward(const Tensor& input);

 protected:
  Tensor _conv_forward(const Tensor& input, const Tensor& weight);
};
TANDEM_NN_MODULE(Conv2d);

/// Convolution over volumes: [batch, channels, depth, height, width].
class Conv3dImpl : public ConvNdImpl<3, Conv3dImpl> {
 public:
  Conv3dImpl(int64_t in_channels, int64_t out_channels, ExpandingArray<3> kernel_size)
      : Conv3dImpl(Conv3dOptions(in_channels, out_channels, kernel_size)) {}
  explicit Conv3dImpl(Conv3dOptions options);
  Tensor forward(const Tensor& input);
};
TANDEM_NN_MODULE(Conv3d);

/// What transposed convolutions share. `output_size` in forward() says which of the sizes that have
/// the input's size as the size of their convolution the result has.
template <size_t D, class Derived>
class ConvTransposeNdImpl : public ConvNdImpl<D, Derived> {
 public:
  explicit ConvTransposeNdImpl(detail::ConvNdOptions<D> options);
  void pretty_print(std::ostream& stream) const override;

 protected:
  const ExpandingArray<D>& padding() const;
  std::vector<int64_t> _output_padding(const Tensor& input,
                                       const std::optional<IntArrayRef>& output_size,
                                       const ExpandingArray<D>& stride,
                                       const ExpandingArray<D>& padding,
                                       const ExpandingArray<D>& kernel_size) const;
};

class ConvTranspose1dImpl : public ConvTransposeNdImpl<1, ConvTranspose1dImpl> {
 public:
  ConvTranspose1dImpl(int64_t in_channels, int64_t out_channels, ExpandingArray<1> kernel_size)
      : ConvTranspose1dImpl(ConvTranspose1dOptions(in_channels, out_channels, kernel_size)) {}
  explicit ConvTranspose1dImpl(ConvTranspose1dOptions options);
  Tensor forward(const Tensor& input, const std::optional<IntArrayRef>& output_size = std::nullopt);

 protected:
  FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(std::optional<IntArrayRef>())})
};
TANDEM_NN_MODULE(ConvTranspose1d);

class ConvTranspose2dImpl : public ConvTransposeNdImpl<2, ConvTranspose2dImpl> {
 public:
  ConvTranspose2dImpl(int64_t in_channels, int64_t out_channels, ExpandingArray<2> kernel_size)
      : ConvTranspose2dImpl(ConvTranspose2dOptions(in_channels, out_channels, kernel_size)) {}
  explicit ConvTranspose2dImpl(ConvTranspose2dOptions options);
  Tensor forward(const Tensor& input, const std::optional<IntArrayRef>& output_size = std::nullopt);

 protected:
  FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(std::optional<IntArrayRef>())})
};
TANDEM_NN_MODULE(ConvTranspose2d);

class ConvTranspose3dImpl : public ConvTransposeNdImpl<3, ConvTranspose3dImpl> {
 public:
  ConvTranspose3dImpl(int64_t in_channels, int64_t out_channels, ExpandingArray<3> kernel_size)
      : ConvTranspose3dImpl(ConvTranspose3dOptions(in_channels, out_channels, kernel_size)) {}
  explicit ConvTranspose3dImpl(ConvTranspose3dOptions options);
  Tensor forward(const Tensor& input, const std::optional<IntArrayRef>& output_size = std::nullopt);

 protected:
  FORWARD_HAS_DEFAULT_ARGS({1, AnyValue(std::optional<IntArrayRef>())})
};
TANDEM_NN_MODULE(ConvTranspose3d);

}  // namespace tandem::nn
