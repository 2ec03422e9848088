#pragma once

#include <functional>
#include <memory>
#include <sstream>

#include "tandem/autograd/callable.h"
#include "tandem/compile/structure.h"
#include "tandem/core/graph.h"

namespace tandem {

struct CompileOptions {
  /// Run eager beside every call and compare: an Error says which result differs by how much.
  bool verify = false;
  double verify_rtol = 1e-5, verify_atol = 1e-6;
  /// At most so many graphs for one function; a call that would need another one runs eager.
  size_t max_graphs = 64;
};

namespace detail {

/// The part of a compiled function that does not depend on its type.
class CompiledFunction {
 public:
  using Args = SmallVector<Tensor, 4>;
  /// Calls the user's function with these tensors in place of its own; its results as a list, and
  /// as they were.
  using Body = std::function<std::vector<Tensor>(ArrayRef<Tensor>, std::shared_ptr<const void>*)>;

  explicit CompiledFunction(CompileOptions options);
  ~CompiledFunction();
  CompiledFunction(const CompiledFunction&) = delete;
  CompiledFunction& operator=(const CompiledFunction&) = delete;

  /// True iff the function is to be called as it is: what it does is being recorded already.
  static bool is_inlined();
  /// The results of the call; `like` becomes what the function returned when it was recorded. Null
  /// where nobody asks.
  Args call(const Args& args, const structure::Key& key, const Body& body,
            std::shared_ptr<const void>* like);

  void explain(std::ostream& out) const;
  const Graph& graph() const;
  const Graph& optimised_graph() const;
  size_t graph_count() const;
  void reset();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace detail

namespace detail {

/// Lets Compiled<F>, which has call(), be called with whatever an F could be called with, such as
/// lists in braces.
template <class Derived, class F, class Parameters>
struct CallableAs {
  template <class... A>
  requires std::is_invocable_v<F&, A...> std::invoke_result_t<F&, A...>
  operator()(A&&... args) const {
    return static_cast<const Derived*>(this)->call(std::forward<A>(args)...);
  }
};
template <class Derived, class F, class... P>
struct CallableAs<Derived, F, autograd::detail::Parameters<P...>> {
  std::invoke_result_t<F&, P...> operator()(P... args) const {
    return static_cast<const Derived*>(this)->call(std::forward<P>(args)...);
  }
  /// With fewer arguments: the function has defaults for the others.
  template <class... A>
  requires(sizeof...(A) < sizeof...(P) &&
           std::is_invocable_v<F&, A...>) std::invoke_result_t<F&, A...>
  operator()(A&&... args) const {
    return static_cast<const Derived*>(this)->call(std::forward<A>(args)...);
  }
};

}  // namespace detail

/// A function that runs as an optimised plan; made by compile(). Copies share their plans.
template <class F>
class Compiled
    : public detail::CallableAs<Compiled<F>, F, decltype(autograd::detail::parameters<F>())> {
 public:
  Compiled(F fn, CompileOptions options)
      : shared_(std::make_shared<Shared>(std::move(fn), options)) {}

  /// As operator().
  template <class... A>
  requires std::is_invocable_v<F&, A...> std::invoke_result_t<F&, A...> call(A&&... args)
  const {
    using R = std::invoke_result_t<F&, A...>;
    using Value = std::remove_cvref_t<R>;
    F& fn = shared_->fn;
    if (detail::CompiledFunction::is_inlined()) return fn(std::forward<A>(args)...);
    detail::CompiledFunction::Args tensors;
    structure::Key key;
    (structure::collect(args, tensors, key), ...);
    const auto body = [&](ArrayRef<Tensor> in, std::shared_ptr<const void>* like) {
      // Tensors are handles, so the function gets a copy of each argument with others in it.
      std::tuple<Passed<A>...> copies(args...);
      size_t next = 0;
      std::apply([&](auto&... c) { (put_in(c, in, next), ...); }, copies);
      const auto call = [&](auto&... c) -> decltype(auto) { return fn(static_cast<A&&>(c)...); };
      std::vector<Tensor> list;
      if constexpr (std::is_void_v<R>) {
        std::apply(call, copies);
      } else {
        auto result = std::make_shared<Value>(std::apply(call, copies));
        structure::visit(
            *result, [&](Tensor& t) { list.push_back(t); }, [](const auto&) {});
        if (like) *like = std::move(result);
      }
      return list;
    };
    std::shared_ptr<const void> like;
    constexpr bool plain = std::is_same_v<Value, Tensor> || std::is_void_v<R>;
    // By reference: a std::function of the body itself would take memory in every call.
    detail::CompiledFunction::Args results =
        shared_->core.call(tensors, key, std::ref(body), plain ? nullptr : &like);
    if constexpr (std::is_same_v<Value, Tensor>) {
      return std::move(results[0]);
    } else if constexpr (!std::is_void_v<R>) {
      Value value = *static_cast<const Value*>(like.get());
      size_t next = 0;
      structure::replace(value, {results.data(), results.size()}, next);
      return value;
    }
  }

  /// Which graphs exist and why each was made, what was fused, memory planned, time per step.
  void explain(std::ostream& out) const { shared_->core.explain(out); }
  std::string explain() const;
  /// The graph of the latest call.
  const Graph& graph() const { return shared_->core.graph(); }
  /// What runs in its place: the same after all passes, with fused groups. draw() shows this one.
  const Graph& optimised_graph() const { return shared_->core.optimised_graph(); }
  /// How many were recorded since the beginning or the last reset().
  size_t graph_count() const { return shared_->core.graph_count(); }
  /// Forgets all graphs: the next call records anew.
  void reset() const { shared_->core.reset(); }

 private:
  struct Shared {
    Shared(F f, CompileOptions o) : fn(std::move(f)), core(o) {}
    F fn;
    detail::CompiledFunction core;
  };
  // What has no copy (modules by reference) is passed as it is.
  template <class A>
  static constexpr bool kCopied = std::is_copy_constructible_v<std::remove_cvref_t<A>>;
  template <class A>
  using Passed = std::conditional_t<kCopied<A>, std::remove_cvref_t<A>, A&>;
  template <class T>
  static void put_in(T& v, ArrayRef<Tensor> in, size_t& next) {
    structure::replace(v, in, next);
  }

  std::shared_ptr<Shared> shared_;
};

/// fn as an optimised plan: the first call for a signature (shapes, dtypes, grad mode, plain
/// values, flags read) records what it does, later ones run the plan.
///
///   auto step = compile([&](const Tensor& x, const Tensor& y) {
///     Tensor loss = (x.mm(w) - y).pow(2).mean();
///     loss.backward();
///     NoGradGuard no_grad;
///     w.sub_(w.grad() * 0.1);
///     w.grad().zero_();
///     return loss;
///   });
///
/// Everything that fn does to tensors is in the plan: gradients, updates in place, random numbers.
/// What it does to other things (counters, files, std::vectors) happens only when it is recorded.
template <class F>
Compiled<std::decay_t<F>> compile(F&& fn, CompileOptions options = {}) {
  return {std::forward<F>(fn), options};
}

template <class F>
std::string Compiled<F>::explain() const {
  std::ostringstream out;
  explain(out);
  return out.str();
}

}  // namespace tandem
