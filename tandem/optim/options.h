#pragma once

#include <tuple>

#include "tandem/base/arg.h"

/// What optimisers can be told, with LibTorch's names.
namespace tandem::optim {

class SGDOptions {
 public:
  explicit SGDOptions(double lr) : lr_(lr) {}
  TANDEM_ARG(double, lr) = 0;
  TANDEM_ARG(double, momentum) = 0;
  TANDEM_ARG(double, dampening) = 0;
  TANDEM_ARG(double, weight_decay) = 0;
  TANDEM_ARG(bool, nesterov) = false;
};

class AdamOptions {
 public:
  explicit AdamOptions(double lr = 1e-3) : lr_(lr) {}
  using Betas = std::tuple<double, double>;
  TANDEM_ARG(double, lr) = 1e-3;
  TANDEM_ARG(Betas, betas) = {0.9, 0.999};
  TANDEM_ARG(double, eps) = 1e-8;
  TANDEM_ARG(double, weight_decay) = 0;
  TANDEM_ARG(bool, amsgrad) = false;
};

}  // namespace tandem::optim
