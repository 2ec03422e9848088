#include "tandem/nn/modules/batchnorm.h"

#include "tandem/core/recorder.h"
#include "tandem/nn/functional/normalization.h"
#include "tandem/nn/modules/instancenorm.h"
#include "tandem/nn/modules/truth.h"
#include "tandem/ops/ops.h"

namespace tandem::nn {

template <size_t D, class Derived, class DerivedOptions>
void NormImplBase<D, Derived, DerivedOptions>::reset() {
  const int64_t n = options.num_features();
  TANDEM_CHECK(n >= 0, "num_features of a norm must not be negative, got ", n);
  const bool affine = options.affine(), tracked = options.track_running_stats();
  weight = this->register_parameter("weight", affine ? empty({n}) : Tensor(), affine);
  bias = this->register_parameter("bias", affine ? empty({n}) : Tensor(), affine);
  running_mean = this->register_buffer("running_mean", tracked ? zeros({n}) : Tensor());
  running_var = this->register_buffer("running_var", tracked ? ones({n}) : Tensor());
  num_batches_tracked = this->register_buffer(
      "num_batches_tracked", tracked ? zeros({}, TensorOptions().dtype(kLong)) : Tensor());
  reset_parameters();
}

template <size_t D, class Derived, class DerivedOptions>
void NormImplBase<D, Derived, DerivedOptions>::reset_running_stats() {
  if (!options.track_running_stats()) return;
  running_mean.zero_();
  running_var.fill_(1);
  num_batches_tracked.zero_();
}

template <size_t D, class Derived, class DerivedOptions>
void NormImplBase<D, Derived, DerivedOptions>::reset_parameters() {
  reset_running_stats();
  if (!options.affine()) return;
  const NoGradGuard no_grad;
  weight.fill_(1);
  bias.zero_();
}

namespace {

// Whoever gives a layer the wrong number of channels hears of the layer and of both numbers.
void check_channels(const char* name, size_t d, const Tensor& input, int64_t channel_dim,
                    int64_t features) {
  TANDEM_CHECK_SHAPE(input.size(channel_dim) == features, name, d, "d: expected ", features,
                     " channels (num_features) in dimension ", channel_dim, ", got ",
                     input.size(channel_dim), " in an input of shape ", input.sizes());
}

template <class Options>
void print(std::ostream& stream, const char* name, size_t d, const Options& o) {
  const std::string full = name + std::to_string(d) + "d";
  stream << PrintedName{full.c_str()} << "(" << o.num_features() << ", eps=" << o.eps()
         << ", momentum=";
  if constexpr (requires { o.momentum().has_value(); }) {
    if (o.momentum())
      stream << *o.momentum();
    else
      stream << "None";
  } else {
    stream << o.momentum();
  }
  stream << ", affine=" << detail::truth(o.affine())
         << ", track_running_stats=" << detail::truth(o.track_running_stats()) << ")";
}

}  // namespace

template <size_t D, class Derived>
Tensor BatchNormImplBase<D, Derived>::forward(const Tensor& input) {
  const ForwardScope scope(*this);
  this->_check_input_dim(input);
  const auto& o = this->options;
  check_channels("BatchNorm", D, input, 1, o.num_features());
  const bool training = this->is_training(), tracked = this->running_mean.defined();
  const auto count = [&](const Tensor& normed) {
    if (!training || !tracked || !this->num_batches_tracked.defined()) return normed;
    const NoGradGuard no_grad;
    const StateScope state(normed);
    this->num_batches_tracked.add_(1);
    return normed;
  };
  if (training && tracked && !o.momentum()) {
    // The mean over all batches so far. Their number is a tensor, so that compiled steps count on.
    const Tensor factor = [&] {
      const NoGradGuard no_grad;
      const OwnerScope owner(input);
      return (this->num_batches_tracked + 1).to(this->running_mean.dtype()).reciprocal();
    }();
    return count(batch_norm(input, this->weight, this->bias, this->running_mean, this->running_var,
                            factor, o.eps()));
  }
  return count(functional::batch_norm(input, this->running_mean, this->running_var,
                                      functional::BatchNormFuncOptions()
                                          .weight(this->weight)
                                          .bias(this->bias)
                                          .training(training || !o.track_running_stats())
                                          .momentum(o.momentum())
                                          .eps(o.eps())));
}

template <size_t D, class Derived>
void BatchNormImplBase<D, Derived>::pretty_print(std::ostream& stream) const {
  print(stream, "BatchNorm", D, this->options);
}

template class NormImplBase<1, BatchNorm1dImpl, BatchNormOptions>;
template class NormImplBase<2, BatchNorm2dImpl, BatchNormOptions>;
template class NormImplBase<3, BatchNorm3dImpl, BatchNormOptions>;
template class BatchNormImplBase<1, BatchNorm1dImpl>;
template class BatchNormImplBase<2, BatchNorm2dImpl>;
template class BatchNormImplBase<3, BatchNorm3dImpl>;

void BatchNorm1dImpl::_check_input_dim(const Tensor& input) {
  TANDEM_CHECK_SHAPE(input.dim() == 2 || input.dim() == 3, "expected 2D or 3D input (got ",
                     input.dim(), "D input)");
}
void BatchNorm2dImpl::_check_input_dim(const Tensor& input) {
  TANDEM_CHECK_SHAPE(input.dim() == 4, "expected 4D input (got ", input.dim(), "D input)");
}
void BatchNorm3dImpl::_check_input_dim(const Tensor& input) {
  TANDEM_CHECK_SHAPE(input.dim() == 5, "expected 5D input (got ", input.dim(), "D input)");
}

// -- instance norms ---------------------------------------------------------------------------

template <size_t D, class Derived>
Tensor InstanceNormImpl<D, Derived>::forward(const Tensor& input) {
  const ForwardScope scope(*this);
  this->_check_input_dim(input);
  const auto& o = this->options;
  const bool single = input.dim() == static_cast<int64_t>(D) + 1;
  // Without parameters and statistics any number of channels will do, as in LibTorch.
  if (this->weight.defined() || this->running_mean.defined())
    check_channels("InstanceNorm", D, input, single ? 0 : 1, o.num_features());
  const Tensor y = functional::instance_norm(
      single ? input.unsqueeze(0) : input,
      functional::InstanceNormFuncOptions()
          .running_mean(this->running_mean)
          .running_var(this->running_var)
          .weight(this->weight)
          .bias(this->bias)
          .use_input_stats(this->is_training() || !o.track_running_stats())
          .momentum(o.momentum())
          .eps(o.eps()));
  return single ? y.squeeze(0) : y;
}

template <size_t D, class Derived>
void InstanceNormImpl<D, Derived>::pretty_print(std::ostream& stream) const {
  print(stream, "InstanceNorm", D, this->options);
}

template class NormImplBase<1, InstanceNorm1dImpl, InstanceNormOptions>;
template class NormImplBase<2, InstanceNorm2dImpl, InstanceNormOptions>;
template class NormImplBase<3, InstanceNorm3dImpl, InstanceNormOptions>;
template class InstanceNormImpl<1, InstanceNorm1dImpl>;
template class InstanceNormImpl<2, InstanceNorm2dImpl>;
template class InstanceNormImpl<3, InstanceNorm3dImpl>;

void InstanceNorm1dImpl::_check_input_dim(const Tensor& input) {
  TANDEM_CHECK_SHAPE(input.dim() == 3 || input.dim() == 2, "expected 2D or 3D input (got ",
                     input.dim(), "D input)");
}
void InstanceNorm2dImpl::_check_input_dim(const Tensor& input) {
  TANDEM_CHECK_SHAPE(input.dim() == 4 || input.dim() == 3, "expected 3D or 4D input (got ",
                     input.dim(), "D input)");
}
void InstanceNorm3dImpl::_check_input_dim(const Tensor& input) {
  TANDEM_CHECK_SHAPE(input.dim() == 5 || input.dim() == 4, "expected 4D or 5D input (got ",
                     input.dim(), "D input)");
}

}  // namespace tandem::nn
