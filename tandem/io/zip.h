#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tandem/io/file.h"

namespace tandem::io {

/// A file within a zip archive.
struct ZipEntry {
  std::string name;
  uint64_t offset = 0;  // of its local header
  uint64_t stored_size = 0, size = 0;
  uint32_t crc = 0;
  bool deflated = false;
};

/// What the archive holds. `what` begins the messages of errors.
std::vector<ZipEntry> read_zip_directory(std::string_view archive, const std::string& what);

struct Bytes {
  char* data;
  size_t size;
};
/// The contents of an entry, checked against its checksum. They lie in the archive itself if they
/// are not compressed; what they belong to is the second result.
std::pair<Bytes, std::shared_ptr<const void>> read_zip_entry(
    const MappedFile& archive, std::shared_ptr<const void> archive_owner, const ZipEntry& entry,
    const std::string& what);

/// Writes an archive of uncompressed files.
class ZipWriter {
 public:
  explicit ZipWriter(Sink sink) : sink_(std::move(sink)) {}
  /// `write` is called twice, once to measure and once to write.
  void add(const std::string& name, const std::function<void(const Sink&)>& write);
  void finish();

 private:
  void put(const void* data, size_t size) {
    sink_(data, size);
    at_ += size;
  }
  Sink sink_;
  uint64_t at_ = 0;
  std::vector<ZipEntry> entries_;
};

}  // namespace tandem::io
