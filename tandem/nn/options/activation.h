#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tandem/base/arg.h"
#include "tandem/core/dtype.h"

/// Options of the activations, with LibTorch's names and defaults. `inplace` writes over the input.
namespace tandem::nn {

struct ELUOptions {
  TANDEM_ARG(double, alpha) = 1.0;
  TANDEM_ARG(bool, inplace) = false;
};
struct SELUOptions {
  SELUOptions(bool inplace = false) : inplace_(inplace) {}
  TANDEM_ARG(bool, inplace);
};
struct GLUOptions {
  GLUOptions(int64_t dim = -1) : dim_(dim) {}
  /// Dimension that is cut in halves.
  TANDEM_ARG(int64_t, dim);
};
struct GELUOptions {
  /// "none" or "tanh".
  TANDEM_ARG(std::string, approximate) = "none";
};
struct HardshrinkOptions {
  HardshrinkOptions(double lambda = 0.5) : lambda_(lambda) {}
  TANDEM_ARG(double, lambda);
};
struct HardtanhOptions {
  TANDEM_ARG(double, min_val) = -1.0;
  TANDEM_ARG(double, max_val) = 1.0;
  TANDEM_ARG(bool, inplace) = false;
};
struct HardsigmoidOptions {
  HardsigmoidOptions(bool inplace = false) : inplace_(inplace) {}
  TANDEM_ARG(bool, inplace);
};
struct HardswishOptions {
  HardswishOptions(bool inplace = false) : inplace_(inplace) {}
  TANDEM_ARG(bool, inplace);
};
struct LeakyReLUOptions {
  TANDEM_ARG(double, negative_slope) = 1e-2;
  TANDEM_ARG(bool, inplace) = false;
};
struct SoftmaxOptions {
  SoftmaxOptions(int64_t dim) : dim_(dim) {}
  TANDEM_ARG(int64_t, dim);
};
struct SoftminOptions {
  SoftminOptions(int64_t dim) : dim_(dim) {}
  TANDEM_ARG(int64_t, dim);
};
struct LogSoftmaxOptions {
  LogSoftmaxOptions(int64_t dim) : dim_(dim) {}
  TANDEM_ARG(int64_t, dim);
};
struct PReLUOptions {
  /// 1, or the number of channels.
  TANDEM_ARG(int64_t, num_parameters) = 1;
  TANDEM_ARG(double, init) = 0.25;
};
struct ReLUOptions {
  ReLUOptions(bool inplace = false) : inplace_(inplace) {}
  TANDEM_ARG(bool, inplace);
};
struct ReLU6Options {
  ReLU6Options(bool inplace = false) : inplace_(inplace) {}
  TANDEM_ARG(bool, inplace);
};
struct RReLUOptions {
  /// Slopes are drawn from [lower, upper).
  TANDEM_ARG(double, lower) = 1.0 / 8.0;
  TANDEM_ARG(double, upper) = 1.0 / 3.0;
  TANDEM_ARG(bool, inplace) = false;
};
struct CELUOptions {
  TANDEM_ARG(double, alpha) = 1.0;
  TANDEM_ARG(bool, inplace) = false;
};
struct SoftplusOptions {
  TANDEM_ARG(double, beta) = 1.0;
  /// Beyond it the function is the identity.
  TANDEM_ARG(double, threshold) = 20.0;
};
struct SoftshrinkOptions {
  SoftshrinkOptions(double lambda = 0.5) : lambda_(lambda) {}
  TANDEM_ARG(double, lambda);
};
struct ThresholdOptions {
  ThresholdOptions(double threshold, double value) : threshold_(threshold), value_(value) {}
  TANDEM_ARG(double, threshold);
  /// What stands where the input does not exceed the threshold.
  TANDEM_ARG(double, value);
  TANDEM_ARG(bool, inplace) = false;
};

namespace functional {

using ELUFuncOptions = ELUOptions;
using SELUFuncOptions = SELUOptions;
using GLUFuncOptions = GLUOptions;
using GELUFuncOptions = GELUOptions;
using HardshrinkFuncOptions = HardshrinkOptions;
using HardtanhFuncOptions = HardtanhOptions;
using HardsigmoidFuncOptions = HardsigmoidOptions;
using HardswishFuncOptions = HardswishOptions;
using LeakyReLUFuncOptions = LeakyReLUOptions;
using ReLUFuncOptions = ReLUOptions;
using ReLU6FuncOptions = ReLU6Options;
using CELUFuncOptions = CELUOptions;
using SoftplusFuncOptions = SoftplusOptions;
using SoftshrinkFuncOptions = SoftshrinkOptions;
using ThresholdFuncOptions = ThresholdOptions;

struct SoftmaxFuncOptions {
  SoftmaxFuncOptions(int64_t dim) : dim_(dim) {}
  TANDEM_ARG(int64_t, dim);
  /// The input is converted to it first.
  TANDEM_ARG(std::optional<DType>, dtype) = std::nullopt;
};
struct SoftminFuncOptions {
  SoftminFuncOptions(int64_t dim) : dim_(dim) {}
  TANDEM_ARG(int64_t, dim);
  TANDEM_ARG(std::optional<DType>, dtype) = std::nullopt;
};
struct LogSoftmaxFuncOptions {
  LogSoftmaxFuncOptions(int64_t dim) : dim_(dim) {}
  TANDEM_ARG(int64_t, dim);
  TANDEM_ARG(std::optional<DType>, dtype) = std::nullopt;
};
struct RReLUFuncOptions {
  TANDEM_ARG(double, lower) = 1.0 / 8.0;
  TANDEM_ARG(double, upper) = 1.0 / 3.0;
  /// False: the slope is the mean of the bounds.
  TANDEM_ARG(bool, training) = false;
  TANDEM_ARG(bool, inplace) = false;
};
struct GumbelSoftmaxFuncOptions {
  /// Temperature.
  TANDEM_ARG(double, tau) = 1.0;
  /// Results are one-hot, with the gradient of the soft ones.
  TANDEM_ARG(bool, hard) = false;
  TANDEM_ARG(int, dim) = -1;
};

}  // namespace functional
}  // namespace tandem::nn
