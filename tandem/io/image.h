#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "tandem/core/tensor.h"

namespace tandem::io {

/// Which channels an image is read with. Unchanged keeps those that the file has; a palette is
/// replaced by its colours, and 16 bits are rounded to 8.
enum class ImageMode { kUnchanged, kGray, kGrayAlpha, kRGB, kRGBAlpha };

/// An image from a PNG or JPEG file, as bytes [channels, height, width]. What a file is, its first
/// bytes say, not its name. Damaged and cut files are refused; memory is taken only for as many
/// pixels as the file can hold.
///
/// With a size, {height, width} or {shorter side}, the image is resized as resize_image does. Large
/// JPEG files are then decoded to an eighth, a quarter or half of their size first, which is much
/// faster.
Tensor read_image(const std::string& path, ImageMode mode = ImageMode::kUnchanged,
                  IntArrayRef size = {});

/// The same for bytes that are in memory; errors call them `name`.
Tensor decode_image(std::string_view bytes, ImageMode mode = ImageMode::kUnchanged,
                    IntArrayRef size = {}, const std::string& name = "image");

/// Writes bytes [channels, height, width] (or [height, width]) with 1 to 4 channels. Levels of
/// compression go from 0, fast and large, to 9.
void write_png(const Tensor& image, const std::string& path, int compression_level = 6);

/// The same for 1 or 3 channels, with losses: the quality goes from 1 to 100.
void write_jpeg(const Tensor& image, const std::string& path, int quality = 75);

/// An image [..., height, width] of another size: linear between pixels, and an average over those
/// that a smaller image leaves out. Bytes are rounded, floating-point numbers are not.
Tensor resize_image(const Tensor& image, int64_t height, int64_t width);

/// Height and width for a wanted size: {n} makes the shorter side n long and keeps the proportions,
/// {height, width} is taken as it is.
struct ImageSize {
  int64_t height, width;
};
ImageSize scaled_size(int64_t height, int64_t width, IntArrayRef wanted);

}  // namespace tandem::io
