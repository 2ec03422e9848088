#pragma once

#include "tandem/core/op.h"
#include "tandem/kernels/grid_sample.h"

namespace tandem {

struct GridSampleAttrs {
  kernels::GridMode mode;
  kernels::GridPadding padding;
  bool align_corners = false;
  TANDEM_FIELDS(mode, padding, align_corners)
};
struct GridSampleBackwardAttrs {
  kernels::GridMode mode;
  kernels::GridPadding padding;
  bool align_corners = false;
  // Which of the two gradients are wanted; the other result is [samples, 0].
  bool by_input = true, by_grid = true;
  TANDEM_FIELDS(mode, padding, align_corners, by_input, by_grid)
};

/// x, grid -> x at the places of the grid.
extern const OpDef kGridSample;
/// gradient, x, grid -> gradients by x and by the grid. Only the first can be differentiated again.
extern const OpDef kGridSampleBackward;

}  // namespace tandem
