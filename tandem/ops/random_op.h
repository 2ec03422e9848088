#pragma once

#include "tandem/core/tensor.h"

namespace tandem {

/// Ones with probability p, else zeros: those that an op draws which reads its random numbers from
/// `state`, seed and counter. For gradients and composites, which must meet the same numbers again.
Tensor bernoulli_of(const Tensor& state, IntArrayRef sizes, double p, const TensorOptions& o);

}  // namespace tandem
