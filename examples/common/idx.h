#pragma once

#include <tandem/tandem.h>
#include <zlib.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

/// Images and their classes: bytes [n, 28, 28] and int64 [n].
struct LabelledImages {
  tandem::Tensor images;
  tandem::Tensor labels;
};

namespace idx {

/// What an idx file holds: unsigned bytes in row-major order.
struct Bytes {
  std::vector<int64_t> sizes;
  std::vector<uint8_t> values;
};

/// Reads an idx file of unsigned bytes with `dims` dimensions, plain or gzipped.
///
/// Format: two zero bytes, the element type (8: unsigned byte), the number of dimensions, each
/// extent as a big-endian 32-bit number, then the values. Memory grows with what is really in the
/// file, whatever the header claims.
inline Bytes read(const std::string& path, int dims) {
  auto check = [&](bool ok, const auto&... what) {
    if (!ok) throw tandem::FileError(tandem::str(path, ": ", what...));
  };
  std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  check(file != nullptr, "cannot be opened");
  gzbuffer(file.get(), 1 << 18);
  auto read_some = [&](uint8_t* to, size_t n) {
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
  check(head[3] == dims, "has ", int{head[3]}, " dimensions, expected ", dims);
  Bytes result;
  int64_t total = 1;
  for (int d = 0; d < dims; ++d) {
    uint8_t b[4];
    check(read_some(b, 4) == 4, "is cut short: the header ends in dimension ", d);
    result.sizes.push_back(int64_t{b[0]} << 24 | b[1] << 16 | b[2] << 8 | b[3]);
    check(!__builtin_mul_overflow(total, result.sizes.back(), &total), "has impossible extents");
  }
  constexpr size_t kBlock = 1 << 20;
  while (static_cast<int64_t>(result.values.size()) < total) {
    const size_t at = result.values.size();
    const size_t want = std::min<size_t>(kBlock, total - at);
    result.values.resize(at + want);
    const size_t got = read_some(result.values.data() + at, want);
    check(got == want, "is cut short: the header promises ", total, " bytes, there are ", at + got);
  }
  uint8_t extra;
  check(read_some(&extra, 1) == 0, "goes on after the ", total, " bytes that the header promises");
  return result;
}

/// Reads PREFIX-images-idx3-ubyte.gz and PREFIX-labels-idx1-ubyte.gz (or the same without .gz) from
/// a folder, and checks that they belong together.
inline LabelledImages read_pair(const std::string& folder, const std::string& prefix) {
  auto existing = [&](const std::string& name) {
    for (const char* ending : {".gz", ""}) {
      const std::string path = folder + "/" + prefix + name + ending;
      if (gzFile f = gzopen(path.c_str(), "rb")) {
        gzclose(f);
        return path;
      }
    }
    throw tandem::FileError(tandem::str(folder, ": there is no ", prefix, name, ".gz"));
  };
  const std::string image_path = existing("-images-idx3-ubyte");
  const std::string label_path = existing("-labels-idx1-ubyte");
  Bytes images = read(image_path, 3), labels = read(label_path, 1);
  if (images.sizes[1] != 28 || images.sizes[2] != 28)
    throw tandem::FileError(tandem::str(image_path, ": images of ", images.sizes[1], " x ",
                                        images.sizes[2], ", expected 28 x 28"));
  if (images.sizes[0] != labels.sizes[0] || labels.sizes[0] == 0)
    throw tandem::FileError(tandem::str(image_path, ": ", images.sizes[0], " images, but ",
                                        label_path, " has ", labels.sizes[0], " labels"));
  for (size_t i = 0; i < labels.values.size(); ++i)
    if (labels.values[i] > 9)
      throw tandem::FileError(tandem::str(label_path, ": label ", i, " is ", int{labels.values[i]},
                                          ", expected 0 to 9"));
  LabelledImages result;
  result.images = tandem::from_blob(images.values.data(), images.sizes, tandem::kByte).clone();
  result.labels =
      tandem::from_blob(labels.values.data(), labels.sizes, tandem::kByte).to(tandem::kLong);
  return result;
}

}  // namespace idx
