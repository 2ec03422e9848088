#pragma once

#include <cstdint>

#include "tandem/core/shape.h"

namespace tandem::kernels {

/// out = exp(in) / sum(exp(in)) along dim, or its logarithm. `out` is of a floating dtype, in which
/// (float32 for the 16-bit ones) everything is computed.
void softmax(const Array& in, int64_t dim, bool logarithm, const Array& out);

/// out = log(sum(exp(in))) over the dimensions d with reduced_dims[d], without overflow. `out` has
/// in's rank with extent 1 there (any rank if it has one element).
void logsumexp(const Array& in, const bool* reduced_dims, const Array& out);

}  // namespace tandem::kernels
