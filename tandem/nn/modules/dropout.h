#pragma once

#include "tandem/nn/cloneable.h"
#include "tandem/nn/options/dropout.h"

namespace tandem::nn {

namespace detail {

void check_dropout_probability(double p);

/// What all modules that drop at random share.
template <class Derived>
class _DropoutNd : public Cloneable<Derived> {
 public:
  _DropoutNd(double p) : _DropoutNd(DropoutOptions().p(p)) {}
  explicit _DropoutNd(const DropoutOptions& options_ = {}) : options(options_) {
    _DropoutNd::reset();
  }
  void reset() override { check_dropout_probability(options.p()); }

  DropoutOptions options;
};

}  // namespace detail

/// In training, elements become 0 with probability p and the others are divided by 1 - p.
class DropoutImpl : public detail::_DropoutNd<DropoutImpl> {
 public:
  using detail::_DropoutNd<DropoutImpl>::_DropoutNd;
  Tensor forward(Tensor input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_NN_MODULE(Dropout);

/// The same with whole channels of [N, C, H, W].
class Dropout2dImpl : public detail::_DropoutNd<Dropout2dImpl> {
 public:
  using detail::_DropoutNd<Dropout2dImpl>::_DropoutNd;
  Tensor forward(Tensor input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_NN_MODULE(Dropout2d);

/// The same with whole channels of [N, C, D, H, W].
class Dropout3dImpl : public detail::_DropoutNd<Dropout3dImpl> {
 public:
  using detail::_DropoutNd<Dropout3dImpl>::_DropoutNd;
  Tensor forward(Tensor input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_NN_MODULE(Dropout3d);

/// Keeps mean and standard deviation; goes with SELU.
class AlphaDropoutImpl : public detail::_DropoutNd<AlphaDropoutImpl> {
 public:
  using detail::_DropoutNd<AlphaDropoutImpl>::_DropoutNd;
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_NN_MODULE(AlphaDropout);

/// The same with whole channels.
class FeatureAlphaDropoutImpl : public detail::_DropoutNd<FeatureAlphaDropoutImpl> {
 public:
  using detail::_DropoutNd<FeatureAlphaDropoutImpl>::_DropoutNd;
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_NN_MODULE(FeatureAlphaDropout);

}  // namespace tandem::nn
