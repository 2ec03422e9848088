#pragma once

#include "tandem/autograd/callable.h"

namespace tandem {
namespace autograd {

struct GradcheckOptions {
  double eps = 1e-6;   // how far each value is moved for the finite difference
  double atol = 1e-5;  // allowed: atol + rtol * |numerical|
  double rtol = 1e-3;
  double nondet_tol = 0;        // how far two runs of the same backward may differ
  bool raise_exception = true;  // throw an Error that says what differs; otherwise return false
};

namespace detail {
bool gradcheck(const TensorFunction& fn, const variable_list& inputs,
               const GradcheckOptions& options);
bool gradgradcheck(const TensorFunction& fn, const variable_list& inputs,
                   const variable_list& grad_outputs, const GradcheckOptions& options);
}  // namespace detail

/// Compares the gradients that autograd computes for `fn` with finite differences:
///
///   gradcheck([](const Tensor& x, const Tensor& w) { return x.mm(w).tanh(); }, {x, w});
///
/// Inputs that require a gradient are checked; they should be of dtype float64, and their values
/// are moved in place and put back. `fn` must not change its inputs and must give the same results
/// each time.
template <class F>
bool gradcheck(F fn, const variable_list& inputs, const GradcheckOptions& options = {}) {
  return detail::gradcheck(tensor_function(std::move(fn)), inputs, options);
}
template <class F>
bool gradcheck(F fn, const variable_list& inputs, double eps, double atol = 1e-5,
               double rtol = 1e-3, bool raise_exception = true) {
  return gradcheck(std::move(fn), inputs,
                   GradcheckOptions{eps, atol, rtol, /*nondet_tol=*/0, raise_exception});
}

/// The same for the gradients of the gradients, by the inputs and by `grad_outputs`, which are
/// random when not given.
template <class F>
bool gradgradcheck(F fn, const variable_list& inputs, const variable_list& grad_outputs = {},
                   const GradcheckOptions& options = {}) {
  return detail::gradgradcheck(tensor_function(std::move(fn)), inputs, grad_outputs, options);
}
template <class F>
bool gradgradcheck(F fn, const variable_list& inputs, const variable_list& grad_outputs, double eps,
                   double atol = 1e-5, double rtol = 1e-3, bool raise_exception = true) {
  return gradgradcheck(std::move(fn), inputs, grad_outputs,
                       GradcheckOptions{eps, atol, rtol, /*nondet_tol=*/0, raise_exception});
}

}  // namespace autograd
using autograd::gradcheck;
using autograd::GradcheckOptions;
using autograd::gradgradcheck;
}  // namespace tandem
