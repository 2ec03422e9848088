#pragma once

#include <array>
#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tandem/core/tensor.h"

/// Lets checkpoint, gradcheck and the like take any function of tensors: of one or several tensors,
/// or of a list of them, that returns a tensor, a list, or a tuple of tensors.
namespace tandem::autograd {

using TensorFunction = std::function<variable_list(const variable_list&)>;

namespace detail {

template <class A>
concept TensorListLike = std::is_same_v<std::remove_cvref_t<A>, variable_list> ||
    std::is_same_v<std::remove_cvref_t<A>, TensorList>;

// What a callable takes. Of a generic lambda, and of overloads, it is not known.
template <class... A>
struct Parameters {};
struct UnknownParameters {};

template <class F>
struct ParametersOf;
template <class R, class... A>
struct ParametersOf<R (*)(A...)> : std::type_identity<Parameters<A...>> {};
template <class R, class... A>
struct ParametersOf<R (*)(A...) noexcept> : std::type_identity<Parameters<A...>> {};
template <class R, class C, class... A>
struct ParametersOf<R (C::*)(A...)> : std::type_identity<Parameters<A...>> {};
template <class R, class C, class... A>
struct ParametersOf<R (C::*)(A...) const> : std::type_identity<Parameters<A...>> {};
template <class R, class C, class... A>
struct ParametersOf<R (C::*)(A...) noexcept> : std::type_identity<Parameters<A...>> {};
template <class R, class C, class... A>
struct ParametersOf<R (C::*)(A...) const noexcept> : std::type_identity<Parameters<A...>> {};

template <class F>
constexpr auto parameters() {
  using D = std::decay_t<F>;
  if constexpr (requires { typename ParametersOf<D>::type; })
    return typename ParametersOf<D>::type();
  else if constexpr (requires { typename ParametersOf<decltype(&D::operator())>::type; })
    return typename ParametersOf<decltype(&D::operator())>::type();
  else
    return UnknownParameters();
}

// How many tensors a callable takes; 0: a list of them.
template <class... A>
constexpr int arity_of(Parameters<A...>) {
  return static_cast<int>(sizeof...(A));
}
template <TensorListLike A>
constexpr int arity_of(Parameters<A>) {
  return 0;
}

template <size_t>
using TensorRef = const Tensor&;
template <class F, size_t... I>
constexpr bool takes(std::index_sequence<I...>) {
  return std::is_invocable_v<F&, TensorRef<I>...>;
}
template <class F, int N = 1>
constexpr int first_arity() {
  static_assert(N <= 8, "the function must take tensors, or one list of tensors");
  if constexpr (takes<F>(std::make_index_sequence<N>()))
    return N;
  else
    return first_arity<F, N + 1>();
}

template <class F>
constexpr int arity() {
  constexpr auto known = parameters<F>();
  if constexpr (std::is_same_v<decltype(known), const UnknownParameters>)
    return first_arity<std::decay_t<F>>();  // the smallest number that fits
  else
    return arity_of(known);
}

template <class F>
decltype(auto) call_with_list(F& f, const variable_list& args) {
  constexpr int n = arity<F>();
  if constexpr (n == 0) {
    return f(args);
  } else {
    TANDEM_CHECK(args.size() == n, "the function takes ", n, " tensors, but ", args.size(),
                 " were given");
    return [&]<size_t... I>(std::index_sequence<I...>)->decltype(auto) { return f(args[I]...); }
    (std::make_index_sequence<n>());
  }
}

template <class R>
variable_list to_list(R&& result) {
  using T = std::remove_cvref_t<R>;
  if constexpr (std::is_same_v<T, Tensor>)
    return {std::forward<R>(result)};
  else if constexpr (std::is_same_v<T, variable_list>)
    return std::forward<R>(result);
  else
    return std::apply([](auto&&... t) { return variable_list{std::move(t)...}; }, result);
}

template <class R>
R from_list(variable_list list) {
  if constexpr (std::is_same_v<R, Tensor>)
    return std::move(list[0]);
  else if constexpr (std::is_same_v<R, variable_list>)
    return list;
  else
    return [&]<size_t... I>(std::index_sequence<I...>) { return R{std::move(list[I])...}; }
  (std::make_index_sequence<std::tuple_size_v<R>>());
}

template <class F>
using ResultOf = std::remove_cvref_t<decltype(call_with_list(std::declval<F&>(),
                                                             std::declval<variable_list>()))>;

}  // namespace detail

/// The same function from a list of tensors to a list of tensors.
template <class F>
TensorFunction tensor_function(F f) {
  if constexpr (std::is_same_v<F, TensorFunction>)
    return f;
  else
    return [f = std::move(f)](const variable_list& args) mutable {
      return detail::to_list(detail::call_with_list(f, args));
    };
}

}  // namespace tandem::autograd
