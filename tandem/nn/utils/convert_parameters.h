#pragma once

#include <vector>

#include "tandem/core/tensor.h"

namespace tandem::nn::utils {

/// All parameters, one after the other, as one vector. Gradients flow back through it.
Tensor parameters_to_vector(const std::vector<Tensor>& parameters);

/// Copies the values of such a vector back into the parameters.
void vector_to_parameters(const Tensor& vec, const std::vector<Tensor>& parameters);

}  // namespace tandem::nn::utils
