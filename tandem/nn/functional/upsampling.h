#pragma once

#include "tandem/core/tensor.h"
#include "tandem/nn/options/upsampling.h"

namespace tandem::nn::functional {

/// The image in another size: [samples, channels, ...] with 1, 2 or 3 dimensions resampled.
Tensor interpolate(const Tensor& input, const InterpolateFuncOptions& options = {});

}  // namespace tandem::nn::functional
