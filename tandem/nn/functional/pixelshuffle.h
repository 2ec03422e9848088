#pragma once

#include "tandem/core/tensor.h"
#include "tandem/nn/options/pixelshuffle.h"

namespace tandem::nn::functional {

/// [..., c * r * r, rows, columns] as [..., c, rows * r, columns * r], and back.
Tensor pixel_shuffle(const Tensor& input, const PixelShuffleFuncOptions& options);
Tensor pixel_unshuffle(const Tensor& input, const PixelUnshuffleFuncOptions& options);

}  // namespace tandem::nn::functional
