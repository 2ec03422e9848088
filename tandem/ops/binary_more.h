#pragma once

#include <string_view>

#include "tandem/core/tensor.h"

namespace tandem {

// Two values in, one out, beyond plain arithmetic; shapes broadcast.
Tensor maximum(const Tensor& x, const Tensor& y);
Tensor minimum(const Tensor& x, const Tensor& y);
Tensor fmax(const Tensor& x, const Tensor& y);
Tensor fmin(const Tensor& x, const Tensor& y);
Tensor atan2(const Tensor& x, const Tensor& y);
Tensor hypot(const Tensor& x, const Tensor& y);
Tensor nextafter(const Tensor& x, const Tensor& y);
Tensor heaviside(const Tensor& x, const Tensor& y);
Tensor gcd(const Tensor& x, const Tensor& y);
Tensor lcm(const Tensor& x, const Tensor& y);
Tensor logaddexp(const Tensor& x, const Tensor& y);
Tensor logaddexp2(const Tensor& x, const Tensor& y);
Tensor remainder(const Tensor& x, const Tensor& y);
Tensor fmod(const Tensor& x, const Tensor& y);
Tensor copysign(const Tensor& x, const Tensor& y);
Tensor xlogy(const Tensor& x, const Tensor& y);
Tensor floor_divide(const Tensor& x, const Tensor& y);
Tensor remainder(const Tensor& x, const Scalar& y);
Tensor fmod(const Tensor& x, const Scalar& y);
Tensor copysign(const Tensor& x, const Scalar& y);
Tensor xlogy(const Tensor& x, const Scalar& y);
Tensor floor_divide(const Tensor& x, const Scalar& y);
inline Tensor subtract(const Tensor& x, const Tensor& y, const Scalar& alpha = 1) {
  return x.sub(y, alpha);
}
inline Tensor subtract(const Tensor& x, const Scalar& y, const Scalar& alpha = 1) {
  return x.sub(y, alpha);
}
inline Tensor multiply(const Tensor& x, const Tensor& y) { return x.mul(y); }
inline Tensor multiply(const Tensor& x, const Scalar& y) { return x.mul(y); }
inline Tensor divide(const Tensor& x, const Tensor& y) { return x.div(y); }
inline Tensor divide(const Tensor& x, const Scalar& y) { return x.div(y); }
inline Tensor true_divide(const Tensor& x, const Tensor& y) { return x.div(y); }
inline Tensor true_divide(const Tensor& x, const Scalar& y) { return x.div(y); }
inline Tensor divide(const Tensor& x, const Tensor& y, std::optional<std::string_view> mode) {
  return x.div(y, mode);
}
inline Tensor divide(const Tensor& x, const Scalar& y, std::optional<std::string_view> mode) {
  return x.div(y, mode);
}
inline Tensor& xlogy_(const Tensor& x, const Tensor& y) { return x.xlogy_(y); }
inline Tensor& xlogy_(const Tensor& x, const Scalar& y) { return x.xlogy_(y); }
inline Tensor& ldexp_(const Tensor& x, const Tensor& y) { return x.ldexp_(y); }
inline Tensor arctan2(const Tensor& x, const Tensor& y) { return x.atan2(y); }
Tensor remainder(const Scalar& x, const Tensor& y);
Tensor xlogy(const Scalar& x, const Tensor& y);
Tensor operator%(const Tensor& x, const Tensor& y);
Tensor operator%(const Tensor& x, const Scalar& y);
/// Division; with mode "floor" or "trunc" the quotient is rounded and keeps an integer dtype.
Tensor div(const Tensor& x, const Tensor& y, std::optional<std::string_view> mode);
Tensor div(const Tensor& x, const Scalar& y, std::optional<std::string_view> mode);
Tensor pow(const Tensor& x, const Tensor& y);
Tensor pow(const Tensor& x, const Scalar& e);
Tensor pow(const Scalar& x, const Tensor& y);
/// Powers in double precision.
Tensor float_power(const Tensor& x, const Tensor& y);
Tensor float_power(const Tensor& x, const Scalar& y);
Tensor float_power(const Scalar& x, const Tensor& y);
Tensor ldexp(const Tensor& x, const Tensor& y);
/// y - alpha x
Tensor rsub(const Tensor& x, const Tensor& y, const Scalar& alpha = 1);
Tensor rsub(const Tensor& x, const Scalar& y, const Scalar& alpha = 1);

}  // namespace tandem
