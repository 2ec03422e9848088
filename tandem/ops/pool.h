#pragma once

#include <optional>
#include <tuple>

#include "tandem/core/tensor.h"

// Pooling over windows of the last 1, 2 or 3 dimensions. Inputs are [samples, channels, ...] or
// [channels, ...]. A list of extents may have one number for all dimensions; no stride means
// windows side by side.
namespace tandem {

Tensor max_pool1d(const Tensor& x, IntArrayRef kernel_size, IntArrayRef stride = {},
                  IntArrayRef padding = 0, IntArrayRef dilation = 1, bool ceil_mode = false);
Tensor max_pool2d(const Tensor& x, IntArrayRef kernel_size, IntArrayRef stride = {},
                  IntArrayRef padding = 0, IntArrayRef dilation = 1, bool ceil_mode = false);
Tensor max_pool3d(const Tensor& x, IntArrayRef kernel_size, IntArrayRef stride = {},
                  IntArrayRef padding = 0, IntArrayRef dilation = 1, bool ceil_mode = false);
/// The greatest elements, and the number of each within its plane, as max_unpool wants it. A nan
/// counts as greater than any number.
std::tuple<Tensor, Tensor> max_pool1d_with_indices(const Tensor& x, IntArrayRef kernel_size,
                                                   IntArrayRef stride = {}, IntArrayRef padding = 0,
                                                   IntArrayRef dilation = 1,
                                                   bool ceil_mode = false);
std::tuple<Tensor, Tensor> max_pool2d_with_indices(const Tensor& x, IntArrayRef kernel_size,
                                                   IntArrayRef stride = {}, IntArrayRef padding = 0,
                                                   IntArrayRef dilation = 1,
                                                   bool ceil_mode = false);
std::tuple<Tensor, Tensor> max_pool3d_with_indices(const Tensor& x, IntArrayRef kernel_size,
                                                   IntArrayRef stride = {}, IntArrayRef padding = 0,
                                                   IntArrayRef dilation = 1,
                                                   bool ceil_mode = false);

Tensor avg_pool1d(const Tensor& x, IntArrayRef kernel_size, IntArrayRef stride = {},
                  IntArrayRef padding = 0, bool ceil_mode = false, bool count_include_pad = true);
Tensor avg_pool2d(const Tensor& x, IntArrayRef kernel_size, IntArrayRef stride = {},
                  IntArrayRef padding = 0, bool ceil_mode = false, bool count_include_pad = true,
                  std::optional<int64_t> divisor_override = std::nullopt);
Tensor avg_pool3d(const Tensor& x, IntArrayRef kernel_size, IntArrayRef stride = {},
                  IntArrayRef padding = 0, bool ceil_mode = false, bool count_include_pad = true,
                  std::optional<int64_t> divisor_override = std::nullopt);

/// Windows are chosen so that the result has these extents.
Tensor adaptive_avg_pool1d(const Tensor& x, IntArrayRef output_size);
Tensor adaptive_avg_pool2d(const Tensor& x, IntArrayRef output_size);
Tensor adaptive_avg_pool3d(const Tensor& x, IntArrayRef output_size);
std::tuple<Tensor, Tensor> adaptive_max_pool1d(const Tensor& x, IntArrayRef output_size);
std::tuple<Tensor, Tensor> adaptive_max_pool2d(const Tensor& x, IntArrayRef output_size);
std::tuple<Tensor, Tensor> adaptive_max_pool3d(const Tensor& x, IntArrayRef output_size);

/// Windows of one size at random places: random_samples is [samples, channels, 2 or 3] with numbers
/// in [0, 1).
std::tuple<Tensor, Tensor> fractional_max_pool2d(const Tensor& x, IntArrayRef kernel_size,
                                                 IntArrayRef output_size,
                                                 const Tensor& random_samples);
std::tuple<Tensor, Tensor> fractional_max_pool3d(const Tensor& x, IntArrayRef kernel_size,
                                                 IntArrayRef output_size,
                                                 const Tensor& random_samples);

/// Zeros of the given extents with the elements of x at the places that max pooling found them at.
Tensor max_unpool2d(const Tensor& x, const Tensor& indices, IntArrayRef output_size);
Tensor max_unpool3d(const Tensor& x, const Tensor& indices, IntArrayRef output_size,
                    IntArrayRef stride, IntArrayRef padding);

}  // namespace tandem
