#include "tandem/io/cifar.h"

#include <cstring>

#include "tandem/io/file.h"
#include "tandem/ops/creation.h"

namespace tandem::io {

CIFARRecords read_cifar(const std::string& path, IntArrayRef classes) {
  constexpr int64_t kImage = 3 * 32 * 32;
  const auto file = MappedFile::open(path);
  const auto size = static_cast<int64_t>(file->size());
  const auto labels = static_cast<int64_t>(classes.size());
  const int64_t record = labels + kImage;
  TANDEM_CHECK_AS(FileError, size > 0, path, ": is empty");
  TANDEM_CHECK_AS(FileError, size % record == 0, path, ": ", size, " bytes are not records of ",
                  record, " bytes: record ", size / record, " at byte ", size / record * record,
                  " is cut short");
  const int64_t n = size / record;
  CIFARRecords r{empty({n, 3, 32, 32}, kByte), empty({n, labels}, kLong)};
  uint8_t* images = r.images.data_ptr<uint8_t>();
  int64_t* classes_of = r.labels.data_ptr<int64_t>();
  for (int64_t i = 0; i < n; ++i) {
    const auto* at = reinterpret_cast<const uint8_t*>(file->data()) + i * record;
    for (int64_t k = 0; k < labels; ++k) {
      TANDEM_CHECK_AS(FileError, at[k] < classes[static_cast<size_t>(k)], path, ": byte ",
                      i * record + k, ": label ", k, " of record ", i, " is ", int{at[k]},
                      ", expected 0 to ", classes[static_cast<size_t>(k)] - 1);
      classes_of[i * labels + k] = at[k];
    }
    std::memcpy(images + i * kImage, at + labels, kImage);
  }
  return r;
}

}  // namespace tandem::io
