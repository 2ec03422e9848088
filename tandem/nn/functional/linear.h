#pragma once

#include "tandem/core/tensor.h"

namespace tandem::nn::functional {

/// input x weight^T + bias.
Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias = {});
/// input1^T W input2 + bias for each of the matrices W that weight holds: [out, in1, in2].
Tensor bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight,
                const Tensor& bias = {});

}  // namespace tandem::nn::functional
