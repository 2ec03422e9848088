#pragma once

#include "tandem/nn/modules/batchnorm.h"

namespace tandem::nn {

/// Normalises each channel of each sample; an input without samples is taken for one.
template <size_t D, class Derived>
class InstanceNormImpl : public NormImplBase<D, Derived, InstanceNormOptions> {
 public:
  using NormImplBase<D, Derived, InstanceNormOptions>::NormImplBase;
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};

class InstanceNorm1dImpl;
class InstanceNorm2dImpl;
class InstanceNorm3dImpl;
extern template class NormImplBase<1, InstanceNorm1dImpl, InstanceNormOptions>;
extern template class NormImplBase<2, InstanceNorm2dImpl, InstanceNormOptions>;
extern template class NormImplBase<3, InstanceNorm3dImpl, InstanceNormOptions>;
extern template class InstanceNormImpl<1, InstanceNorm1dImpl>;
extern template class InstanceNormImpl<2, InstanceNorm2dImpl>;
extern template class InstanceNormImpl<3, InstanceNorm3dImpl>;

/// For [N, C, L] or [C, L].
class InstanceNorm1dImpl : public InstanceNormImpl<1, InstanceNorm1dImpl> {
 public:
  using InstanceNormImpl<1, InstanceNorm1dImpl>::InstanceNormImpl;

 protected:
  void _check_input_dim(const Tensor& input) override;
};
TANDEM_NN_MODULE(InstanceNorm1d);

/// For [N, C, H, W] or [C, H, W].
class InstanceNorm2dImpl : public InstanceNormImpl<2, InstanceNorm2dImpl> {
 public:
  using InstanceNormImpl<2, InstanceNorm2dImpl>::InstanceNormImpl;

 protected:
  void _check_input_dim(const Tensor& input) override;
};
TANDEM_NN_MODULE(InstanceNorm2d);

/// For [N, C, D, H, W] or [C, D, H, W].
class InstanceNorm3dImpl : public InstanceNormImpl<3, InstanceNorm3dImpl> {
 public:
  using InstanceNormImpl<3, InstanceNorm3dImpl>::InstanceNormImpl;

 protected:
  void _check_input_dim(const Tensor& input) override;
};
TANDEM_NN_MODULE(InstanceNorm3d);

}  // namespace tandem::nn
