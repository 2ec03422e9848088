#pragma once

#include <cstdint>

#include "tandem/base/arg.h"

namespace tandem::nn {

struct CosineSimilarityOptions {
  TANDEM_ARG(int64_t, dim) = 1;
  /// Bounds the norms.
  TANDEM_ARG(double, eps) = 1e-8;
};
namespace functional {
using CosineSimilarityFuncOptions = CosineSimilarityOptions;
}

struct PairwiseDistanceOptions {
  /// Of the norm.
  TANDEM_ARG(double, p) = 2.0;
  /// Added to every difference.
  TANDEM_ARG(double, eps) = 1e-6;
  TANDEM_ARG(bool, keepdim) = false;
};
namespace functional {
using PairwiseDistanceFuncOptions = PairwiseDistanceOptions;
}

}  // namespace tandem::nn
