#pragma once

#include <vector>

#include "tandem/core/tensor.h"

namespace tandem {

/// The gradients of a scalar by the inputs, undefined where it does not depend on one: for ops
/// whose derivative is that of a composite. The inputs' own gradients are not touched. Part of
/// autograd, as Tensor::backward is.
std::vector<Tensor> gradients_of(const Tensor& scalar, TensorList inputs, bool create_graph);

}  // namespace tandem
