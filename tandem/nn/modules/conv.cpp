#include "tandem/nn/modules/conv.h"

#include <cmath>
#include <ostream>
#include <string>

#include "tandem/nn/functional/conv.h"
#include "tandem/nn/functional/padding.h"
#include "tandem/nn/init.h"
#include "tandem/ops/ops.h"

namespace tandem::nn {
namespace {

template <size_t D, class Options>
detail::ConvNdOptions<D> common(const Options& o) {
  return detail::ConvNdOptions<D>(o.in_channels(), o.out_channels(), o.kernel_size())
      .stride(o.stride())
      .padding(o.padding())
      .dilation(o.dilation())
      .groups(o.groups())
      .bias(o.bias())
      .padding_mode(o.padding_mode());
}
template <size_t D>
detail::ConvNdOptions<D> conv_options(const ConvOptions<D>& o) {
  return common<D>(o).transposed(false).output_padding(0);
}
template <size_t D>
detail::ConvNdOptions<D> transpose_options(const ConvTransposeOptions<D>& o) {
  return common<D>(o).transposed(true).output_padding(o.output_padding());
}

functional::PadFuncOptions::mode_t pad_mode(const detail::conv_padding_mode_t& mode) {
  if (std::holds_alternative<enumtype::kReflect>(mode)) return kReflect;
  if (std::holds_alternative<enumtype::kReplicate>(mode)) return kReplicate;
  return kCircular;
}

}  // namespace

template <size_t D, class Derived>
ConvNdImpl<D, Derived>::ConvNdImpl(detail::ConvNdOptions<D> o) : options(std::move(o)) {
  reset();
}

template <size_t D, class Derived>
void ConvNdImpl<D, Derived>::reset() {
  const int64_t in = options.in_channels(), out = options.out_channels(), g = options.groups();
  TANDEM_CHECK(in > 0 && out > 0 && g > 0,
               "in_channels, out_channels and groups must be positive, got in_channels=", in,
               ", out_channels=", out, ", groups=", g);
  TANDEM_CHECK(in % g == 0, "in_channels must be divisible by groups, got in_channels=", in,
               ", groups=", g);
  TANDEM_CHECK(out % g == 0, "out_channels must be divisible by groups, got out_channels=", out,
               ", groups=", g);
  auto& border = _reversed_padding_repeated_twice;
  border.assign(2 * D, 0);
  for (size_t d = 0; d < D; ++d) {
    TANDEM_CHECK((*options.kernel_size())[d] > 0,
                 "kernel_size must be positive, got kernel_size=", options.kernel_size());
    const size_t at = 2 * (D - 1 - d);
    if (const auto* p = std::get_if<ExpandingArray<D>>(&options.padding())) {
      border[at] = border[at + 1] = (**p)[d];
    } else if (std::holds_alternative<enumtype::kSame>(options.padding())) {
      TANDEM_CHECK((*options.stride())[d] == 1,
                   "padding='same' is not supported for strided convolutions, got stride=",
                   options.stride());
      const int64_t all = (*options.dilation())[d] * ((*options.kernel_size())[d] - 1);
      border[at] = all / 2;
      border[at + 1] = all - all / 2;
    }
  }
  std::vector<int64_t> sizes =
      options.transposed() ? std::vector<int64_t>{in, out / g} : std::vector<int64_t>{out, in / g};
  sizes.insert(sizes.end(), options.kernel_size()->begin(), options.kernel_size()->end());
  weight = this->register_parameter("weight", tandem::empty(sizes));
  if (options.bias())
    bias = this->register_parameter("bias", tandem::empty({out}));
  else
    this->register_parameter("bias", Tensor(), /*requires_grad=*/false);
  reset_parameters();
}

template <size_t D, class Derived>
void ConvNdImpl<D, Derived>::reset_parameters() {
  init::kaiming_uniform_(weight, /*a=*/std::sqrt(5.0));
  if (!bias.defined()) return;
  const auto [fan_in, fan_out] = init::_calculate_fan_in_and_fan_out(weight);
  const double bound = 1 / std::sqrt(static_cast<double>(fan_in));
  init::uniform_(bias, -bound, bound);
}

template <size_t D, class Derived>
void ConvNdImpl<D, Derived>::print(std::ostream& stream, const char* kind) const {
  const std::string name = kind + std::to_string(D) + "d";
  stream << PrintedName{name.c_str()} << "(" << options.in_channels() << ", "
         << options.out_channels() << ", kernel_size=" << options.kernel_size()
         << ", stride=" << options.stride();
  if (const auto* p = std::get_if<ExpandingArray<D>>(&options.padding())) {
    if (**p != *ExpandingArray<D>(0)) stream << ", padding=" << *p;
  } else {
    const bool same = std::holds_alternative<enumtype::kSame>(options.padding());
    stream << ", padding='" << (same ? "same" : "valid") << "'";
  }
  if (*options.dilation() != *ExpandingArray<D>(1)) stream << ", dilation=" << options.dilation();
  if (*options.output_padding() != *ExpandingArray<D>(0))
    stream << ", output_padding=" << options.output_padding();
  if (options.groups() != 1) stream << ", groups=" << options.groups();
  if (!options.bias()) stream << ", bias=false";
  if (!pads_zeros()) stream << ", padding_mode=" << enumtype::get_enum_name(options.padding_mode());
  stream << ")";
}

template <size_t D, class Derived>
void ConvNdImpl<D, Derived>::pretty_print(std::ostream& stream) const {
  print(stream, "Conv");
}

template <size_t D, class Derived>
Tensor ConvNdImpl<D, Derived>::padded(const Tensor& input) const {
  return functional::pad(input, functional::PadFuncOptions(_reversed_padding_repeated_twice)
                                    .mode(pad_mode(options.padding_mode())));
}

namespace {

template <size_t D>
functional::ConvFuncOptions<D> func_options(const detail::ConvNdOptions<D>& o, const Tensor& bias) {
  return functional::ConvFuncOptions<D>()
      .bias(bias)
      .stride(o.stride())
      .padding(o.padding())
      .dilation(o.dilation())
      .groups(o.groups());
}

}  // namespace

Conv1dImpl::Conv1dImpl(Conv1dOptions o) : ConvNdImpl(conv_options(o)) {}
Tensor Conv1dImpl::forward(const Tensor& input) {
  const ForwardScope scope(*this);
  auto o = func_options(options, bias);
  if (pads_zeros()) return functional::conv1d(input, weight, o);
  return functional::conv1d(padded(input), weight, o.padding(0));
}

Conv2dImpl::Conv2dImpl(Conv2dOptions o) : ConvNdImpl(conv_options(o)) {}
Tensor Conv2dImpl::_conv_forward(const Tensor& input, const Tensor& w) {
  auto o = func_options(options, bias);
  if (pads_zeros()) return functional::conv2d(input, w, o);
  return functional::conv2d(padded(input), w, o.padding(0));
}
Tensor Conv2dImpl::forward(const Tensor& input) {
  const ForwardScope scope(*this);
  return _conv_forward(input, weight);
}

Conv3dImpl::Conv3dImpl(Conv3dOptions o) : ConvNdImpl(conv_options(o)) {}
Tensor Conv3dImpl::forward(const Tensor& input) {
  const ForwardScope scope(*this);
  auto o = func_options(options, bias);
  if (pads_zeros()) return functional::conv3d(input, weight, o);
  return functional::conv3d(padded(input), weight, o.padding(0));
}

// -- transposed --------------------------------------------------------------------------------

template <size_t D, class Derived>
ConvTransposeNdImpl<D, Derived>::ConvTransposeNdImpl(detail::ConvNdOptions<D> o)
    : ConvNdImpl<D, Derived>(std::move(o)) {
  TANDEM_CHECK(std::holds_alternative<ExpandingArray<D>>(this->options.padding()),
               "ConvTranspose: padding must be numbers, not 'same' or 'valid'");
}

template <size_t D, class Derived>
void ConvTransposeNdImpl<D, Derived>::pretty_print(std::ostream& stream) const {
  this->print(stream, "ConvTranspose");
}

template <size_t D, class Derived>
const ExpandingArray<D>& ConvTransposeNdImpl<D, Derived>::padding() const {
  return std::get<ExpandingArray<D>>(this->options.padding());
}

template <size_t D, class Derived>
std::vector<int64_t> ConvTransposeNdImpl<D, Derived>::_output_padding(
    const Tensor& input, const std::optional<IntArrayRef>& output_size,
    const ExpandingArray<D>& stride, const ExpandingArray<D>& padding,
    const ExpandingArray<D>& kernel_size) const {
  if (!output_size)
    return {this->options.output_padding()->begin(), this->options.output_padding()->end()};
  IntArrayRef wanted = *output_size;
  if (wanted.size() == D + 2) wanted = wanted.slice(2);
  TANDEM_CHECK_SHAPE(wanted.size() == D, "output_size must have ", D, " or ", D + 2,
                     " elements, got output_size=", *output_size);
  TANDEM_CHECK_SHAPE(input.dim() > static_cast<int64_t>(D), "expected an input of ", D + 1, " or ",
                     D + 2, " dimensions, got shape ", input.sizes());
  const int64_t first = input.dim() - static_cast<int64_t>(D);
  std::vector<int64_t> extra;
  for (size_t d = 0; d < D; ++d) {
    const int64_t least = (input.size(first + static_cast<int64_t>(d)) - 1) * (*stride)[d] -
                          2 * (*padding)[d] +
                          (*this->options.dilation())[d] * ((*kernel_size)[d] - 1) + 1;
    const int64_t most = least + (*stride)[d] - 1;
    TANDEM_CHECK_SHAPE(wanted[d] >= least && wanted[d] <= most, "requested an output size of ",
                       wanted, ", but in dimension ", d, " sizes from ", least, " to ", most,
                       " are possible for an input of shape ", input.sizes());
    extra.push_back(wanted[d] - least);
  }
  return extra;
}

ConvTranspose1dImpl::ConvTranspose1dImpl(ConvTranspose1dOptions o)
    : ConvTransposeNdImpl(transpose_options(o)) {}
Tensor ConvTranspose1dImpl::forward(const Tensor& input,
                                    const std::optional<IntArrayRef>& output_size) {
  const ForwardScope scope(*this);
  TANDEM_CHECK(pads_zeros(), "Only `zeros` padding mode is supported for ConvTranspose1d");
  const auto extra =
      _output_padding(input, output_size, options.stride(), padding(), options.kernel_size());
  return conv_transpose1d(input, weight, bias, options.stride(), padding(), extra, options.groups(),
                          options.dilation());
}

ConvTranspose2dImpl::ConvTranspose2dImpl(ConvTranspose2dOptions o)
    : ConvTransposeNdImpl(transpose_options(o)) {}
Tensor ConvTranspose2dImpl::forward(const Tensor& input,
                                    const std::optional<IntArrayRef>& output_size) {
  const ForwardScope scope(*this);
  TANDEM_CHECK(pads_zeros(), "Only `zeros` padding mode is supported for ConvTranspose2d");
  const auto extra =
      _output_padding(input, output_size, options.stride(), padding(), options.kernel_size());
  return conv_transpose2d(input, weight, bias, options.stride(), padding(), extra, options.groups(),
                          options.dilation());
}

ConvTranspose3dImpl::ConvTranspose3dImpl(ConvTranspose3dOptions o)
    : ConvTransposeNdImpl(transpose_options(o)) {}
Tensor ConvTranspose3dImpl::forward(const Tensor& input,
                                    const std::optional<IntArrayRef>& output_size) {
  const ForwardScope scope(*this);
  TANDEM_CHECK(pads_zeros(), "Only `zeros` padding mode is supported for ConvTranspose3d");
  const auto extra =
      _output_padding(input, output_size, options.stride(), padding(), options.kernel_size());
  return conv_transpose3d(input, weight, bias, options.stride(), padding(), extra, options.groups(),
                          options.dilation());
}

template class ConvNdImpl<1, Conv1dImpl>;
template class ConvNdImpl<2, Conv2dImpl>;
template class ConvNdImpl<3, Conv3dImpl>;
template class ConvNdImpl<1, ConvTranspose1dImpl>;
template class ConvNdImpl<2, ConvTranspose2dImpl>;
template class ConvNdImpl<3, ConvTranspose3dImpl>;
template class ConvTransposeNdImpl<1, ConvTranspose1dImpl>;
template class ConvTransposeNdImpl<2, ConvTranspose2dImpl>;
template class ConvTransposeNdImpl<3, ConvTranspose3dImpl>;

}  // namespace tandem::nn
