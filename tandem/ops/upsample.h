#pragma once

#include <optional>

#include "tandem/core/tensor.h"

// Images of another size: [samples, channels, ...] with the last 1, 2 or 3 dimensions resampled.
// `scales` say how many times larger the result is meant to be where that is not what the extents
// say, as when a size was rounded.
namespace tandem {

using ScaleFactors = std::optional<ArrayRef<double>>;

Tensor upsample_nearest1d(const Tensor& x, IntArrayRef output_size,
                          std::optional<double> scales = std::nullopt);
Tensor upsample_nearest2d(const Tensor& x, IntArrayRef output_size,
                          std::optional<double> scales_h = std::nullopt,
                          std::optional<double> scales_w = std::nullopt);
Tensor upsample_nearest3d(const Tensor& x, IntArrayRef output_size,
                          std::optional<double> scales_d = std::nullopt,
                          std::optional<double> scales_h = std::nullopt,
                          std::optional<double> scales_w = std::nullopt);
/// The element whose centre is nearest.
Tensor _upsample_nearest_exact1d(const Tensor& x, IntArrayRef output_size,
                                 std::optional<double> scales = std::nullopt);
Tensor _upsample_nearest_exact2d(const Tensor& x, IntArrayRef output_size,
                                 std::optional<double> scales_h = std::nullopt,
                                 std::optional<double> scales_w = std::nullopt);
Tensor _upsample_nearest_exact3d(const Tensor& x, IntArrayRef output_size,
                                 std::optional<double> scales_d = std::nullopt,
                                 std::optional<double> scales_h = std::nullopt,
                                 std::optional<double> scales_w = std::nullopt);
Tensor upsample_linear1d(const Tensor& x, IntArrayRef output_size, bool align_corners,
                         std::optional<double> scales = std::nullopt);
Tensor upsample_bilinear2d(const Tensor& x, IntArrayRef output_size, bool align_corners,
                           std::optional<double> scales_h = std::nullopt,
                           std::optional<double> scales_w = std::nullopt);
Tensor upsample_bicubic2d(const Tensor& x, IntArrayRef output_size, bool align_corners,
                          std::optional<double> scales_h = std::nullopt,
                          std::optional<double> scales_w = std::nullopt);
Tensor upsample_trilinear3d(const Tensor& x, IntArrayRef output_size, bool align_corners,
                            std::optional<double> scales_d = std::nullopt,
                            std::optional<double> scales_h = std::nullopt,
                            std::optional<double> scales_w = std::nullopt);
/// Smaller images are averages over all that they leave out.
Tensor _upsample_bilinear2d_aa(const Tensor& x, IntArrayRef output_size, bool align_corners,
                               std::optional<double> scales_h = std::nullopt,
                               std::optional<double> scales_w = std::nullopt);
Tensor _upsample_bicubic2d_aa(const Tensor& x, IntArrayRef output_size, bool align_corners,
                              std::optional<double> scales_h = std::nullopt,
                              std::optional<double> scales_w = std::nullopt);

// The same with either a size or factors.
Tensor upsample_nearest1d(const Tensor& x, OptionalIntArrayRef output_size, ScaleFactors factors);
Tensor upsample_nearest2d(const Tensor& x, OptionalIntArrayRef output_size, ScaleFactors factors);
Tensor upsample_nearest3d(const Tensor& x, OptionalIntArrayRef output_size, ScaleFactors factors);
Tensor _upsample_nearest_exact1d(const Tensor& x, OptionalIntArrayRef output_size,
                                 ScaleFactors factors);
Tensor _upsample_nearest_exact2d(const Tensor& x, OptionalIntArrayRef output_size,
                                 ScaleFactors factors);
Tensor _upsample_nearest_exact3d(const Tensor& x, OptionalIntArrayRef output_size,
                                 ScaleFactors factors);
Tensor upsample_linear1d(const Tensor& x, OptionalIntArrayRef output_size, bool align_corners,
                         ScaleFactors factors);
Tensor upsample_bilinear2d(const Tensor& x, OptionalIntArrayRef output_size, bool align_corners,
                           ScaleFactors factors);
Tensor upsample_bicubic2d(const Tensor& x, OptionalIntArrayRef output_size, bool align_corners,
                          ScaleFactors factors);
Tensor upsample_trilinear3d(const Tensor& x, OptionalIntArrayRef output_size, bool align_corners,
                            ScaleFactors factors);
Tensor _upsample_bilinear2d_aa(const Tensor& x, OptionalIntArrayRef output_size, bool align_corners,
                               ScaleFactors factors);
Tensor _upsample_bicubic2d_aa(const Tensor& x, OptionalIntArrayRef output_size, bool align_corners,
                              ScaleFactors factors);

}  // namespace tandem
