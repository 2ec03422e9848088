#pragma once

#include "tandem/core/tensor.h"

namespace tandem {

/// x where the condition holds, else y; all three broadcast.
Tensor where(const Tensor& condition, const Tensor& x, const Tensor& y);
Tensor where(const Tensor& condition, const Tensor& x, const Scalar& y);
Tensor where(const Tensor& condition, const Scalar& x, const Tensor& y);
Tensor where(const Tensor& condition, const Scalar& x, const Scalar& y);

/// x limited to [min, max]; a bound that is left out does not count.
Tensor clamp(const Tensor& x, const std::optional<Scalar>& min,
             const std::optional<Scalar>& max = std::nullopt);
Tensor clamp(const Tensor& x, const std::optional<Tensor>& min,
             const std::optional<Tensor>& max = std::nullopt);
Tensor clamp_min(const Tensor& x, const Scalar& min);
Tensor clamp_min(const Tensor& x, const Tensor& min);
Tensor clamp_max(const Tensor& x, const Scalar& max);
Tensor clamp_max(const Tensor& x, const Tensor& max);
Tensor clip(const Tensor& x, const std::optional<Scalar>& min,
            const std::optional<Scalar>& max = std::nullopt);
inline Tensor clip(const Tensor& x, const std::optional<Tensor>& min,
                   const std::optional<Tensor>& max = std::nullopt) {
  return clamp(x, min, max);
}
inline Tensor& clamp_(const Tensor& x, const std::optional<Scalar>& min,
                      const std::optional<Scalar>& max = std::nullopt) {
  return x.clamp_(min, max);
}
inline Tensor& clamp_(const Tensor& x, const std::optional<Tensor>& min,
                      const std::optional<Tensor>& max = std::nullopt) {
  return x.clamp_(min, max);
}
inline Tensor& clip_(const Tensor& x, const std::optional<Scalar>& min,
                     const std::optional<Scalar>& max = std::nullopt) {
  return x.clamp_(min, max);
}
inline Tensor& clamp_min_(const Tensor& x, const Scalar& min) { return x.clamp_min_(min); }
inline Tensor& clamp_min_(const Tensor& x, const Tensor& min) { return x.clamp_min_(min); }
inline Tensor& clamp_max_(const Tensor& x, const Scalar& max) { return x.clamp_max_(max); }
inline Tensor& clamp_max_(const Tensor& x, const Tensor& max) { return x.clamp_max_(max); }

/// x + value * a * b
Tensor addcmul(const Tensor& x, const Tensor& a, const Tensor& b, const Scalar& value = 1);
/// x + value * a / b
Tensor addcdiv(const Tensor& x, const Tensor& a, const Tensor& b, const Scalar& value = 1);
/// x + weight * (end - x)
Tensor lerp(const Tensor& x, const Tensor& end, const Tensor& weight);
Tensor lerp(const Tensor& x, const Tensor& end, const Scalar& weight);

}  // namespace tandem
