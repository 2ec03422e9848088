#pragma once

#include <concepts>
#include <utility>
#include <vector>

#include "tandem/compile/vmap.h"

/// Derivatives of functions of tensors.
///
/// A function takes one or several tensors, or a list of them, and returns a tensor, a list or a
/// tuple. Inputs need not require a gradient. Where they do, or something does that the function
/// takes from outside, results can be differentiated again; so the transforms can be nested, and
/// put into each other, into vmap and into compile in any order. An input that a result does not
/// depend on has a derivative of zero.
namespace tandem {

namespace detail {
/// By result of fn, then by input.
std::vector<variable_list> jacobians(const autograd::TensorFunction& fn,
                                     const variable_list& inputs);
std::vector<variable_list> hessians(const autograd::TensorFunction& fn,
                                    const variable_list& inputs);
struct ResultsAndDerivatives {
  variable_list results, derivatives;
};
ResultsAndDerivatives vjp_list(const autograd::TensorFunction& fn, const variable_list& inputs,
                               const variable_list& vectors);
ResultsAndDerivatives jvp_list(const autograd::TensorFunction& fn, const variable_list& inputs,
                               const variable_list& vectors);
variable_list hvp_list(const autograd::TensorFunction& fn, const variable_list& inputs,
                       const variable_list& vectors);
variable_list one_jacobian(std::vector<variable_list> by_result);
variable_list per_sample(const autograd::TensorFunction& fn, const variable_list& parameters,
                         const variable_list& batch, const InDims& in_dims, bool create_graph);

// A tensor as such: a list in braces is not one.
template <class T>
concept IsTensor = std::same_as<T, Tensor>;
}  // namespace detail

/// All first derivatives of fn at x: shape [sizes of the result, sizes of x]. All rows are computed
/// at once, by one backward pass.
///
///   Tensor J = jacobian([](const Tensor& x) { return x.exp(); }, x);
template <class F, detail::IsTensor T>
Tensor jacobian(F fn, const T& x) {
  return detail::one_jacobian(detail::jacobians(autograd::tensor_function(std::move(fn)), {x}))[0];
}
/// The same for a function of several tensors: one Jacobian for each.
template <class F>
std::vector<Tensor> jacobian(F fn, const std::vector<Tensor>& inputs) {
  return detail::one_jacobian(detail::jacobians(autograd::tensor_function(std::move(fn)), inputs));
}

/// All second derivatives at x of fn, whose result is one number: shape [sizes of x, sizes of x].
template <class F, detail::IsTensor T>
Tensor hessian(F fn, const T& x) {
  return detail::hessians(autograd::tensor_function(std::move(fn)), {x})[0][0];
}
/// The same for a function of several tensors: [i][j] is by input i, then by input j.
template <class F>
std::vector<std::vector<Tensor>> hessian(F fn, const std::vector<Tensor>& inputs) {
  return detail::hessians(autograd::tensor_function(std::move(fn)), inputs);
}

/// The results of fn, and for each input the product of the vectors, one for each result, with the
/// Jacobian. Without vectors: the gradient of a result that is one number.
///
///   auto [out, grads] = vjp(fn, {x}, {v});
template <class F>
auto vjp(F fn, const std::vector<Tensor>& inputs, const std::vector<Tensor>& vectors = {}) {
  using Result = autograd::detail::ResultOf<F>;
  auto r = detail::vjp_list(autograd::tensor_function(std::move(fn)), inputs, vectors);
  return std::pair<Result, std::vector<Tensor>>(
      autograd::detail::from_list<Result>(std::move(r.results)), std::move(r.derivatives));
}

/// The results of fn, and for each result the product of the Jacobian with the vectors, one for
/// each input: in which direction the result moves when the inputs move in those directions.
///
///   auto [out, tangent] = jvp(fn, {x}, {v});
template <class F>
auto jvp(F fn, const std::vector<Tensor>& inputs, const std::vector<Tensor>& vectors) {
  using Result = autograd::detail::ResultOf<F>;
  auto r = detail::jvp_list(autograd::tensor_function(std::move(fn)), inputs, vectors);
  return std::pair<Result, Result>(autograd::detail::from_list<Result>(std::move(r.results)),
                                   autograd::detail::from_list<Result>(std::move(r.derivatives)));
}

/// The product of the Hessian of fn, whose result is one number, with a vector, without the
/// Hessian.
template <class F, detail::IsTensor T>
Tensor hvp(F fn, const T& x, const Tensor& v) {
  return detail::hvp_list(autograd::tensor_function(std::move(fn)), {x}, {v})[0];
}
template <class F>
std::vector<Tensor> hvp(F fn, const std::vector<Tensor>& inputs,
                        const std::vector<Tensor>& vectors) {
  return detail::hvp_list(autograd::tensor_function(std::move(fn)), inputs, vectors);
}

/// The gradients by the parameters of fn(sample), whose result is one number, for each sample of a
/// batch: shape [samples, sizes of the parameter].
///
///   auto grads = per_sample_gradients(
///       [&](const Tensor& x, const Tensor& y) { return (x.matmul(w) - y).square().sum(); },
///       {w}, {xs, ys});
template <class F>
std::vector<Tensor> per_sample_gradients(F fn, const std::vector<Tensor>& parameters,
                                         const std::vector<Tensor>& batch, InDims in_dims = {},
                                         bool create_graph = false) {
  return detail::per_sample(autograd::tensor_function(std::move(fn)), parameters, batch, in_dims,
                            create_graph);
}

}  // namespace tandem
