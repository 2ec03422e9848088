#pragma once

#include <deque>
#include <functional>
#include <initializer_list>
#include <unordered_map>

#include "tandem/optim/options.h"

namespace tandem::serialize {
class InputArchive;
class OutputArchive;
}  // namespace tandem::serialize

namespace tandem::optim {

/// What an optimiser remembers of one parameter; each optimiser has its own.
class OptimizerParamState {
 public:
  virtual ~OptimizerParamState() = default;
  virtual std::unique_ptr<OptimizerParamState> clone() const;

  /// One thing remembered, for whoever saves or restores them all. A Tensor has the parameter's
  /// shape and dtype; one that is `optional` may be undefined, and one that is `free` also has any
  /// shape.
  struct Field {
    const char* name;
    std::variant<Counter*, Tensor*, int64_t*, double*, std::deque<Tensor>*> value;
    enum { required, optional, free } kind = required;
  };
  virtual std::vector<Field> fields() { return {}; }
};

template <class Derived>
class OptimizerCloneableParamState : public OptimizerParamState {
  std::unique_ptr<OptimizerParamState> clone() const override {
    return std::make_unique<Derived>(static_cast<const Derived&>(*this));
  }
};

/// Parameters with the options that they are trained with.
class OptimizerParamGroup {
 public:
  OptimizerParamGroup(const OptimizerParamGroup& o);
  OptimizerParamGroup(std::vector<Tensor> params, std::unique_ptr<OptimizerOptions> options = {})
      : params_(std::make_shared<std::vector<Tensor>>(std::move(params))),
        options_(std::move(options)) {}
  OptimizerParamGroup& operator=(const OptimizerParamGroup& o);

  bool has_options() const { return options_ != nullptr; }
  OptimizerOptions& options();
  const OptimizerOptions& options() const;
  void set_options(std::unique_ptr<OptimizerOptions> options);
  std::vector<Tensor>& params() { return *params_; }
  const std::vector<Tensor>& params() const { return *params_; }

  /// The learning rate that schedules start from: that of the moment when the first one was made.
  std::optional<double>& initial_lr() { return initial_lr_; }

 private:
  friend class Optimizer;

  std::shared_ptr<std::vector<Tensor>> params_;  // its own; recordings look at it
  std::unique_ptr<OptimizerOptions> options_;

  std::optional<double> initial_lr_;
  Watched watched_;
};

/// What a parameter's state is found by: the address of the tensor, or that address as text, as
/// LibTorch has it.
class ParamKey {
 public:
  ParamKey(const void* address) : address_(reinterpret_cast<uintptr_t>(address)) {}
  ParamKey(const std::string& text);
  ParamKey(const char* text) : ParamKey(std::string(text)) {}
  operator std::string() const;
  friend bool operator==(const ParamKey&, const ParamKey&) = default;
  struct Hash {
    size_t operator()(const ParamKey& k) const { return std::hash<uintptr_t>()(k.address_); }
  };

 private:
  uintptr_t address_;
};

/// All that an optimiser is beside its parameters, as named tensors and numbers in a fixed order:
/// what a checkpoint holds. Numbers come first: "groups.0.lr", "state.3.step"; then tensors:
/// "state.3.exp_avg". Parameters are counted over all groups.
struct OptimizerState {
  std::string optimizer;  // "Adam"
  std::vector<std::pair<std::string, Scalar>> numbers;
  std::vector<std::pair<std::string, Tensor>> tensors;
};

/// Changes parameters so that a loss gets smaller, by their gradients:
///
///     optim::Adam optimizer(model->parameters(), optim::AdamOptions(1e-3));
///     for (...) {
///       optimizer.zero_grad();
///       loss_of(model, batch).backward();
///       optimizer.step();
///     }
///
/// The same three lines can be part of a compiled function. Learning rates and other options may
/// then be changed between its calls, by hand or by a schedule, and counters and averages go on as
/// they would otherwise. Other parameters in a group, another group and load_state_dict are
/// noticed.
class Optimizer {
 public:
  using LossClosure = std::function<Tensor()>;
  using StateMap =
      std::unordered_map<ParamKey, std::unique_ptr<OptimizerParamState>, ParamKey::Hash>;

