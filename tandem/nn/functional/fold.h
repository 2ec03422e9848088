#pragma once

#include "tandem/core/tensor.h"
#include "tandem/nn/options/fold.h"

namespace tandem::nn::functional {

/// Blocks of an image, [batch, channels * kernel, blocks], added up to the image they are from.
Tensor fold(const Tensor& input, const FoldFuncOptions& options);
/// The blocks of a batch of images that a sliding kernel sees.
Tensor unfold(const Tensor& input, const UnfoldFuncOptions& options);

}  // namespace tandem::nn::functional
