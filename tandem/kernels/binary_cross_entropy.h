#pragma once

#include "tandem/core/shape.h"

namespace tandem::kernels {

/// out = (target - 1) * max(log(1 - x), -100) - target * max(log(x), -100). An x outside of [0, 1]
/// is refused with its place.
void binary_cross_entropy(const Array& x, const Array& target, const Array& out);

}  // namespace tandem::kernels
