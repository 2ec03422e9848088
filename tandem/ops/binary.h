#pragma once

#include "tandem/core/tensor.h"

namespace tandem {

/// x + alpha * y, and so on; shapes broadcast.
Tensor add(const Tensor& x, const Tensor& y, const Scalar& alpha = 1);
Tensor add(const Tensor& x, const Scalar& y, const Scalar& alpha = 1);
Tensor sub(const Tensor& x, const Tensor& y, const Scalar& alpha = 1);
Tensor sub(const Tensor& x, const Scalar& y, const Scalar& alpha = 1);
Tensor mul(const Tensor& x, const Tensor& y);
Tensor mul(const Tensor& x, const Scalar& y);
Tensor div(const Tensor& x, const Tensor& y);
Tensor div(const Tensor& x, const Scalar& y);
Tensor neg(const Tensor& x);
inline Tensor& neg_(const Tensor& x) { return x.neg_(); }

Tensor operator+(const Tensor& x, const Tensor& y);
Tensor operator+(const Tensor& x, const Scalar& y);
Tensor operator+(const Scalar& x, const Tensor& y);
Tensor operator-(const Tensor& x, const Tensor& y);
Tensor operator-(const Tensor& x, const Scalar& y);
Tensor operator-(const Scalar& x, const Tensor& y);
Tensor operator*(const Tensor& x, const Tensor& y);
Tensor operator*(const Tensor& x, const Scalar& y);
Tensor operator*(const Scalar& x, const Tensor& y);
Tensor operator/(const Tensor& x, const Tensor& y);
Tensor operator/(const Tensor& x, const Scalar& y);
Tensor operator/(const Scalar& x, const Tensor& y);

}  // namespace tandem
