#pragma once

#include "tandem/core/shape.h"

namespace tandem::kernels {

/// out = 0 + (a * x) * mask for a mask of bools, as addcmul computes it. False, and nothing is
/// done, unless all lie in memory one element after the other and x is of float32 or float64.
bool masked_scale(const Array& x, const Array& mask, double a, const Array& out);

}  // namespace tandem::kernels
