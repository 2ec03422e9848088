#include "tandem/nn/modules/pooling.h"

#include <ostream>

#include "tandem/nn/modules/truth.h"

namespace tandem::nn {

namespace F = functional;

template <size_t D, class Derived>
AvgPoolImpl<D, Derived>::AvgPoolImpl(const AvgPoolOptions<D>& o) : options(o) {}
template <size_t D, class Derived>
void AvgPoolImpl<D, Derived>::reset() {}
template <size_t D, class Derived>
void AvgPoolImpl<D, Derived>::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"AvgPool"} << D << "d(kernel_size=" << options.kernel_size()
         << ", stride=" << options.stride() << ", padding=" << options.padding() << ")";
}

template <size_t D, class Derived>
MaxPoolImpl<D, Derived>::MaxPoolImpl(const MaxPoolOptions<D>& o) : options(o) {}
template <size_t D, class Derived>
void MaxPoolImpl<D, Derived>::reset() {}
template <size_t D, class Derived>
void MaxPoolImpl<D, Derived>::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"MaxPool"} << D << "d(kernel_size=" << options.kernel_size()
         << ", stride=" << options.stride() << ", padding=" << options.padding()
         << ", dilation=" << options.dilation()
         << ", ceil_mode=" << detail::truth(options.ceil_mode()) << ")";
}

template <size_t D, class Size, class Derived>
AdaptiveMaxPoolImpl<D, Size, Derived>::AdaptiveMaxPoolImpl(const AdaptiveMaxPoolOptions<Size>& o)
    : options(o) {}
template <size_t D, class Size, class Derived>
void AdaptiveMaxPoolImpl<D, Size, Derived>::reset() {}
template <size_t D, class Size, class Derived>
void AdaptiveMaxPoolImpl<D, Size, Derived>::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"AdaptiveMaxPool"} << D << "d(output_size=" << options.output_size() << ")";
}

template <size_t D, class Size, class Derived>
AdaptiveAvgPoolImpl<D, Size, Derived>::AdaptiveAvgPoolImpl(const AdaptiveAvgPoolOptions<Size>& o)
    : options(o) {}
template <size_t D, class Size, class Derived>
void AdaptiveAvgPoolImpl<D, Size, Derived>::reset() {}
template <size_t D, class Size, class Derived>
void AdaptiveAvgPoolImpl<D, Size, Derived>::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"AdaptiveAvgPool"} << D << "d(output_size=" << options.output_size() << ")";
}

template <size_t D, class Derived>
MaxUnpoolImpl<D, Derived>::MaxUnpoolImpl(const MaxUnpoolOptions<D>& o) : options(o) {}
template <size_t D, class Derived>
void MaxUnpoolImpl<D, Derived>::reset() {}
template <size_t D, class Derived>
void MaxUnpoolImpl<D, Derived>::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"MaxUnpool"} << D << "d(kernel_size=" << options.kernel_size()
         << ", stride=" << options.stride() << ", padding=" << options.padding() << ")";
}

template <size_t D, class Derived>
LPPoolImpl<D, Derived>::LPPoolImpl(const LPPoolOptions<D>& o) : options(o) {}
template <size_t D, class Derived>
void LPPoolImpl<D, Derived>::reset() {}
template <size_t D, class Derived>
void LPPoolImpl<D, Derived>::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"LPPool"} << D << "d(norm_type=" << options.norm_type()
         << ", kernel_size=" << options.kernel_size() << ", stride=" << options.stride()
         << ", ceil_mode=" << detail::truth(options.ceil_mode()) << ")";
}

// -- forward ------------------------------------------------------------------------------------

Tensor AvgPool1dImpl::forward(const Tensor& input) {
  const ForwardScope scope(*this);
  return F::avg_pool1d(input, options);
}
Tensor AvgPool2dImpl::forward(const Tensor& input) {
  const ForwardScope scope(*this);
  return F::avg_pool2d(input, options);
}
Tensor AvgPool3dImpl::forward(const Tensor& input) {
  const ForwardScope scope(*this);
  return F::avg_pool3d(input, options);
}

Tensor MaxPool1dImpl::forward(const Tensor& input) {
  const ForwardScope scope(*this);
  return F::max_pool1d(input, options);
}
std::tuple<Tensor, Tensor> MaxPool1dImpl::forward_with_indices(const Tensor& input) {
  const ForwardScope scope(*this);
  return F::max_pool1d_with_indices(input, options);
}

