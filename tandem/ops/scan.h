#pragma once

#include "tandem/core/tensor.h"

namespace tandem {

/// Running sums and products along a dimension. Integers are summed as int64.
Tensor cumsum(const Tensor& x, int64_t dim, std::optional<DType> dtype = std::nullopt);
Tensor cumprod(const Tensor& x, int64_t dim, std::optional<DType> dtype = std::nullopt);
/// The greatest element so far, and its index (of several the last).
std::tuple<Tensor, Tensor> cummax(const Tensor& x, int64_t dim);
std::tuple<Tensor, Tensor> cummin(const Tensor& x, int64_t dim);
/// log(cumsum(exp(x))) without overflow.
Tensor logcumsumexp(const Tensor& x, int64_t dim);

}  // namespace tandem
