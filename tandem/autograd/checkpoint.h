#pragma once

#include "tandem/autograd/callable.h"

namespace tandem {
namespace autograd::detail {
variable_list checkpoint(const TensorFunction& fn, const variable_list& inputs);
}

/// The result of `fn` on `inputs`, without keeping what its gradient needs: backward runs `fn`
/// again instead. Saves memory for the price of one more forward pass.
///
///   Tensor y = checkpoint([&](const Tensor& x) { return block->forward(x); }, {x});
///
/// Gradients flow to the inputs and to tensors that `fn` captures. Run again, `fn` draws the same
/// random numbers; it must not have other effects. Calls can be nested, and differentiated more
/// than once.
template <class F>
autograd::detail::ResultOf<F> checkpoint(F fn, const variable_list& inputs) {
  using Result = autograd::detail::ResultOf<F>;
  return autograd::detail::from_list<Result>(
      autograd::detail::checkpoint(autograd::tensor_function(std::move(fn)), inputs));
}

}  // namespace tandem
