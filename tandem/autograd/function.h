#pragma once

#include <memory>
#include <string>
#include <tuple>
#include <typeinfo>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "tandem/autograd/autograd.h"
#include "tandem/autograd/callable.h"
#include "tandem/autograd/ivalue.h"
#include "tandem/core/node_extra.h"

namespace tandem::autograd {

/// A half-open range of tensor inputs of a custom function.
using IndexRange = std::pair<size_t, size_t>;

namespace detail {
class FunctionCall;
struct FunctionNode;
}  // namespace detail

/// What forward of a custom function leaves for its backward.
class AutogradContext {
 public:
  AutogradContext() = default;
  AutogradContext(const AutogradContext&) = delete;
  AutogradContext& operator=(const AutogradContext&) = delete;

  /// Anything that is no tensor, or a tensor that shall not be checked for later writes.
  std::unordered_map<std::string, IValue> saved_data;

  /// Keeps inputs and outputs of forward for backward. To be called at most once, in forward.
  void save_for_backward(variable_list to_save);
  /// What was given to save_for_backward; throws if one was written in place since.
  variable_list get_saved_variables() const;
  /// Inputs that forward has written in place. They must be returned as outputs.
  void mark_dirty(const variable_list& inputs);
  /// Outputs through which no gradient flows.
  void mark_non_differentiable(const variable_list& outputs);
  /// Whether backward gets zeros where nothing flowed back (the default) or undefined tensors.
  void set_materialize_grads(bool value) { materialize_grads_ = value; }
  /// Whether the gradient by the i-th tensor input is used: in backward, by this very pass.
  bool needs_input_grad(size_t i) const;
  /// Whether any in these ranges is.
  bool needs_input_grad(std::initializer_list<IndexRange> ranges) const;

 private:
  friend class detail::FunctionCall;
  friend struct detail::FunctionNode;
  struct SavedVariable {
    intrusive_ptr<TensorImpl> values;
    uint32_t version = 0;
    Edge history;     // empty for outputs of the function itself: they own it
    int output = -1;  // which output of the function it is
  };

  void keep(const Node& node);  // moves to_save_ into saved_

  bool materialize_grads_ = true;
  bool released_ = false;
  const Node* node_ = nullptr;
  const bool* needed_ = nullptr;  // by tensor input; valid in forward and in backward
  size_t n_needed_ = 0;
  variable_list to_save_;
  std::vector<SavedVariable> saved_;
  std::unordered_set<const TensorImpl*> dirty_, non_differentiable_;
};

namespace detail {

/// The part of a custom function's node that does not depend on its type.
struct FunctionNode : CustomBackward {
  explicit FunctionNode(const std::type_info& type);
  AutogradContext ctx;
  std::string function;         // the user's type, without its namespace
  std::vector<bool> is_tensor;  // by argument of forward; a list counts as its elements

  virtual variable_list backward(variable_list grads) = 0;
  std::vector<Tensor> run(const Node& node, std::vector<Tensor> grads, const bool* needed) override;
  void release() override;
  std::string name() const override { return function + "Backward"; }
};

template <class T>
struct FunctionNodeOf final : FunctionNode {
  FunctionNodeOf() : FunctionNode(typeid(T)) {}
  variable_list backward(variable_list grads) override {
    return T::backward(&ctx, std::move(grads));
  }
};

/// One call of a custom function, from its arguments to results that remember it.
class FunctionCall {
 public:
  explicit FunctionCall(std::unique_ptr<FunctionNode> node) : function_(std::move(node)) {}
  void add(const Tensor& t);
  void add_other() { function_->is_tensor.push_back(false); }
  /// To be called when all arguments have been added, before forward runs.
  AutogradContext* begin();
  variable_list finish(variable_list outputs);

 private:
  void attach(const NodePtr& node, uint32_t k, Tensor& out);
  bool is_input(const TensorImpl* t) const;

  std::unique_ptr<FunctionNode> function_;
  variable_list inputs_;
  std::vector<Edge> edges_;
  std::unique_ptr<bool[]> needed_;
  bool record_ = false;
};

template <class T>
void add_argument(FunctionCall& call, const T& arg) {
  if constexpr (std::is_same_v<T, Tensor>) {
    call.add(arg);
  } else if constexpr (std::is_same_v<T, std::optional<Tensor>>) {
    arg ? call.add(*arg) : call.add_other();
  } else if constexpr (std::is_convertible_v<const T&, TensorList>) {
    for (const Tensor& t : TensorList(arg)) call.add(t);
  } else {
    call.add_other();
  }
}

}  // namespace detail

/// A function with a gradient of one's own:
///
///   struct MyReLU : autograd::Function<MyReLU> {
///     static Tensor forward(AutogradContext* ctx, const Tensor& x) {
///       ctx->save_for_backward({x});
///       return x.clamp_min(0);
///     }
///     static variable_list backward(AutogradContext* ctx, variable_list grads) {
///       return {grads[0] * (ctx->get_saved_variables()[0] > 0)};
///     }
///   };
///   Tensor y = MyReLU::apply(x);
///
/// forward runs without grad mode and may take tensors, lists of tensors and anything else; apply
/// takes and returns the same. backward returns one gradient for each argument of forward,
/// undefined for those that are no tensors; what it computes from grads and saved tensors can be
/// differentiated again.
template <class T>
struct Function {
  template <class X = T, class... Args>
  static auto apply(Args&&... args)
      -> std::enable_if_t<std::is_same_v<X, T>,
                          std::remove_cvref_t<decltype(X::forward(std::declval<AutogradContext*>(),
                                                                  std::forward<Args>(args)...))>> {
    using Result = std::remove_cvref_t<decltype(X::forward(std::declval<AutogradContext*>(),
                                                           std::forward<Args>(args)...))>;
    detail::FunctionCall call(std::make_unique<detail::FunctionNodeOf<X>>());
    (detail::add_argument(call, args), ...);
    AutogradContext* ctx = call.begin();
    variable_list outputs;
    {
      AutoGradMode no_grad(false);
      outputs = detail::to_list(X::forward(ctx, std::forward<Args>(args)...));
    }
    return detail::from_list<Result>(call.finish(std::move(outputs)));
  }
};

/// Copies its inputs; no gradient flows back through it. For tests of functions that must cope.
struct UndefinedGrad {
  variable_list apply(variable_list inputs) const;
  variable_list operator()(variable_list inputs) const { return apply(std::move(inputs)); }
};

}  // namespace tandem::autograd
