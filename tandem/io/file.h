#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace tandem::io {

/// The bytes of a file, mapped into memory: they are read from disk when they are touched. Writing
/// to them changes this copy only, never the file. The file must not be made shorter meanwhile by
/// somebody else, as with any mapped file; save() and its relatives never do that, they replace.
class MappedFile {
 public:
  /// Throws FileError if there is no regular file of that name that can be read.
  static std::shared_ptr<MappedFile> open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  char* data() const { return data_; }
  size_t size() const { return size_; }
  std::string_view bytes() const { return {data_, size_}; }
  const std::string& path() const { return path_; }

 private:
  MappedFile(std::string path, char* data, size_t size)
      : path_(std::move(path)), data_(data), size_(size) {}
  std::string path_;
  char* data_;
  size_t size_;
};

/// A file that is there either whole or not at all: everything goes to a new file beside it, which
/// takes its name when it is complete and on disk. Whoever opens the name sees the old contents or
/// the new ones, whenever the process or the machine stops.
class AtomicFile {
 public:
  explicit AtomicFile(const std::string& path);
  /// Without commit() the old file stays and the new one is removed.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, size_t size);
  void write(std::string_view bytes) { write(bytes.data(), bytes.size()); }
  void commit();

 private:
  [[noreturn]] void fail(const char* what) const;
  std::string path_, temporary_;
  int fd_ = -1;
};

/// Where writers put their bytes, in order.
using Sink = std::function<void(const void* data, size_t size)>;

}  // namespace tandem::io