  explicit Optimizer(std::vector<OptimizerParamGroup> param_groups,
                     std::unique_ptr<OptimizerOptions> defaults);
  explicit Optimizer(std::vector<Tensor> parameters, std::unique_ptr<OptimizerOptions> defaults)
      : Optimizer({OptimizerParamGroup(std::move(parameters))}, std::move(defaults)) {}
  Optimizer(const Optimizer&) = delete;
  Optimizer(Optimizer&&) = default;
  virtual ~Optimizer() = default;

  /// Adds a group. One without options gets the defaults.
  void add_param_group(const OptimizerParamGroup& param_group);

  /// Changes all parameters that have a gradient. With a closure, which computes the loss and its
  /// gradients, calls it first and gives the loss back.
  virtual Tensor step(LossClosure closure = nullptr) = 0;

  /// Makes all gradients zero, or with `set_to_none` forgets them, which is faster.
  void zero_grad(bool set_to_none = false);

  /// Makes a step with these gradients, each given with its parameter, instead of those that the
  /// parameters hold. Other parameters stay as they are, as do those whose gradient is undefined.
  void apply_gradients(const std::vector<std::pair<Tensor, Tensor>>& grads_and_params);

  /// These four are LibTorch's old interface, for the first group; they warn.
  void add_parameters(const std::vector<Tensor>& parameters);
  const std::vector<Tensor>& parameters() const;
  std::vector<Tensor>& parameters();
  size_t size() const;

  OptimizerOptions& defaults() noexcept { return *defaults_; }
  const OptimizerOptions& defaults() const noexcept { return *defaults_; }
  std::vector<OptimizerParamGroup>& param_groups() noexcept { return param_groups_; }
  const std::vector<OptimizerParamGroup>& param_groups() const noexcept { return param_groups_; }
  StateMap& state() noexcept { return state_; }
  const StateMap& state() const noexcept { return state_; }

  /// Options, counters and everything remembered. The tensors are the optimiser's own: clone()
  /// them if it makes further steps before they are used.
  OptimizerState state_dict() const;
  /// Puts everything back. What does not fit, by name, count, shape or dtype, is an error that
  /// says so and changes nothing.
  void load_state_dict(const OptimizerState& saved);
  /// The same to and from an archive; `tandem::save(optimizer, "file")` calls them.
  virtual void save(serialize::OutputArchive& archive) const;
  virtual void load(serialize::InputArchive& archive);

 protected:
  /// "Adam"; names the optimiser in messages and saved states.
  virtual const char* name() const { return "Optimizer"; }
  /// A state that remembers nothing yet; null for optimisers without any.
  virtual std::unique_ptr<OptimizerParamState> new_state() const { return nullptr; }

  /// The loss that the closure gives, with gradients; undefined without a closure.
  static Tensor evaluate(const LossClosure& closure);
  /// The group's options as those that recordings depend on, O being their type.
  template <class O>
  O& options_of(OptimizerParamGroup& group) const {
    use(group);
    return static_cast<O&>(group.options());
  }
  /// What is remembered of the parameter, made on first use.
  template <class S>
  S& state_of(const Tensor& p) {
    auto& slot = state_[p.impl()];
    if (!slot) slot = std::make_unique<S>();
    return static_cast<S&>(*slot);
  }
  /// A tensor like the parameter, filled with a value, that is there before and after whatever is
  /// being recorded.
  static Tensor like(const Tensor& p, double value = 0);

  std::vector<OptimizerParamGroup> param_groups_;
  StateMap state_;
  std::unique_ptr<OptimizerOptions> defaults_;

 private:
  void use(OptimizerParamGroup& group) const;

  Watched groups_watched_;
};

serialize::OutputArchive& operator<<(serialize::OutputArchive& archive, const Optimizer& optimizer);
serialize::InputArchive& operator>>(serialize::InputArchive& archive, Optimizer& optimizer);

}  // namespace tandem::optim
