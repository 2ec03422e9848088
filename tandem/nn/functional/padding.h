#pragma once

#include "tandem/core/tensor.h"
#include "tandem/nn/options/padding.h"

namespace tandem::nn::functional {

/// x with a border: constant, mirrored, repeated or continued from the other end. Negative numbers
/// cut off.
Tensor pad(const Tensor& input, const PadFuncOptions& options);

}  // namespace tandem::nn::functional
