#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tandem/nn/module.h"
#include "tandem/optim/optim.h"

/// What a model is trained with: a loss, an optimiser, metrics; by name or of one's own.
namespace tandem::trainer {

/// From predictions and targets to a number; by name ("cross_entropy", "mse", ...) or any function.
class Loss {
 public:
  using Function = std::function<Tensor(const Tensor& prediction, const Tensor& target)>;
  Loss() = default;
  Loss(const char* name) : Loss(std::string(name)) {}
  Loss(const std::string& name);
  template <class F>
  requires std::is_invocable_r_v<Tensor, F&, const Tensor&, const Tensor&> Loss(F function)
      : name_("loss"), function_(std::move(function)) {}
  /// A module such as nn::CrossEntropyLoss.
  template <class M>
  requires requires(M& m, Tensor t) { m->forward(t, t); }
  Loss(M module)
      : name_("loss"), function_([module](const Tensor& p, const Tensor& t) mutable {
          return module->forward(p, t);
        }) {}

  const std::string& name() const { return name_; }
  explicit operator bool() const { return static_cast<bool>(function_); }
  Tensor operator()(const Tensor& prediction, const Tensor& target) const {
    return function_(prediction, target);
  }
  /// All names.
  static std::vector<std::string> names();

 private:
  std::string name_;
  Function function_;
};

/// A figure over many batches: each gives a few sums, and a number is made of their totals. Nothing
/// is looked at while batches run.
class Metric {
 public:
  /// A tensor of one dimension.
  using Sums = std::function<Tensor(const Tensor& prediction, const Tensor& target)>;
  using Finish = std::function<double(const std::vector<double>& totals)>;
  Metric(const char* name) : Metric(std::string(name)) {}
  Metric(const std::string& name);
  Metric(std::string name, Sums sums, Finish finish)
      : name(std::move(name)), sums(std::move(sums)), finish(std::move(finish)) {}
  /// The mean over all examples of a function that gives a batch's mean.
  Metric(std::string name, Loss::Function mean);
  static std::vector<std::string> names();

  std::string name;
  Sums sums;
  Finish finish;
};

/// An optimiser's options, or its name, or one that exists already.
class OptimizerChoice {
 public:
  OptimizerChoice() = default;
  OptimizerChoice(const char* name) : OptimizerChoice(std::string(name)) {}
  OptimizerChoice(const std::string& name);
  OptimizerChoice(const optim::SGDOptions& o) : make_(maker<optim::SGD>(o)) {}
  OptimizerChoice(const optim::AdamOptions& o) : make_(maker<optim::Adam>(o)) {}
  OptimizerChoice(const optim::AdamWOptions& o) : make_(maker<optim::AdamW>(o)) {}
  OptimizerChoice(const optim::RMSpropOptions& o) : make_(maker<optim::RMSprop>(o)) {}
  OptimizerChoice(const optim::AdagradOptions& o) : make_(maker<optim::Adagrad>(o)) {}
  OptimizerChoice(const optim::LionOptions& o) : make_(maker<optim::Lion>(o)) {}
  OptimizerChoice(std::shared_ptr<optim::Optimizer> o)
      : make_([o](const std::vector<Tensor>&) { return o; }) {}

  explicit operator bool() const { return static_cast<bool>(make_); }
  std::shared_ptr<optim::Optimizer> make(const std::vector<Tensor>& parameters) const {
    return make_(parameters);
  }
  static std::vector<std::string> names();

 private:
  using Make = std::function<std::shared_ptr<optim::Optimizer>(const std::vector<Tensor>&)>;
  template <class O, class Options>
  static Make maker(const Options& options) {
    return [options](const std::vector<Tensor>& p) { return std::make_shared<O>(p, options); };
  }
  Make make_;
};

}  // namespace tandem::trainer
