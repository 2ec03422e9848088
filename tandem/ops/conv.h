#pragma once

#include <array>
#include <string_view>
#include <tuple>

#include "tandem/core/tensor.h"

namespace tandem {

/// Convolution of x [batch, in, ...] with weight [out, in / groups, ...], or transposed with weight
/// [in, out / groups, ...]; one to three spatial dimensions. A list of one number stands for all
/// dimensions.
Tensor convolution(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias,
                   IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, bool transposed,
                   IntArrayRef output_padding, int64_t groups);
/// Gradients of convolution by x, weight and bias; undefined where not asked for.
std::tuple<Tensor, Tensor, Tensor> convolution_backward(
    const Tensor& grad_output, const Tensor& x, const Tensor& weight,
    OptionalIntArrayRef bias_sizes, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,
    bool transposed, IntArrayRef output_padding, int64_t groups, std::array<bool, 3> output_mask);

/// x is [batch, channels, ...] or, for a single sample, [channels, ...]. `padding` in words:
/// "valid" is none, "same" gives a result of x's size.
Tensor conv1d(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias = {},
              IntArrayRef stride = 1, IntArrayRef padding = 0, IntArrayRef dilation = 1,
              int64_t groups = 1);
Tensor conv1d(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias,
              IntArrayRef stride, std::string_view padding, IntArrayRef dilation = 1,
              int64_t groups = 1);
Tensor conv2d(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias = {},
              IntArrayRef stride = 1, IntArrayRef padding = 0, IntArrayRef dilation = 1,
              int64_t groups = 1);
Tensor conv2d(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias,
              IntArrayRef stride, std::string_view padding, IntArrayRef dilation = 1,
              int64_t groups = 1);
Tensor conv3d(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias = {},
              IntArrayRef stride = 1, IntArrayRef padding = 0, IntArrayRef dilation = 1,
              int64_t groups = 1);
Tensor conv3d(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias,
              IntArrayRef stride, std::string_view padding, IntArrayRef dilation = 1,
              int64_t groups = 1);
Tensor conv_transpose1d(const Tensor& x, const Tensor& weight,
                        const std::optional<Tensor>& bias = {}, IntArrayRef stride = 1,
                        IntArrayRef padding = 0, IntArrayRef output_padding = 0, int64_t groups = 1,
                        IntArrayRef dilation = 1);
Tensor conv_transpose2d(const Tensor& x, const Tensor& weight,
                        const std::optional<Tensor>& bias = {}, IntArrayRef stride = 1,
                        IntArrayRef padding = 0, IntArrayRef output_padding = 0, int64_t groups = 1,
                        IntArrayRef dilation = 1);
Tensor conv_transpose3d(const Tensor& x, const Tensor& weight,
                        const std::optional<Tensor>& bias = {}, IntArrayRef stride = 1,
                        IntArrayRef padding = 0, IntArrayRef output_padding = 0, int64_t groups = 1,
                        IntArrayRef dilation = 1);
/// Convolution of x [time, batch, in] with weight [width, in, out] over time.
Tensor conv_tbc(const Tensor& x, const Tensor& weight, const Tensor& bias, int64_t pad = 0);

/// The blocks that a kernel sees as columns: [batch, channels * kernel, positions] of x
/// [batch, channels, height, width], or the same for a single sample.
Tensor im2col(const Tensor& x, IntArrayRef kernel_size, IntArrayRef dilation, IntArrayRef padding,
              IntArrayRef stride);
/// The sum of columns at the places that im2col takes them from.
Tensor col2im(const Tensor& columns, IntArrayRef output_size, IntArrayRef kernel_size,
              IntArrayRef dilation, IntArrayRef padding, IntArrayRef stride);

}  // namespace tandem
