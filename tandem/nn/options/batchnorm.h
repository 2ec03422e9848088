#pragma once

#include <cstdint>
#include <optional>

#include "tandem/base/arg.h"
#include "tandem/core/tensor.h"

namespace tandem::nn {

/// For BatchNorm1d, 2d and 3d.
struct BatchNormOptions {
  BatchNormOptions(int64_t num_features) : num_features_(num_features) {}
  TANDEM_ARG(int64_t, num_features);
  TANDEM_ARG(double, eps) = 1e-5;
  /// How fast the running statistics follow; nothing: they are the mean over all batches so far.
  TANDEM_ARG(std::optional<double>, momentum) = 0.1;
  TANDEM_ARG(bool, affine) = true;
  TANDEM_ARG(bool, track_running_stats) = true;
};
using BatchNorm1dOptions = BatchNormOptions;
using BatchNorm2dOptions = BatchNormOptions;
using BatchNorm3dOptions = BatchNormOptions;

namespace functional {

struct BatchNormFuncOptions {
  TANDEM_ARG(Tensor, weight) = Tensor();
  TANDEM_ARG(Tensor, bias) = Tensor();
  TANDEM_ARG(bool, training) = false;
  /// Nothing counts as 0: the running statistics stay.
  TANDEM_ARG(std::optional<double>, momentum) = 0.1;
  TANDEM_ARG(double, eps) = 1e-5;
};

}  // namespace functional
}  // namespace tandem::nn