Tensor MaxPool2dImpl::forward(const Tensor& input) {
  const ForwardScope scope(*this);
  return F::max_pool2d(input, options);
}
std::tuple<Tensor, Tensor> MaxPool2dImpl::forward_with_indices(const Tensor& input) {
  const ForwardScope scope(*this);
  return F::max_pool2d_with_indices(input, options);
}

Tensor MaxPool3dImpl::forward(const Tensor& input) {
  const ForwardScope scope(*this);
  return F::max_pool3d(input, options);
}
std::tuple<Tensor, Tensor> MaxPool3dImpl::forward_with_indices(const Tensor& input) {
  const ForwardScope scope(*this);
  return F::max_pool3d_with_indices(input, options);
}

Tensor AdaptiveMaxPool1dImpl::forward(const Tensor& input) {
  const ForwardScope scope(*this);
  return F::adaptive_max_pool1d(input, options);
}
std::tuple<Tensor, Tensor> AdaptiveMaxPool1dImpl::forward_with_indices(const Tensor& input) {
  const ForwardScope scope(*this);
  return F::adaptive_max_pool1d_with_indices(input, options);
}

Tensor AdaptiveMaxPool2dImpl::forward(const Tensor& input) {
  const ForwardScope scope(*this);
  return F::adaptive_max_pool2d(input, options);
}
std::tuple<Tensor, Tensor> AdaptiveMaxPool2dImpl::forward_with_indices(const Tensor& input) {
  const ForwardScope scope(*this);
  return F::adaptive_max_pool2d_with_indices(input, options);
}

Tensor AdaptiveMaxPool3dImpl::forward(const Tensor& input) {
  const ForwardScope scope(*this);
  return F::adaptive_max_pool3d(input, options);
}
std::tuple<Tensor, Tensor> AdaptiveMaxPool3dImpl::forward_with_indices(const Tensor& input) {
  const ForwardScope scope(*this);
  return F::adaptive_max_pool3d_with_indices(input, options);
}

Tensor AdaptiveAvgPool1dImpl::forward(const Tensor& input) {
  const ForwardScope scope(*this);
  return F::adaptive_avg_pool1d(input, options);
}

Tensor AdaptiveAvgPool2dImpl::forward(const Tensor& input) {
  const ForwardScope scope(*this);
  return F::adaptive_avg_pool2d(input, options);
}

Tensor AdaptiveAvgPool3dImpl::forward(const Tensor& input) {
  const ForwardScope scope(*this);
  return F::adaptive_avg_pool3d(input, options);
}

Tensor MaxUnpool1dImpl::forward(const Tensor& input, const Tensor& indices,
                                const std::optional<std::vector<int64_t>>& output_size) {
  const ForwardScope scope(*this);
  return F::max_unpool1d(input, indices,
                         F::MaxUnpool1dFuncOptions(options.kernel_size())
                             .stride(options.stride())
                             .padding(options.padding())
                             .output_size(output_size));
}

Tensor MaxUnpool2dImpl::forward(const Tensor& input, const Tensor& indices,
                                const std::optional<std::vector<int64_t>>& output_size) {
  const ForwardScope scope(*this);
  return F::max_unpool2d(input, indices,
                         F::MaxUnpool2dFuncOptions(options.kernel_size())
                             .stride(options.stride())
                             .padding(options.padding())
                             .output_size(output_size));
}

Tensor MaxUnpool3dImpl::forward(const Tensor& input, const Tensor& indices,
                                const std::optional<std::vector<int64_t>>& output_size) {
  const ForwardScope scope(*this);
  return F::max_unpool3d(input, indices,
                         F::MaxUnpool3dFuncOptions(options.kernel_size())
                             .stride(options.stride())
                             .padding(options.padding())
                             .output_size(output_size));
}

