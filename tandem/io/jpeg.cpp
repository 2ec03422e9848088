// JPEG files, by libjpeg.
//
// libjpeg leaves a call that fails by longjmp, as libpng does: see the note on jumps in png.cpp.
#include <cstdio>
// jpeglib.h needs size_t and FILE.
#include <jerror.h>
#include <jpeglib.h>

#include <algorithm>
#include <csetjmp>

#include "tandem/io/image_detail.h"

namespace tandem::io {
namespace {

struct Reader {
  jpeg_decompress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg_progress_mgr progress{};
  jmp_buf jump;
  char message[JMSG_LENGTH_MAX] = {};
  std::string_view bytes;
  bool grey = false, created = false;
  ImageSize least{};
  detail::Pixels* pixels = nullptr;

  ~Reader() {
    if (created) jpeg_destroy_decompress(&jpeg);
  }
  size_t at() const {
    return created && jpeg.src ? bytes.size() - std::min(jpeg.src->bytes_in_buffer, bytes.size())
                               : 0;
  }
};

[[noreturn]] void on_error(j_common_ptr c) {
  Reader& r = *static_cast<Reader*>(c->client_data);
  c->err->format_message(c, r.message);
  std::longjmp(r.jump, 1);
}

/// What libjpeg only warns of is mostly damage that it can paint over; a picture with grey halves
/// is no better than an error that names the file. Some oddities hurt nobody.
void on_message(j_common_ptr c, int level) {
  if (level >= 0) return;
  switch (c->err->msg_code) {
    case JWRN_EXTRANEOUS_DATA:
    case JWRN_ADOBE_XFORM:
    case JWRN_JFIF_MAJOR:
    case JWRN_TOO_MUCH_DATA:
      return;
    default:
      on_error(c);
  }
}
void on_output(j_common_ptr) {}

/// A small file may ask for a large image to be gone over thousands of times.
void on_progress(j_common_ptr c) {
  constexpr int kMaxScans = 500;
  Reader& r = *static_cast<Reader*>(c->client_data);
  if (r.jpeg.input_scan_number <= kMaxScans) return;
  std::snprintf(r.message, sizeof r.message, "more than %d scans", kMaxScans);
  std::longjmp(r.jump, 1);
}

bool guarded(Reader& r, void (*part)(Reader&)) {
  if (setjmp(r.jump)) return false;
  part(r);
  return true;
}

void read_header(Reader& r) {
  jpeg_create_decompress(&r.jpeg);
  r.created = true;
  r.jpeg.client_data = &r;
  r.progress.progress_monitor = on_progress;
  r.jpeg.progress = &r.progress;
  jpeg_mem_src(&r.jpeg, reinterpret_cast<const unsigned char*>(r.bytes.data()),
               static_cast<unsigned long>(r.bytes.size()));
  jpeg_read_header(&r.jpeg, TRUE);
}

void choose_format(Reader& r) {
  jpeg_decompress_struct& j = r.jpeg;
  const bool four = j.jpeg_color_space == JCS_CMYK || j.jpeg_color_space == JCS_YCCK;
  j.out_color_space = four                                            ? JCS_CMYK
                      : r.grey || j.jpeg_color_space == JCS_GRAYSCALE ? JCS_GRAYSCALE
                                                                      : JCS_RGB;
  if (r.least.height > 0) {
    for (const unsigned part : {8u, 4u, 2u}) {
      if (j.image_height / part < r.least.height || j.image_width / part < r.least.width) continue;
      j.scale_num = 1;
      j.scale_denom = part;
      break;
    }
  }
  jpeg_calc_output_dimensions(&j);
}

void read_rows(Reader& r) {
  jpeg_decompress_struct& j = r.jpeg;
  jpeg_start_decompress(&j);
  while (j.output_scanline < j.output_height) {
    JSAMPROW row = r.pixels->values.get() + j.output_scanline * r.pixels->row();
    jpeg_read_scanlines(&j, &row, 1);
  }
  jpeg_finish_decompress(&j);
}

/// Inks to light, in place of the four channels. Adobe's programs write how much paper is left.
void cmyk_to_rgb(detail::Pixels& p, bool inverted) {
  const uint8_t* from = p.values.get();
  uint8_t* to = p.values.get();
  for (int64_t i = 0; i < p.height * p.width; ++i, from += 4, to += 3) {
    const int left = inverted ? from[3] : 255 - from[3];
    for (int c = 0; c < 3; ++c) {
      const int paper = inverted ? from[c] : 255 - from[c];
      to[c] = static_cast<uint8_t>((paper * left + 127) / 255);
    }
  }
  p.channels = 3;
}

}  // namespace

namespace detail {

bool is_jpeg(std::string_view bytes) { return bytes.starts_with("\xff\xd8\xff"); }

Pixels decode_jpeg(std::string_view bytes, ImageMode mode, const std::string& name,
                   IntArrayRef wanted) {
  Pixels pixels;
  Reader r;
  r.bytes = bytes;
  r.grey = mode == ImageMode::kGray || mode == ImageMode::kGrayAlpha;
  r.pixels = &pixels;
  r.jpeg.err = jpeg_std_error(&r.errors);
  r.errors.error_exit = on_error;
  r.errors.emit_message = on_message;
  r.errors.output_message = on_output;
  r.jpeg.client_data = &r;
  const auto run = [&](void (*part)(Reader&)) {
    if (!guarded(r, part))
      tandem::detail::raise<FileError>(str(name, ": near byte ", r.at(), ": ", r.message));
  };

  run(read_header);
  const int parts = r.jpeg.num_components;
  TANDEM_CHECK_AS(FileError, r.jpeg.jpeg_color_space != JCS_UNKNOWN, name, ": ", parts,
                  " channels without a meaning, expected grey, colours or four inks");
  // A block of 64 pixels takes a bit at least, unless bits are coded arithmetically.
  const auto most = r.jpeg.arith_code ? kMaxPixels : static_cast<int64_t>(bytes.size()) * 8 * 64;
  check_extents(r.jpeg.image_height, r.jpeg.image_width, most, bytes, name);
  pixels.whole = {r.jpeg.image_height, r.jpeg.image_width};
  if (!wanted.empty()) r.least = scaled_size(pixels.whole.height, pixels.whole.width, wanted);
  run(choose_format);
  pixels.height = r.jpeg.output_height;
  pixels.width = r.jpeg.output_width;
  pixels.channels = r.jpeg.output_components;
  allocate(pixels);
  run(read_rows);
  if (r.jpeg.out_color_space == JCS_CMYK) cmyk_to_rgb(pixels, r.jpeg.saw_Adobe_marker);
  return pixels;
}

}  // namespace detail
}  // namespace tandem::io
