#include "tandem/io/idx.h"

#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "tandem/ops/copy.h"
#include "tandem/ops/creation.h"

namespace tandem::io {

// Format: two zero bytes, the element type (8: unsigned byte), the number of dimensions, each
// extent as a big-endian 32-bit number, then the values.
Tensor read_idx(const std::string& path, int dims) {
  const auto check = [&](bool ok, const auto&... what) {
    TANDEM_CHECK_AS(FileError, ok, path, ": ", what...);
  };
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  check(file != nullptr, "cannot be opened");
  gzbuffer(file.get(), 1 << 18);
  const auto read_some = [&](uint8_t* to, size_t n) {
    const int got = gzread(file.get(), to, static_cast<unsigned>(n));
    int code = Z_OK;
    const char* message = gzerror(file.get(), &code);
    check(got >= 0 && (code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR),
          "is damaged: ", message);
    check(code != Z_BUF_ERROR, "is cut short: the compressed data end too early");
    return static_cast<size_t>(got);
  };

  uint8_t head[4];
  check(read_some(head, 4) == 4 && head[0] == 0 && head[1] == 0, "is not an idx file");
  check(head[2] == 8, "holds elements of type ", int{head[2]}, ", expected 8 (unsigned bytes)");
  check(dims < 0 || head[3] == dims, "has ", int{head[3]}, " dimensions, expected ", dims);
  dims = head[3];
  check(dims <= 64, "has ", dims, " dimensions, more than 64");
  std::vector<int64_t> sizes;
  int64_t total = 1;
  for (int d = 0; d < dims; ++d) {
    uint8_t b[4];
    check(read_some(b, 4) == 4, "is cut short: the header ends in dimension ", d);
    sizes.push_back(int64_t{b[0]} << 24 | b[1] << 16 | b[2] << 8 | b[3]);
    check(!__builtin_mul_overflow(total, sizes.back(), &total), "has impossible extents");
  }
  constexpr size_t kBlock = 1 << 20;
  std::vector<uint8_t> values;
  while (static_cast<int64_t>(values.size()) < total) {
    const size_t at = values.size();
    const size_t want = std::min<size_t>(kBlock, static_cast<size_t>(total) - at);
    values.resize(at + want);
    const size_t got = read_some(values.data() + at, want);
    check(got == want, "is cut short: the header promises ", total, " bytes, there are ", at + got);
  }
  uint8_t extra;
  check(read_some(&extra, 1) == 0, "goes on after the ", total, " bytes that the header promises");
  return from_blob(values.data(), sizes, kByte).clone();
}

LabelledImages read_idx_pair(const std::string& folder, const std::string& prefix) {
  const auto existing = [&](const std::string& name) {
    for (const char* ending : {".gz", ""}) {
      const std::string path = folder + "/" + prefix + name + ending;
      if (gzFile f = gzopen(path.c_str(), "rb")) {
        gzclose(f);
        return path;
      }
    }
    tandem::detail::raise<FileError>(str(folder, ": there is no ", prefix, name, ".gz"));
  };
  const std::string image_path = existing("-images-idx3-ubyte");
  const std::string label_path = existing("-labels-idx1-ubyte");
  const Tensor images = read_idx(image_path, 3), labels = read_idx(label_path, 1);
  TANDEM_CHECK_AS(FileError, images.size(1) == 28 && images.size(2) == 28, image_path,
                  ": images of ", images.size(1), " x ", images.size(2), ", expected 28 x 28");
  TANDEM_CHECK_AS(FileError, images.size(0) == labels.size(0) && labels.size(0) > 0, image_path,
                  ": ", images.size(0), " images, but ", label_path, " has ", labels.size(0),
                  " labels");
  const uint8_t* classes = labels.data_ptr<uint8_t>();
  for (int64_t i = 0; i < labels.size(0); ++i)
    TANDEM_CHECK_AS(FileError, classes[i] <= 9, label_path, ": label ", i, " is ", int{classes[i]},
                    ", expected 0 to 9");
  return {images, labels.to(kLong)};
}

}  // namespace tandem::io
