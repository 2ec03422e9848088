#include "tandem/nn/functional/conv.h"

#include "tandem/ops/conv.h"

namespace tandem::nn::functional {
namespace {

/// Calls fn with the padding as the ops take it: numbers or a word.
template <size_t D, class F>
Tensor with_padding(const nn::detail::conv_padding_t<D>& padding, const F& fn) {
  if (std::holds_alternative<enumtype::kValid>(padding)) return fn(std::string_view("valid"));
  if (std::holds_alternative<enumtype::kSame>(padding)) return fn(std::string_view("same"));
  return fn(IntArrayRef(std::get<ExpandingArray<D>>(padding)));
}

}  // namespace

Tensor conv1d(const Tensor& input, const Tensor& weight, const Conv1dFuncOptions& o) {
  return with_padding<1>(o.padding(), [&](auto p) {
    return tandem::conv1d(input, weight, o.bias(), o.stride(), p, o.dilation(), o.groups());
  });
}
Tensor conv2d(const Tensor& input, const Tensor& weight, const Conv2dFuncOptions& o) {
  return with_padding<2>(o.padding(), [&](auto p) {
    return tandem::conv2d(input, weight, o.bias(), o.stride(), p, o.dilation(), o.groups());
  });
}
Tensor conv3d(const Tensor& input, const Tensor& weight, const Conv3dFuncOptions& o) {
  return with_padding<3>(o.padding(), [&](auto p) {
    return tandem::conv3d(input, weight, o.bias(), o.stride(), p, o.dilation(), o.groups());
  });
}

Tensor conv_transpose1d(const Tensor& input, const Tensor& weight,
                        const ConvTranspose1dFuncOptions& o) {
  return tandem::conv_transpose1d(input, weight, o.bias(), o.stride(), o.padding(),
                                  o.output_padding(), o.groups(), o.dilation());
}
Tensor conv_transpose2d(const Tensor& input, const Tensor& weight,
                        const ConvTranspose2dFuncOptions& o) {
  return tandem::conv_transpose2d(input, weight, o.bias(), o.stride(), o.padding(),
                                  o.output_padding(), o.groups(), o.dilation());
}
Tensor conv_transpose3d(const Tensor& input, const Tensor& weight,
                        const ConvTranspose3dFuncOptions& o) {
  return tandem::conv_transpose3d(input, weight, o.bias(), o.stride(), o.padding(),
                                  o.output_padding(), o.groups(), o.dilation());
}

}  // namespace tandem::nn::functional
