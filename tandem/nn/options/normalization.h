#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tandem/base/arg.h"
#include "tandem/core/tensor.h"

namespace tandem::nn {

struct LayerNormOptions {
  LayerNormOptions(std::vector<int64_t> normalized_shape)
      : normalized_shape_(std::move(normalized_shape)) {}
  /// Extents of the last dimensions, which are normalised together.
  TANDEM_ARG(std::vector<int64_t>, normalized_shape);
  TANDEM_ARG(double, eps) = 1e-5;
  TANDEM_ARG(bool, elementwise_affine) = true;
};

/// y = x / (k + alpha * mean of x^2 over `size` neighbouring channels)^beta.
struct LocalResponseNormOptions {
  LocalResponseNormOptions(int64_t size) : size_(size) {}
  TANDEM_ARG(int64_t, size);
  TANDEM_ARG(double, alpha) = 1e-4;
  TANDEM_ARG(double, beta) = 0.75;
  TANDEM_ARG(double, k) = 1.;
};

struct CrossMapLRN2dOptions {
  CrossMapLRN2dOptions(int64_t size) : size_(size) {}
  TANDEM_ARG(int64_t, size);
  TANDEM_ARG(double, alpha) = 1e-4;
  TANDEM_ARG(double, beta) = 0.75;
  TANDEM_ARG(int64_t, k) = 1;
};

struct GroupNormOptions {
  GroupNormOptions(int64_t num_groups, int64_t num_channels)
      : num_groups_(num_groups), num_channels_(num_channels) {}
  TANDEM_ARG(int64_t, num_groups);
  TANDEM_ARG(int64_t, num_channels);
  TANDEM_ARG(double, eps) = 1e-5;
  TANDEM_ARG(bool, affine) = true;
};

namespace functional {

struct LayerNormFuncOptions {
  LayerNormFuncOptions(std::vector<int64_t> normalized_shape)
      : normalized_shape_(std::move(normalized_shape)) {}
  TANDEM_ARG(std::vector<int64_t>, normalized_shape);
  TANDEM_ARG(Tensor, weight) = {};
  TANDEM_ARG(Tensor, bias) = {};
  TANDEM_ARG(double, eps) = 1e-5;
};

using LocalResponseNormFuncOptions = LocalResponseNormOptions;
using CrossMapLRN2dFuncOptions = CrossMapLRN2dOptions;

struct NormalizeFuncOptions {
  TANDEM_ARG(double, p) = 2.0;
  TANDEM_ARG(int64_t, dim) = 1;
  /// Norms below it count as it.
  TANDEM_ARG(double, eps) = 1e-12;
  /// Where the result is written to, if anywhere.
  TANDEM_ARG(std::optional<Tensor>, out) = std::nullopt;
};

struct GroupNormFuncOptions {
  GroupNormFuncOptions(int64_t num_groups) : num_groups_(num_groups) {}
  TANDEM_ARG(int64_t, num_groups);
  TANDEM_ARG(Tensor, weight) = {};
  TANDEM_ARG(Tensor, bias) = {};
  TANDEM_ARG(double, eps) = 1e-5;
};

}  // namespace functional
}  // namespace tandem::nn
