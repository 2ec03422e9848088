#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tandem::jit {

/// A folder of blobs found by their keys; several processes may use one at a time.
///
/// A file is written under another name and then renamed, so that nobody sees half of one. It holds
/// its key and a checksum: what is damaged, or belongs to another key, counts as not there and is
/// replaced. Where the folder cannot be used, nothing is found and nothing is kept.
class DiskCache {
 public:
  /// An empty name: no folder.
  explicit DiskCache(std::string folder);

  std::optional<std::string> read(std::string_view key) const;
  void write(std::string_view key, std::string_view blob) const;
  /// Where the blob of a key is or would be.
  std::string path_of(std::string_view key) const;

 private:
  std::string folder_;
};

}  // namespace tandem::jit
