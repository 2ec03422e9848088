#pragma once

#include <cstdint>
#include <vector>

#include "tandem/base/arg.h"

namespace tandem::nn {

struct AdaptiveLogSoftmaxWithLossOptions {
  AdaptiveLogSoftmaxWithLossOptions(int64_t in_features, int64_t n_classes,
                                    std::vector<int64_t> cutoffs)
      : in_features_(in_features), n_classes_(n_classes), cutoffs_(std::move(cutoffs)) {}
  TANDEM_ARG(int64_t, in_features);
  TANDEM_ARG(int64_t, n_classes);
  /// Classes from one cutoff to the next form a cluster; those before the first are the shortlist.
  TANDEM_ARG(std::vector<int64_t>, cutoffs);
  /// Each cluster has this many times fewer features than the one before.
  TANDEM_ARG(double, div_value) = 4.;
  TANDEM_ARG(bool, head_bias) = false;
};

}  // namespace tandem::nn
