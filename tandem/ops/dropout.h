#pragma once

#include "tandem/core/tensor.h"

// What networks do at random in training. Numbers come from the default generator.
namespace tandem {

/// Elements become 0 with probability p; the others are divided by 1 - p.
Tensor dropout(const Tensor& input, double p, bool train);
Tensor& dropout_(const Tensor& input, double p, bool train);
/// Whole channels (dimension 1 of each sample) become 0.
Tensor feature_dropout(const Tensor& input, double p, bool train);
Tensor& feature_dropout_(const Tensor& input, double p, bool train);
/// Keeps mean 0 and variance 1: elements become SELU's limit instead of 0, and all are scaled.
Tensor alpha_dropout(const Tensor& input, double p, bool train);
Tensor& alpha_dropout_(const Tensor& input, double p, bool train);
Tensor feature_alpha_dropout(const Tensor& input, double p, bool train);
Tensor& feature_alpha_dropout_(const Tensor& input, double p, bool train);

/// Negative elements are multiplied by slopes drawn from [lower, upper), or by their mean when not
/// training.
Tensor rrelu(const Tensor& input, const Scalar& lower = 0.125, const Scalar& upper = 1.0 / 3,
             bool training = false, std::optional<Generator> generator = std::nullopt);
Tensor& rrelu_(const Tensor& input, const Scalar& lower = 0.125, const Scalar& upper = 1.0 / 3,
               bool training = false, std::optional<Generator> generator = std::nullopt);

}  // namespace tandem
