#pragma once

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "tandem/base/arg.h"
#include "tandem/optim/number.h"

/// What optimisers can be told, with LibTorch's names.
namespace tandem::optim {

/// The options of one group of parameters; each optimiser has its own.
class OptimizerOptions {
 public:
  virtual ~OptimizerOptions() = default;
  virtual std::unique_ptr<OptimizerOptions> clone() const;
  virtual double get_lr() const;
  virtual void set_lr(const double lr);

  /// One option, for whoever saves or restores them all.
  struct Field {
    const char* name;
    std::variant<Number*, Flag*, int64_t*, double*, std::optional<int64_t>*,
                 std::optional<std::string>*>
        value;
  };
  virtual std::vector<Field> fields() { return {}; }
};

/// Derive from it as `struct MyOptions : OptimizerCloneableOptions<MyOptions>`.
template <class Derived>
class OptimizerCloneableOptions : public OptimizerOptions {
 private:
  std::unique_ptr<OptimizerOptions> clone() const override {
    return std::make_unique<Derived>(static_cast<const Derived&>(*this));
  }
};

/// The learning rate as those who know only OptimizerOptions see it.
#define TANDEM_LEARNING_RATE                     \
  double get_lr() const override { return lr_; } \
  void set_lr(const double lr) override { lr_ = lr; }

struct SGDOptions : OptimizerCloneableOptions<SGDOptions> {
  SGDOptions(double lr) : lr_(lr) {}
  TANDEM_ARG(Number, lr);
  TANDEM_ARG(Number, momentum) = 0;
  TANDEM_ARG(Number, dampening) = 0;
  TANDEM_ARG(Number, weight_decay) = 0;
  TANDEM_ARG(Flag, nesterov) = false;

 public:
  TANDEM_LEARNING_RATE
  std::vector<Field> fields() override;
  friend bool operator==(const SGDOptions& a, const SGDOptions& b);
};

/// The two weights of running averages; used like a std::tuple<double, double>.
using Betas = std::tuple<Number, Number>;

struct AdamOptions : OptimizerCloneableOptions<AdamOptions> {
  AdamOptions(double lr = 1e-3) : lr_(lr) {}
  using betas_t = std::tuple<double, double>;
  TANDEM_ARG(Number, lr);
  TANDEM_ARG(Betas, betas) = {0.9, 0.999};
  TANDEM_ARG(Number, eps) = 1e-8;
  TANDEM_ARG(Number, weight_decay) = 0;
  TANDEM_ARG(Flag, amsgrad) = false;

 public:
  TANDEM_LEARNING_RATE
  std::vector<Field> fields() override;
  friend bool operator==(const AdamOptions& a, const AdamOptions& b);
};

struct AdamWOptions : OptimizerCloneableOptions<AdamWOptions> {
  AdamWOptions(double lr = 1e-3) : lr_(lr) {}
  using betas_t = std::tuple<double, double>;
  TANDEM_ARG(Number, lr);
  TANDEM_ARG(Betas, betas) = {0.9, 0.999};
  TANDEM_ARG(Number, eps) = 1e-8;
  TANDEM_ARG(Number, weight_decay) = 1e-2;
  TANDEM_ARG(Flag, amsgrad) = false;

 public:
  TANDEM_LEARNING_RATE
  std::vector<Field> fields() override;
  friend bool operator==(const AdamWOptions& a, const AdamWOptions& b);
};

struct RMSpropOptions : OptimizerCloneableOptions<RMSpropOptions> {
  RMSpropOptions(double lr = 1e-2) : lr_(lr) {}
  TANDEM_ARG(Number, lr);
  TANDEM_ARG(Number, alpha) = 0.99;
  TANDEM_ARG(Number, eps) = 1e-8;
  TANDEM_ARG(Number, weight_decay) = 0;
  TANDEM_ARG(Number, momentum) = 0;
  TANDEM_ARG(Flag, centered) = false;

 public:
  TANDEM_LEARNING_RATE
  std::vector<Field> fields() override;
  friend bool operator==(const RMSpropOptions& a, const RMSpropOptions& b);
};

struct AdagradOptions : OptimizerCloneableOptions<AdagradOptions> {
  AdagradOptions(double lr = 1e-2) : lr_(lr) {}
  TANDEM_ARG(Number, lr);
  TANDEM_ARG(Number, lr_decay) = 0;
  TANDEM_ARG(Number, weight_decay) = 0;
  TANDEM_ARG(Number, initial_accumulator_value) = 0;
  TANDEM_ARG(Number, eps) = 1e-10;

 public:
  TANDEM_LEARNING_RATE
  std::vector<Field> fields() override;
  friend bool operator==(const AdagradOptions& a, const AdagradOptions& b);
};

struct LBFGSOptions : OptimizerCloneableOptions<LBFGSOptions> {
  LBFGSOptions(double lr = 1) : lr_(lr) {}
  TANDEM_ARG(Number, lr);
  TANDEM_ARG(int64_t, max_iter) = 20;
  TANDEM_ARG(std::optional<int64_t>, max_eval) = std::nullopt;
  TANDEM_ARG(double, tolerance_grad) = 1e-7;
  TANDEM_ARG(double, tolerance_change) = 1e-9;
  TANDEM_ARG(int64_t, history_size) = 100;
  TANDEM_ARG(std::optional<std::string>, line_search_fn) = std::nullopt;

 public:
  TANDEM_LEARNING_RATE
  std::vector<Field> fields() override;
  friend bool operator==(const LBFGSOptions& a, const LBFGSOptions& b);
};

struct LionOptions : OptimizerCloneableOptions<LionOptions> {
  LionOptions(double lr = 1e-4) : lr_(lr) {}
  using betas_t = std::tuple<double, double>;
  TANDEM_ARG(Number, lr);
  TANDEM_ARG(Betas, betas) = {0.9, 0.99};
  TANDEM_ARG(Number, weight_decay) = 0;

 public:
  TANDEM_LEARNING_RATE
  std::vector<Field> fields() override;
  friend bool operator==(const LionOptions& a, const LionOptions& b);
};

#undef TANDEM_LEARNING_RATE

/// Refuses what no step can be made with, in LibTorch's words.
void check(const SGDOptions& o);
void check(const AdamOptions& o);
void check(const AdamWOptions& o);
void check(const RMSpropOptions& o);
void check(const AdagradOptions& o);
void check(const LBFGSOptions& o);
void check(const LionOptions& o);

}  // namespace tandem::optim
