#pragma once

#include "tandem/core/shape.h"

// Images looked at through a grid. x is [samples, channels, (depth,) rows, columns]; grid is
// [samples, (depth,) rows, columns, 2 or 3], places in x from -1 to 1 with the column first; the
// result has x's samples and channels and the grid's extents.
namespace tandem::kernels {

enum class GridMode : uint8_t { Bilinear, Nearest, Bicubic };
/// What lies outside: nothing, the border repeated, or the image mirrored.
enum class GridPadding : uint8_t { Zeros, Border, Reflection };

struct GridSampling {
  GridMode mode = GridMode::Bilinear;
  GridPadding padding = GridPadding::Zeros;
  bool align_corners = false;
};

void grid_sample(const Array& x, const Array& grid, const GridSampling& how, const Array& out);
/// The gradients by x and by the grid for a gradient by the result.
void grid_sample_backward(const Array& g, const Array& x, const Array& grid,
                          const GridSampling& how, const Array& x_grad, const Array& grid_grad);

}  // namespace tandem::kernels
