// PNG files, by libpng.
//
// Note: jumps. libpng leaves a call that fails by longjmp, which runs no destructors. Whatever it
// is asked to do is therefore done in functions that own nothing (`guarded` calls them); memory and
// libpng's structs belong to objects in the frames above.
#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstring>

#include "tandem/io/file.h"
#include "tandem/io/image_detail.h"
#include "tandem/ops/copy.h"

namespace tandem::io {
namespace {

/// What the calls to libpng share.
struct Call {
  png_structp png = nullptr;
  png_infop info = nullptr;
  jmp_buf jump;
  char message[256] = {};
};

[[noreturn]] void on_error(png_structp png, png_const_charp message) {
  Call& c = *static_cast<Call*>(png_get_error_ptr(png));
  std::snprintf(c.message, sizeof c.message, "%s", message);
  std::longjmp(c.jump, 1);
}
void on_warning(png_structp, png_const_charp) {}

/// False if libpng jumped out of it.
template <class C>
bool guarded(C& call, void (*part)(C&)) {
  if (setjmp(call.jump)) return false;
  part(call);
  return true;
}

struct Reader : Call {
  std::string_view bytes;
  size_t at = 0;
  bool alpha = true;
  // What the file says.
  png_uint_32 width = 0, height = 0;
  int depth = 0, colour = 0, interlace = 0;
  int passes = 1;
  detail::Pixels* pixels = nullptr;

  ~Reader() { png_destroy_read_struct(&png, &info, nullptr); }
};

void take(png_structp png, png_bytep to, size_t n) {
  Reader& r = *static_cast<Reader*>(png_get_io_ptr(png));
  if (r.bytes.size() - r.at < n) png_error(png, "the file ends too early");
  std::memcpy(to, r.bytes.data() + r.at, n);
  r.at += n;
}

void read_header(Reader& r) {
  png_set_read_fn(r.png, &r, take);
  png_read_info(r.png, r.info);
  png_get_IHDR(r.png, r.info, &r.width, &r.height, &r.depth, &r.colour, &r.interlace, nullptr,
               nullptr);
}

void choose_format(Reader& r) {
  if (r.depth == 16) png_set_scale_16(r.png);
  // Palettes become colours, less than 8 bits become 8, a transparent colour becomes alpha.
  png_set_expand(r.png);
  if (!r.alpha) png_set_strip_alpha(r.png);
  r.passes = png_set_interlace_handling(r.png);
  png_read_update_info(r.png, r.info);
}

void read_rows(Reader& r) {
  for (int pass = 0; pass < r.passes; ++pass)
    for (int64_t y = 0; y < r.pixels->height; ++y)
      png_read_row(r.png, r.pixels->values.get() + y * r.pixels->row(), nullptr);
  png_read_end(r.png, nullptr);
}

struct Writer : Call {
  std::string out;
  bool out_of_memory = false;
  int64_t height = 0, width = 0;
  int channels = 0, level = 6;
  const uint8_t* planes = nullptr;
  uint8_t* row = nullptr;

  ~Writer() { png_destroy_write_struct(&png, &info); }
};

void give(png_structp png, png_bytep from, size_t n) {
  Writer& w = *static_cast<Writer*>(png_get_io_ptr(png));
  try {
    w.out.append(reinterpret_cast<const char*>(from), n);
  } catch (const std::exception&) {
    w.out_of_memory = true;
  }
  if (w.out_of_memory) png_error(png, "out of memory");
}

void write_all(Writer& w) {
  static constexpr int kColour[] = {0, PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA,
                                    PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA};
  png_set_write_fn(w.png, &w, give, nullptr);
  png_set_compression_level(w.png, w.level);
  png_set_IHDR(w.png, w.info, static_cast<png_uint_32>(w.width), static_cast<png_uint_32>(w.height),
               8, kColour[w.channels], PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  png_write_info(w.png, w.info);
  const int64_t plane = w.height * w.width;
  for (int64_t y = 0; y < w.height; ++y) {
    detail::interleave(w.planes + y * w.width, plane, w.width, w.channels, w.row);
    png_write_row(w.png, w.row);
  }
  png_write_end(w.png, w.info);
}

}  // namespace

namespace detail {

bool is_png(std::string_view bytes) {
  return bytes.size() >= 8 &&
         png_sig_cmp(reinterpret_cast<png_const_bytep>(bytes.data()), 0, 8) == 0;
}

Pixels decode_png(std::string_view bytes, ImageMode mode, const std::string& name) {
  Pixels pixels;
  Reader r;
  r.bytes = bytes;
  r.alpha = mode != ImageMode::kGray && mode != ImageMode::kRGB;
  r.pixels = &pixels;
  const auto run = [&](void (*part)(Reader&)) {
    if (!guarded(r, part))
      tandem::detail::raise<FileError>(str(name, ": near byte ", r.at, ": ", r.message));
  };
  r.png =
      png_create_read_struct(PNG_LIBPNG_VER_STRING, static_cast<Call*>(&r), on_error, on_warning);
  if (r.png) r.info = png_create_info_struct(r.png);
  TANDEM_CHECK(r.png && r.info, name, ": libpng could not be started");

  run(read_header);
  // The best that deflate can do is 1032 bytes of one.
  const int64_t bits = int64_t{r.depth} * png_get_channels(r.png, r.info);
  const auto most = static_cast<int64_t>(bytes.size()) * 1032 * 8 / bits;
  check_extents(r.height, r.width, most, bytes, name);
  run(choose_format);
  pixels.height = r.height;
  pixels.width = r.width;
  pixels.whole = {r.height, r.width};
  pixels.channels = png_get_channels(r.png, r.info);
  TANDEM_CHECK_AS(FileError, png_get_rowbytes(r.png, r.info) == static_cast<size_t>(pixels.row()),
                  name, ": rows of ", png_get_rowbytes(r.png, r.info), " bytes for ", pixels.width,
                  " pixels");
  allocate(pixels);
  run(read_rows);
  return pixels;
}

}  // namespace detail

void write_png(const Tensor& image, const std::string& path, int compression_level) {
  detail::check_writable("write_png", image, {1, 2, 3, 4}, 1000000);
  TANDEM_CHECK(compression_level >= 0 && compression_level <= 9,
               "write_png: expected a level of compression from 0 to 9, got ", compression_level);
  const Tensor pixels = image.detach().contiguous();
  Writer w;
  w.height = image.size(-2);
  w.width = image.size(-1);
  w.channels = image.dim() == 2 ? 1 : static_cast<int>(image.size(0));
  w.level = compression_level;
  w.planes = pixels.data_ptr<uint8_t>();
  const std::unique_ptr<uint8_t[]> row(new uint8_t[static_cast<size_t>(w.width * w.channels)]);
  w.row = row.get();
  w.png =
      png_create_write_struct(PNG_LIBPNG_VER_STRING, static_cast<Call*>(&w), on_error, on_warning);
  if (w.png) w.info = png_create_info_struct(w.png);
  TANDEM_CHECK(w.png && w.info, path, ": libpng could not be started");
  TANDEM_CHECK_AS(FileError, guarded(w, write_all), path, ": ", w.message);
  AtomicFile file(path);
  file.write(w.out);
  file.commit();
}

}  // namespace tandem::io
