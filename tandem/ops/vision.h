#pragma once

#include "tandem/core/tensor.h"

// Images looked at through grids, and channels turned into pixels.
namespace tandem {

/// x [samples, channels, rows, columns] at the places that grid [samples, rows, columns, 2] names:
/// from -1 to 1, column first; or with one dimension more, and three numbers. Modes: 0 bilinear, 1
/// nearest, 2 bicubic; outside: 0 zeros, 1 the border repeated, 2 mirrored.
Tensor grid_sampler(const Tensor& x, const Tensor& grid, int64_t interpolation_mode,
                    int64_t padding_mode, bool align_corners);
Tensor grid_sampler_2d(const Tensor& x, const Tensor& grid, int64_t interpolation_mode,
                       int64_t padding_mode, bool align_corners);
Tensor grid_sampler_3d(const Tensor& x, const Tensor& grid, int64_t interpolation_mode,
                       int64_t padding_mode, bool align_corners);
/// The grid that affine maps theta [samples, 2, 3] (or [samples, 3, 4]) make of an image of that
/// size.
Tensor affine_grid_generator(const Tensor& theta, IntArrayRef size, bool align_corners);

/// [..., c * r * r, rows, columns] as [..., c, rows * r, columns * r], and back.
Tensor pixel_shuffle(const Tensor& x, int64_t upscale_factor);
Tensor pixel_unshuffle(const Tensor& x, int64_t downscale_factor);
/// Channels dealt out to groups and collected in turn.
Tensor channel_shuffle(const Tensor& x, int64_t groups);

}  // namespace tandem
