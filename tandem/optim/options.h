#pragma once

#include <tuple>

/// What optimisers can be told, with LibTorch's names.
namespace tandem::optim {

#define TANDEM_OPTION(type, name, ...)         \
 public:                                       \
  type& name() { return name##_; }             \
  const type& name() const { return name##_; } \
  auto& name(type value) {                     \
    name##_ = value;                           \
    return *this;                              \
  }                                            \
                                               \
 private:                                      \
  type name##_ = __VA_ARGS__

class SGDOptions {
 public:
  explicit SGDOptions(double lr) : lr_(lr) {}
  TANDEM_OPTION(double, lr, 0);
  TANDEM_OPTION(double, momentum, 0);
  TANDEM_OPTION(double, dampening, 0);
  TANDEM_OPTION(double, weight_decay, 0);
  TANDEM_OPTION(bool, nesterov, false);
};

class AdamOptions {
 public:
  explicit AdamOptions(double lr = 1e-3) : lr_(lr) {}
  using Betas = std::tuple<double, double>;
  TANDEM_OPTION(double, lr, 1e-3);
  TANDEM_OPTION(Betas, betas, {0.9, 0.999});
  TANDEM_OPTION(double, eps, 1e-8);
  TANDEM_OPTION(double, weight_decay, 0);
  TANDEM_OPTION(bool, amsgrad, false);
};

#undef TANDEM_OPTION

}  // namespace tandem::optim
