#pragma once

#include <variant>

#include "tandem/base/arg.h"
#include "tandem/base/enum.h"
#include "tandem/base/expanding_array.h"
#include "tandem/core/tensor.h"

namespace tandem::nn {

namespace detail {

using conv_padding_mode_t =
    std::variant<enumtype::kZeros, enumtype::kReflect, enumtype::kReplicate, enumtype::kCircular>;
/// Numbers, none at all (kValid), or as many as keep the input's size (kSame).
template <size_t D>
using conv_padding_t = std::variant<ExpandingArray<D>, enumtype::kValid, enumtype::kSame>;

/// What convolutions and transposed convolutions keep.
template <size_t D>
struct ConvNdOptions {
  using padding_t = conv_padding_t<D>;
  ConvNdOptions(int64_t in_channels, int64_t out_channels, ExpandingArray<D> kernel_size)
      : in_channels_(in_channels), out_channels_(out_channels), kernel_size_(kernel_size) {}
  TANDEM_ARG(int64_t, in_channels);
  TANDEM_ARG(int64_t, out_channels);
  TANDEM_ARG(ExpandingArray<D>, kernel_size);
  TANDEM_ARG(ExpandingArray<D>, stride) = 1;
  TANDEM_ARG(padding_t, padding) = 0;

 public:
  auto& padding(std::initializer_list<int64_t> list) { return padding(IntArrayRef(list)); }
  TANDEM_ARG(ExpandingArray<D>, dilation) = 1;
  TANDEM_ARG(bool, transposed) = false;
  TANDEM_ARG(ExpandingArray<D>, output_padding) = 0;
  TANDEM_ARG(int64_t, groups) = 1;
  TANDEM_ARG(bool, bias) = true;
  TANDEM_ARG(conv_padding_mode_t, padding_mode) = kZeros;
};

}  // namespace detail

/// Conv2d conv(Conv2dOptions(3, 8, 5).stride(2).padding(kSame).bias(false));
template <size_t D>
struct ConvOptions {
  using padding_mode_t = detail::conv_padding_mode_t;
  using padding_t = detail::conv_padding_t<D>;
  ConvOptions(int64_t in_channels, int64_t out_channels, ExpandingArray<D> kernel_size)
      : in_channels_(in_channels), out_channels_(out_channels), kernel_size_(kernel_size) {}
  TANDEM_ARG(int64_t, in_channels);
  TANDEM_ARG(int64_t, out_channels);
  TANDEM_ARG(ExpandingArray<D>, kernel_size);
  TANDEM_ARG(ExpandingArray<D>, stride) = 1;
  TANDEM_ARG(padding_t, padding) = 0;

 public:
  auto& padding(std::initializer_list<int64_t> list) { return padding(IntArrayRef(list)); }
  TANDEM_ARG(ExpandingArray<D>, dilation) = 1;
  /// Channels are cut into so many parts, each convolved by itself.
  TANDEM_ARG(int64_t, groups) = 1;
  TANDEM_ARG(bool, bias) = true;
  /// What the padding holds: zeros, or the input continued.
  TANDEM_ARG(padding_mode_t, padding_mode) = kZeros;
};
using Conv1dOptions = ConvOptions<1>;
using Conv2dOptions = ConvOptions<2>;
using Conv3dOptions = ConvOptions<3>;

template <size_t D>
struct ConvTransposeOptions {
  using padding_mode_t = detail::conv_padding_mode_t;
  ConvTransposeOptions(int64_t in_channels, int64_t out_channels, ExpandingArray<D> kernel_size)
      : in_channels_(in_channels), out_channels_(out_channels), kernel_size_(kernel_size) {}
  TANDEM_ARG(int64_t, in_channels);
  TANDEM_ARG(int64_t, out_channels);
  TANDEM_ARG(ExpandingArray<D>, kernel_size);
  TANDEM_ARG(ExpandingArray<D>, stride) = 1;
  /// The result is cut by so much on both sides.
  TANDEM_ARG(ExpandingArray<D>, padding) = 0;
  /// The result is larger by so much on one side: with a stride, several sizes are possible.
  TANDEM_ARG(ExpandingArray<D>, output_padding) = 0;
  TANDEM_ARG(int64_t, groups) = 1;
  TANDEM_ARG(bool, bias) = true;
  TANDEM_ARG(ExpandingArray<D>, dilation) = 1;
  TANDEM_ARG(padding_mode_t, padding_mode) = kZeros;
};
using ConvTranspose1dOptions = ConvTransposeOptions<1>;
using ConvTranspose2dOptions = ConvTransposeOptions<2>;
using ConvTranspose3dOptions = ConvTransposeOptions<3>;

namespace functional {

template <size_t D>
struct ConvFuncOptions {
  using padding_t = nn::detail::conv_padding_t<D>;
  TANDEM_ARG(Tensor, bias) = Tensor();
  TANDEM_ARG(ExpandingArray<D>, stride) = 1;
  TANDEM_ARG(padding_t, padding) = 0;

 public:
  auto& padding(std::initializer_list<int64_t> list) { return padding(IntArrayRef(list)); }
  TANDEM_ARG(ExpandingArray<D>, dilation) = 1;
  TANDEM_ARG(int64_t, groups) = 1;
};
using Conv1dFuncOptions = ConvFuncOptions<1>;
using Conv2dFuncOptions = ConvFuncOptions<2>;
using Conv3dFuncOptions = ConvFuncOptions<3>;

template <size_t D>
struct ConvTransposeFuncOptions {
  TANDEM_ARG(Tensor, bias) = Tensor();
  TANDEM_ARG(ExpandingArray<D>, stride) = 1;
  TANDEM_ARG(ExpandingArray<D>, padding) = 0;
  TANDEM_ARG(ExpandingArray<D>, output_padding) = 0;
  TANDEM_ARG(int64_t, groups) = 1;
  TANDEM_ARG(ExpandingArray<D>, dilation) = 1;
};
using ConvTranspose1dFuncOptions = ConvTransposeFuncOptions<1>;
using ConvTranspose2dFuncOptions = ConvTransposeFuncOptions<2>;
using ConvTranspose3dFuncOptions = ConvTransposeFuncOptions<3>;

}  // namespace functional
}  // namespace tandem::nn
