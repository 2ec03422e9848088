#include "tandem/io/image.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tandem/io/file.h"
#include "tandem/io/image_detail.h"
#include "tandem/ops/ops.h"

namespace tandem::io {
namespace {

int channels_of(ImageMode mode, int found) {
  switch (mode) {
    case ImageMode::kGray:
      return 1;
    case ImageMode::kGrayAlpha:
      return 2;
    case ImageMode::kRGB:
      return 3;
    case ImageMode::kRGBAlpha:
      return 4;
    case ImageMode::kUnchanged:
      break;
  }
  return found;
}

/// Brightness as ITU-R BT.601 weighs the colours, in whole numbers.
uint8_t luma(const uint8_t* p) {
  return static_cast<uint8_t>((19595 * p[0] + 38470 * p[1] + 7471 * p[2] + 0x8000) >> 16);
}

/// One plane of a row: channel `c` of the `wanted` ones.
void write_plane(const uint8_t* from, int64_t width, int found, int wanted, int c, uint8_t* to) {
  const bool colour = found >= 3, alpha = found % 2 == 0;
  const bool to_colour = wanted >= 3;
  const int colours = to_colour ? 3 : 1;
  if (c == colours) {  // alpha; opaque if the file has none
    if (!alpha) {
      std::memset(to, 255, static_cast<size_t>(width));
      return;
    }
    c = found - 1;
  } else if (!colour) {
    c = 0;
  } else if (!to_colour) {
    for (int64_t x = 0; x < width; ++x) to[x] = luma(from + x * found);
    return;
  }
  from += c;
  for (int64_t x = 0; x < width; ++x) to[x] = from[x * found];
}

Tensor planes(const detail::Pixels& p, ImageMode mode) {
  const int channels = channels_of(mode, p.channels);
  Tensor image = empty({channels, p.height, p.width}, kByte);
  uint8_t* out = image.data_ptr<uint8_t>();
  for (int64_t y = 0; y < p.height; ++y)
    for (int c = 0; c < channels; ++c)
      write_plane(p.values.get() + y * p.row(), p.width, p.channels, channels, c,
                  out + (c * p.height + y) * p.width);
  return image;
}

}  // namespace

namespace detail {

void check_extents(int64_t height, int64_t width, int64_t most, std::string_view bytes,
                   const std::string& name) {
  TANDEM_CHECK_AS(FileError, height > 0 && width > 0, name, ": an image of ", height, " x ", width,
                  " pixels");
  const bool fits = height <= kMaxPixels / width;
  TANDEM_CHECK_AS(FileError, fits, name, ": an image of ", height, " x ", width,
                  " pixels; more than ", kMaxPixels, " are not read");
  TANDEM_CHECK_AS(FileError, height * width <= most, name, ": the header promises ", height, " x ",
                  width, " pixels, which ", bytes.size(), " bytes cannot hold");
}

void check_writable(const char* what, const Tensor& image, IntArrayRef channels, int64_t longest) {
  TANDEM_CHECK(image.defined(), what, ": the image is undefined");
  TANDEM_CHECK_TYPE(image.scalar_type() == kByte, what, ": expected bytes, got ",
                    image.scalar_type());
  const bool fits = image.dim() == 2 ||
                    (image.dim() == 3 &&
                     std::find(channels.begin(), channels.end(), image.size(0)) != channels.end());
  TANDEM_CHECK_SHAPE(fits, what, ": expected [channels, height, width] with channels one of ",
                     channels, ", got ", image.sizes());
  const int64_t height = image.size(-2), width = image.size(-1);
  TANDEM_CHECK_SHAPE(height > 0 && width > 0 && height <= longest && width <= longest, what,
                     ": an image of ", height, " x ", width, " pixels");
}

void interleave(const uint8_t* row, int64_t plane, int64_t width, int channels, uint8_t* to) {
  for (int c = 0; c < channels; ++c)
    for (int64_t x = 0; x < width; ++x) to[x * channels + c] = row[c * plane + x];
}

void allocate(Pixels& p) { p.values.reset(new uint8_t[static_cast<size_t>(p.height * p.row())]); }

}  // namespace detail

Tensor decode_image(std::string_view bytes, ImageMode mode, IntArrayRef size,
                    const std::string& name) {
  detail::Pixels pixels;
  if (detail::is_png(bytes))
    pixels = detail::decode_png(bytes, mode, name);
  else if (detail::is_jpeg(bytes))
    pixels = detail::decode_jpeg(bytes, mode, name, size);
  else
    tandem::detail::raise<FileError>(
        bytes.empty() ? str(name, ": is empty")
                      : str(name, ": is neither a PNG nor a JPEG file (byte 0 is ",
                            int{static_cast<uint8_t>(bytes[0])}, ")"));
  const Tensor image = planes(pixels, mode);
  if (size.empty()) return image;
  const ImageSize to = scaled_size(pixels.whole.height, pixels.whole.width, size);
  return resize_image(image, to.height, to.width);
}

Tensor read_image(const std::string& path, ImageMode mode, IntArrayRef size) {
  const auto file = MappedFile::open(path);
  return decode_image(file->bytes(), mode, size, path);
}

Tensor resize_image(const Tensor& image, int64_t height, int64_t width) {
  TANDEM_CHECK(image.defined(), "resize_image: the image is undefined");
  TANDEM_CHECK_SHAPE(image.dim() >= 2 && image.numel() > 0,
                     "resize_image: expected an image [..., height, width] with pixels, got ",
                     image.sizes());
  TANDEM_CHECK(height > 0 && width > 0, "resize_image: a size of ", height, " x ", width);
  const int64_t h = image.size(-2), w = image.size(-1);
  if (h == height && w == width) return image;
  const bool rounds = !isFloatingType(image.scalar_type());
  TANDEM_CHECK_TYPE(!rounds || image.scalar_type() == kByte,
                    "resize_image: expected bytes or floating-point numbers, got ",
                    image.scalar_type());
  Tensor x = image.reshape({1, -1, h, w});
  if (rounds) x = x.to(kFloat);
  x = _upsample_bilinear2d_aa(x, {height, width}, /*align_corners=*/false);
  if (rounds) x = x.add_(0.5).clamp_(0, 255).to(kByte);
  std::vector<int64_t> shape = image.sizes().vec();
  shape[shape.size() - 2] = height;
  shape[shape.size() - 1] = width;
  return x.view(shape);
}

ImageSize scaled_size(int64_t height, int64_t width, IntArrayRef wanted) {
  TANDEM_CHECK(wanted.size() == 1 || wanted.size() == 2,
               "a size is {shorter side} or {height, width}, got ", wanted);
  for (const int64_t n : wanted)
    TANDEM_CHECK(n > 0 && n <= detail::kMaxPixels, "a size of ", wanted, " pixels");
  if (wanted.size() == 2) {
    TANDEM_CHECK(wanted[0] <= detail::kMaxPixels / wanted[1], "a size of ", wanted, " pixels");
    return {wanted[0], wanted[1]};
  }
  TANDEM_CHECK_SHAPE(height > 0 && width > 0, "an image of ", height, " x ", width, " pixels");
  const double longer = static_cast<double>(std::max(height, width)) /
                        static_cast<double>(std::min(height, width)) *
                        static_cast<double>(wanted[0]);
  TANDEM_CHECK_SHAPE(
      longer * static_cast<double>(wanted[0]) <= static_cast<double>(detail::kMaxPixels),
      "an image of ", height, " x ", width, " pixels cannot be scaled to a shorter side of ",
      wanted[0]);
  const auto other = static_cast<int64_t>(longer);
  return height < width ? ImageSize{wanted[0], other} : ImageSize{other, wanted[0]};
}

}  // namespace tandem::io
