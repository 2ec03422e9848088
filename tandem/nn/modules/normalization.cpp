#include "tandem/nn/modules/normalization.h"

#include "tandem/nn/functional/normalization.h"
#include "tandem/nn/modules/truth.h"
#include "tandem/ops/ops.h"

namespace tandem::nn {
namespace {

void fill_norm(const Tensor& weight, const Tensor& bias) {
  if (!weight.defined()) return;
  const NoGradGuard no_grad;
  weight.fill_(1);
  bias.zero_();
}

template <class Options>
void print_lrn(std::ostream& stream, const char* name, const Options& o) {
  stream << PrintedName{name} << "(" << o.size() << ", alpha=" << o.alpha() << ", beta=" << o.beta()
         << ", k=" << o.k() << ")";
}

}  // namespace

LayerNormImpl::LayerNormImpl(const LayerNormOptions& options_) : options(options_) {
  LayerNormImpl::reset();
}
void LayerNormImpl::reset() {
  const bool affine = options.elementwise_affine();
  const IntArrayRef shape(options.normalized_shape());
  weight = register_parameter("weight", affine ? empty(shape) : Tensor(), affine);
  bias = register_parameter("bias", affine ? empty(shape) : Tensor(), affine);
  reset_parameters();
}
void LayerNormImpl::reset_parameters() { fill_norm(weight, bias); }
void LayerNormImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"LayerNorm"} << "(" << IntArrayRef(options.normalized_shape())
         << ", eps=" << options.eps()
         << ", elementwise_affine=" << detail::truth(options.elementwise_affine()) << ")";
}
Tensor LayerNormImpl::forward(const Tensor& input) {
  const ForwardScope scope(*this);
  return layer_norm(input, options.normalized_shape(), weight, bias, options.eps());
}

Tensor LocalResponseNormImpl::forward(const Tensor& input) {
  const ForwardScope scope(*this);
  return functional::local_response_norm(input, options);
}
void LocalResponseNormImpl::pretty_print(std::ostream& stream) const {
  print_lrn(stream, "LocalResponseNorm", options);
}

Tensor CrossMapLRN2dImpl::forward(const Tensor& input) {
  const ForwardScope scope(*this);
  return functional::cross_map_lrn2d(input, options);
}
void CrossMapLRN2dImpl::pretty_print(std::ostream& stream) const {
  print_lrn(stream, "CrossMapLRN2d", options);
}

GroupNormImpl::GroupNormImpl(const GroupNormOptions& options_) : options(options_) {
  GroupNormImpl::reset();
}
void GroupNormImpl::reset() {
  TANDEM_CHECK(options.num_groups() > 0 && options.num_channels() % options.num_groups() == 0,
               "GroupNorm: num_channels must be divisible by num_groups, got ",
               options.num_channels(), " and ", options.num_groups());
  const bool affine = options.affine();
  weight =
      register_parameter("weight", affine ? empty({options.num_channels()}) : Tensor(), affine);
  bias = register_parameter("bias", affine ? empty({options.num_channels()}) : Tensor(), affine);
  reset_parameters();
}
void GroupNormImpl::reset_parameters() { fill_norm(weight, bias); }
void GroupNormImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"GroupNorm"} << "(" << options.num_groups() << ", "
         << options.num_channels() << ", eps=" << options.eps()
         << ", affine=" << detail::truth(options.affine()) << ")";
}
Tensor GroupNormImpl::forward(const Tensor& input) {
  const ForwardScope scope(*this);
  return group_norm(input, options.num_groups(), weight, bias, options.eps());
}

}  // namespace tandem::nn
