#pragma once

#include "tandem/core/tensor.h"

namespace tandem::autograd {

/// What zero_grad() does to a parameter: its gradient, if it has one, is zero, or is forgotten.
///
/// Compiled functions know this call: where the gradient is replaced before anybody reads it, it
/// makes no difference to them whether there was one.
void clear_grad(const Tensor& parameter, bool set_to_none);

}  // namespace tandem::autograd
