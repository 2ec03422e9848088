#pragma once

#include "tandem/core/tensor.h"

/// What gradients of scans and products are made of.
namespace tandem {

/// x moved by `by` (+1 or -1) places along dim; the place that becomes free holds `value`.
Tensor shifted(const Tensor& x, int64_t dim, int64_t by, double value);
/// y[i] = b[i] + a[i] * y[i - 1] along dim, from the end (y[i + 1]) when reverse.
Tensor recurrence(const Tensor& a, const Tensor& b, int64_t dim, bool reverse);
/// cumsum and cumprod from the end.
Tensor reverse_cumsum(const Tensor& x, int64_t dim);
Tensor reverse_cumprod(const Tensor& x, int64_t dim);

}  // namespace tandem
