#pragma once

#include "tandem/nn/cloneable.h"
#include "tandem/nn/options/batchnorm.h"
#include "tandem/nn/options/instancenorm.h"

namespace tandem::nn {

/// What norms over channels share: parameters and running statistics.
template <size_t D, class Derived, class DerivedOptions>
class NormImplBase : public Cloneable<Derived> {
 public:
  NormImplBase(const DerivedOptions& options_) : options(options_) { NormImplBase::reset(); }
  void reset() override;
  void reset_running_stats();
  void reset_parameters();

  DerivedOptions options;
  Tensor weight, bias;               // undefined unless affine
  Tensor running_mean, running_var;  // undefined unless track_running_stats
  Tensor num_batches_tracked;        // int64, the same

 protected:
  virtual void _check_input_dim(const Tensor& input) = 0;
};

template <size_t D, class Derived>
class BatchNormImplBase : public NormImplBase<D, Derived, BatchNormOptions> {
 public:
  using NormImplBase<D, Derived, BatchNormOptions>::NormImplBase;
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};

class BatchNorm1dImpl;
class BatchNorm2dImpl;
class BatchNorm3dImpl;
extern template class NormImplBase<1, BatchNorm1dImpl, BatchNormOptions>;
extern template class NormImplBase<2, BatchNorm2dImpl, BatchNormOptions>;
extern template class NormImplBase<3, BatchNorm3dImpl, BatchNormOptions>;
extern template class BatchNormImplBase<1, BatchNorm1dImpl>;
extern template class BatchNormImplBase<2, BatchNorm2dImpl>;
extern template class BatchNormImplBase<3, BatchNorm3dImpl>;

/// Normalises each channel of [N, C] or [N, C, L] over the batch.
class BatchNorm1dImpl : public BatchNormImplBase<1, BatchNorm1dImpl> {
 public:
  using BatchNormImplBase<1, BatchNorm1dImpl>::BatchNormImplBase;

 protected:
  void _check_input_dim(const Tensor& input) override;
};
TANDEM_NN_MODULE(BatchNorm1d);

/// The same for [N, C, H, W].
class BatchNorm2dImpl : public BatchNormImplBase<2, BatchNorm2dImpl> {
 public:
  using BatchNormImplBase<2, BatchNorm2dImpl>::BatchNormImplBase;

 protected:
  void _check_input_dim(const Tensor& input) override;
};
TANDEM_NN_MODULE(BatchNorm2d);

/// The same for [N, C, D, H, W].
class BatchNorm3dImpl : public BatchNormImplBase<3, BatchNorm3dImpl> {
 public:
  using BatchNormImplBase<3, BatchNorm3dImpl>::BatchNormImplBase;

 protected:
  void _check_input_dim(const Tensor& input) override;
};
TANDEM_NN_MODULE(BatchNorm3d);

}  // namespace tandem::nn
