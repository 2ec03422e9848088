#pragma once

#include "tandem/core/shape.h"

namespace tandem::kernels {

/// out = c * (z - 0.5 c) * scale with z = |x| and c = min(z, bound): quadratic up to the bound,
/// linear beyond.
void smooth_l1(const Array& x, double bound, double scale, const Array& out);

/// out = grad * (clamp(x, -bound, bound) * scale), its gradient.
void smooth_l1_backward(const Array& grad, const Array& x, double bound, double scale,
                        const Array& out);

}  // namespace tandem::kernels
