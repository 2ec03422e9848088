#pragma once

#include <cstdint>

#include "tandem/base/arg.h"
#include "tandem/core/tensor.h"

namespace tandem::nn {

/// For InstanceNorm1d, 2d and 3d.
struct InstanceNormOptions {
  InstanceNormOptions(int64_t num_features) : num_features_(num_features) {}
  TANDEM_ARG(int64_t, num_features);
  TANDEM_ARG(double, eps) = 1e-5;
  TANDEM_ARG(double, momentum) = 0.1;
  TANDEM_ARG(bool, affine) = false;
  TANDEM_ARG(bool, track_running_stats) = false;
};
using InstanceNorm1dOptions = InstanceNormOptions;
using InstanceNorm2dOptions = InstanceNormOptions;
using InstanceNorm3dOptions = InstanceNormOptions;

namespace functional {

struct InstanceNormFuncOptions {
  TANDEM_ARG(Tensor, running_mean) = Tensor();
  TANDEM_ARG(Tensor, running_var) = Tensor();
  TANDEM_ARG(Tensor, weight) = Tensor();
  TANDEM_ARG(Tensor, bias) = Tensor();
  TANDEM_ARG(bool, use_input_stats) = true;
  TANDEM_ARG(double, momentum) = 0.1;
  TANDEM_ARG(double, eps) = 1e-5;
};

}  // namespace functional
}  // namespace tandem::nn
