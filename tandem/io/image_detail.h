#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "tandem/io/image.h"

// What image.cpp wants from the decoders of single formats.
namespace tandem::io::detail {

/// Pixels as decoders give them, channels next to each other.
struct Pixels {
  int64_t height = 0, width = 0;
  ImageSize whole{};  // of the image in the file, which may be decoded to less
  int channels = 0;   // 1 grey, 2 grey and alpha, 3 RGB, 4 RGB and alpha
  std::unique_ptr<uint8_t[]> values;

  int64_t row() const { return width * channels; }
};

/// More than this many pixels are refused, whatever the file's length.
constexpr int64_t kMaxPixels = int64_t{1} << 28;

/// Refuses extents that are not those of an image, and more pixels than a file of this length can
/// hold, which is `most`.
void check_extents(int64_t height, int64_t width, int64_t most, std::string_view bytes,
                   const std::string& name);
/// Memory for pixels whose extents were checked.
void allocate(Pixels& pixels);

/// Refuses what an image file cannot hold.
void check_writable(const char* what, const Tensor& image, IntArrayRef channels, int64_t longest);
/// A row of planes that lie `plane` apart, with its channels next to each other.
void interleave(const uint8_t* row, int64_t plane, int64_t width, int channels, uint8_t* to);

bool is_png(std::string_view bytes);
bool is_jpeg(std::string_view bytes);
Pixels decode_png(std::string_view bytes, ImageMode mode, const std::string& name);
/// Grey or RGB, and smaller if that is still enough for the wanted size.
Pixels decode_jpeg(std::string_view bytes, ImageMode mode, const std::string& name,
                   IntArrayRef wanted);

}  // namespace tandem::io::detail
