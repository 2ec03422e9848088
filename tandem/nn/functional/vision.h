#pragma once

#include "tandem/core/tensor.h"
#include "tandem/nn/options/vision.h"

namespace tandem::nn::functional {

/// The grid that affine maps theta [samples, 2, 3] or [samples, 3, 4] make of an image of that
/// size.
Tensor affine_grid(const Tensor& theta, const IntArrayRef& size, bool align_corners = false);
/// The image at the places that the grid names: from -1 to 1, column first.
Tensor grid_sample(const Tensor& input, const Tensor& grid,
                   const GridSampleFuncOptions& options = {});

}  // namespace tandem::nn::functional
