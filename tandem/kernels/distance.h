#pragma once

#include "tandem/core/shape.h"

namespace tandem::kernels {

/// out[b, i, j] = the p-norm of x[b, i] - y[b, j] for x [B, P, M] and y [B, R, M], p >= 0 or inf.
void cdist(const Array& x, const Array& y, double p, const Array& out);

/// Its gradient by x, [B, P, M], given that by out, [B, P, R], and the distances. Where a distance
/// is 0, so is its gradient.
void cdist_backward(const Array& grad, const Array& x, const Array& y, double p,
                    const Array& distances, const Array& grad_x);

}  // namespace tandem::kernels
