#pragma once

#include <string_view>

#include "tandem/core/tensor.h"

namespace tandem {

// What networks put between their layers; relu, tanh and sigmoid are in ops/unary.h.
Tensor leaky_relu(const Tensor& x, const Scalar& slope = 0.01);
Tensor& leaky_relu_(const Tensor& x, const Scalar& slope = 0.01);
Tensor elu(const Tensor& x, const Scalar& alpha = 1, const Scalar& scale = 1,
           const Scalar& input_scale = 1);
Tensor& elu_(const Tensor& x, const Scalar& alpha = 1, const Scalar& scale = 1,
             const Scalar& input_scale = 1);
Tensor selu(const Tensor& x);
Tensor& selu_(const Tensor& x);
Tensor celu(const Tensor& x, const Scalar& alpha = 1);
Tensor& celu_(const Tensor& x, const Scalar& alpha = 1);
/// log(1 + exp(beta x)) / beta; x itself where beta x exceeds the threshold.
Tensor softplus(const Tensor& x, const Scalar& beta = 1, const Scalar& threshold = 20);
Tensor silu(const Tensor& x);
Tensor& silu_(const Tensor& x);
Tensor mish(const Tensor& x);
Tensor& mish_(const Tensor& x);
/// x times the normal distribution's cdf, exactly or ("tanh") by the usual approximation.
Tensor gelu(const Tensor& x, std::string_view approximate = "none");
Tensor& gelu_(const Tensor& x, std::string_view approximate = "none");
Tensor log_sigmoid(const Tensor& x);
Tensor hardsigmoid(const Tensor& x);
Tensor& hardsigmoid_(const Tensor& x);
Tensor hardswish(const Tensor& x);
Tensor& hardswish_(const Tensor& x);
Tensor softsign(const Tensor& x);
Tensor tanhshrink(const Tensor& x);
Tensor hardshrink(const Tensor& x, const Scalar& lambda = 0.5);
Tensor softshrink(const Tensor& x, const Scalar& lambda = 0.5);
/// x where it exceeds the threshold, else value.
Tensor threshold(const Tensor& x, const Scalar& threshold, const Scalar& value);
Tensor& threshold_(const Tensor& x, const Scalar& threshold, const Scalar& value);
Tensor hardtanh(const Tensor& x, const Scalar& min = -1, const Scalar& max = 1);
Tensor& hardtanh_(const Tensor& x, const Scalar& min = -1, const Scalar& max = 1);
Tensor relu6(const Tensor& x);
Tensor& relu6_(const Tensor& x);
/// The first half along `dim` times the sigmoid of the second.
Tensor glu(const Tensor& x, int64_t dim = -1);
/// weight has one value, or one for each channel (dimension 1).
Tensor prelu(const Tensor& x, const Tensor& weight);

}  // namespace tandem