FractionalMaxPool2dImpl::FractionalMaxPool2dImpl(const FractionalMaxPool2dOptions& o) : options(o) {
  FractionalMaxPool2dImpl::reset();
}
void FractionalMaxPool2dImpl::reset() {
  _random_samples = register_buffer("_random_samples", options._random_samples());
  TANDEM_CHECK(options.output_size() || options.output_ratio(),
               "FractionalMaxPool2d requires specifying either an output size, or a pooling ratio");
  TANDEM_CHECK(!options.output_size() || !options.output_ratio(),
               "only one of output_size and output_ratio may be specified");
  if (!options.output_ratio()) return;
  for (const double ratio : **options.output_ratio())
    TANDEM_CHECK(ratio > 0 && ratio < 1, "output_ratio must be between 0 and 1 (got ", ratio, ")");
}
void FractionalMaxPool2dImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"FractionalMaxPool2d"} << "()";
}
Tensor FractionalMaxPool2dImpl::forward(const Tensor& input) {
  return std::get<0>(forward_with_indices(input));
}
std::tuple<Tensor, Tensor> FractionalMaxPool2dImpl::forward_with_indices(const Tensor& input) {
  const ForwardScope scope(*this);
  FractionalMaxPool2dOptions o = options;
  return F::fractional_max_pool2d_with_indices(input, o._random_samples(_random_samples));
}

FractionalMaxPool3dImpl::FractionalMaxPool3dImpl(const FractionalMaxPool3dOptions& o) : options(o) {
  FractionalMaxPool3dImpl::reset();
}
void FractionalMaxPool3dImpl::reset() {
  _random_samples = register_buffer("_random_samples", options._random_samples());
  TANDEM_CHECK(options.output_size() || options.output_ratio(),
               "FractionalMaxPool3d requires specifying either an output size, or a pooling ratio");
  TANDEM_CHECK(!options.output_size() || !options.output_ratio(),
               "only one of output_size and output_ratio may be specified");
  if (!options.output_ratio()) return;
  for (const double ratio : **options.output_ratio())
    TANDEM_CHECK(ratio > 0 && ratio < 1, "output_ratio must be between 0 and 1 (got ", ratio, ")");
}
void FractionalMaxPool3dImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"FractionalMaxPool3d"} << "()";
}
Tensor FractionalMaxPool3dImpl::forward(const Tensor& input) {
  return std::get<0>(forward_with_indices(input));
}
std::tuple<Tensor, Tensor> FractionalMaxPool3dImpl::forward_with_indices(const Tensor& input) {
  const ForwardScope scope(*this);
  FractionalMaxPool3dOptions o = options;
  return F::fractional_max_pool3d_with_indices(input, o._random_samples(_random_samples));
}

Tensor LPPool1dImpl::forward(const Tensor& input) {
  const ForwardScope scope(*this);
  return F::lp_pool1d(input, options);
}

Tensor LPPool2dImpl::forward(const Tensor& input) {
  const ForwardScope scope(*this);
  return F::lp_pool2d(input, options);
}

template class AvgPoolImpl<1, AvgPool1dImpl>;
template class AvgPoolImpl<2, AvgPool2dImpl>;
template class AvgPoolImpl<3, AvgPool3dImpl>;
template class MaxPoolImpl<1, MaxPool1dImpl>;
template class MaxPoolImpl<2, MaxPool2dImpl>;
template class MaxPoolImpl<3, MaxPool3dImpl>;
template class MaxUnpoolImpl<1, MaxUnpool1dImpl>;
template class MaxUnpoolImpl<2, MaxUnpool2dImpl>;
template class MaxUnpoolImpl<3, MaxUnpool3dImpl>;
template class LPPoolImpl<1, LPPool1dImpl>;
template class LPPoolImpl<2, LPPool2dImpl>;
template class AdaptiveMaxPoolImpl<1, ExpandingArray<1>, AdaptiveMaxPool1dImpl>;
template class AdaptiveMaxPoolImpl<2, ExpandingArrayWithOptionalElem<2>, AdaptiveMaxPool2dImpl>;
template class AdaptiveMaxPoolImpl<3, ExpandingArrayWithOptionalElem<3>, AdaptiveMaxPool3dImpl>;
template class AdaptiveAvgPoolImpl<1, ExpandingArray<1>, AdaptiveAvgPool1dImpl>;
template class AdaptiveAvgPoolImpl<2, ExpandingArrayWithOptionalElem<2>, AdaptiveAvgPool2dImpl>;
template class AdaptiveAvgPoolImpl<3, ExpandingArrayWithOptionalElem<3>, AdaptiveAvgPool3dImpl>;

}  // namespace tandem::nn
