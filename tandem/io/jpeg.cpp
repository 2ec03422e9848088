// JPEG files, by libjpeg.
//
// libjpeg leaves a call that fails by longjmp, as libpng does: see the note on jumps in png.cpp.
#include <cstdio>
// jpeglib.h needs size_t and FILE.
#include <jerror.h>
#include <jpeglib.h>

#include <algorithm>
#include <csetjmp>
#include <cstdlib>

#include "tandem/io/file.h"
#include "tandem/io/image_detail.h"
#include "tandem/ops/copy.h"

namespace tandem::io {
namespace {

/// What the calls to libjpeg share.
struct Call {
  jpeg_error_mgr errors{};
  jmp_buf jump;
  char message[JMSG_LENGTH_MAX] = {};
  bool created = false;
};

struct Reader : Call {
  jpeg_decompress_struct jpeg{};
  jpeg_progress_mgr progress{};
  std::string_view bytes;
  bool grey = false;
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
  Call& call = *static_cast<Call*>(c->client_data);
  c->err->format_message(c, call.message);
  std::longjmp(call.jump, 1);
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
  Reader& r = *static_cast<Reader*>(static_cast<Call*>(c->client_data));
  if (r.jpeg.input_scan_number <= kMaxScans) return;
  std::snprintf(r.message, sizeof r.message, "more than %d scans", kMaxScans);
  std::longjmp(r.jump, 1);
}

/// False if libjpeg jumped out of it.
template <class C>
bool guarded(C& call, void (*part)(C&)) {
  if (setjmp(call.jump)) return false;
  part(call);
  return true;
}

/// Errors and warnings come to us from now on.
template <class C>
void listen(C& call) {
  call.jpeg.err = jpeg_std_error(&call.errors);
  call.errors.error_exit = on_error;
  call.errors.emit_message = on_message;
  call.errors.output_message = on_output;
  call.jpeg.client_data = static_cast<Call*>(&call);
}

void read_header(Reader& r) {
  jpeg_create_decompress(&r.jpeg);
  r.created = true;
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

struct Writer : Call {
  jpeg_compress_struct jpeg{};
  unsigned char* out = nullptr;
  unsigned long size = 0;
  int64_t height = 0, width = 0;
  int channels = 0, quality = 0;
  const uint8_t* planes = nullptr;
  uint8_t* row = nullptr;

  ~Writer() {
    if (created) jpeg_destroy_compress(&jpeg);
    std::free(out);
  }
};

void write_all(Writer& w) {
  jpeg_compress_struct& j = w.jpeg;
  jpeg_create_compress(&j);
  w.created = true;
  jpeg_mem_dest(&j, &w.out, &w.size);
  j.image_width = static_cast<JDIMENSION>(w.width);
  j.image_height = static_cast<JDIMENSION>(w.height);
  j.input_components = w.channels;
  j.in_color_space = w.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&j);
  jpeg_set_quality(&j, w.quality, TRUE);
  jpeg_start_compress(&j, TRUE);
  for (int64_t y = 0; y < w.height; ++y) {
    detail::interleave(w.planes + y * w.width, w.height * w.width, w.width, w.channels, w.row);
    jpeg_write_scanlines(&j, &w.row, 1);
  }
  jpeg_finish_compress(&j);
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
  listen(r);
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

void write_jpeg(const Tensor& image, const std::string& path, int quality) {
  detail::check_writable("write_jpeg", image, {1, 3}, 65500);
  TANDEM_CHECK(quality >= 1 && quality <= 100, "write_jpeg: expected a quality from 1 to 100, got ",
               quality);
  const Tensor pixels = image.detach().contiguous();
  Writer w;
  w.height = image.size(-2);
  w.width = image.size(-1);
  w.channels = image.dim() == 2 ? 1 : static_cast<int>(image.size(0));
  w.quality = quality;
  w.planes = pixels.data_ptr<uint8_t>();
  const std::unique_ptr<uint8_t[]> row(new uint8_t[static_cast<size_t>(w.width * w.channels)]);
  w.row = row.get();
  listen(w);
  TANDEM_CHECK_AS(FileError, guarded(w, write_all), path, ": ", w.message);
  AtomicFile file(path);
  file.write(w.out, w.size);
  file.commit();
}

}  // namespace tandem::io
