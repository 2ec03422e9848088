#include "tandem/jit/disk_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

namespace tandem::jit {
namespace {

constexpr char kMagic[8] = {'T', 'a', 'n', 'd', 'e', 'm', 'K', '1'};
constexpr uint64_t kMaxBytes = uint64_t{1} << 28;

struct Header {
  char magic[8];
  uint64_t checksum;  // of everything behind the header
  uint64_t key_bytes;
  uint64_t blob_bytes;
};

uint64_t hash(std::string_view text, uint64_t h) {
  while (text.size() >= 8) {
    uint64_t word;
    std::memcpy(&word, text.data(), 8);
    h = (h ^ word) * 0x9fb21c651e98df25u;
    h ^= h >> 35;
    text.remove_prefix(8);
  }
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  h ^= h >> 29;
  return h * 0xff51afd7ed558ccdu;
}

// A file descriptor that is closed with its owner.
class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  explicit operator bool() const { return fd_ >= 0; }

  bool read_all(char* to, size_t n) const {
    while (n > 0) {
      const ssize_t got = read(fd_, to, n);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;
      to += got;
      n -= static_cast<size_t>(got);
    }
    return true;
  }
  bool write_all(const char* from, size_t n) const {
    while (n > 0) {
      const ssize_t put = write(fd_, from, n);
      if (put < 0 && errno == EINTR) continue;
      if (put <= 0) return false;
      from += put;
      n -= static_cast<size_t>(put);
    }
    return true;
  }
  // What is run as code must not have been written by anybody else.
  bool is_ours(struct stat* info) const {
    return fstat(fd_, info) == 0 && S_ISREG(info->st_mode) &&
           (info->st_uid == geteuid() || info->st_uid == 0) &&
           (info->st_mode & (S_IWGRP | S_IWOTH)) == 0;
  }

 private:
  int fd_;
};

}  // namespace

DiskCache::DiskCache(std::string folder) : folder_(std::move(folder)) {
  if (folder_.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
}

std::string DiskCache::path_of(std::string_view key) const {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string name = folder_ + "/";
  for (const uint64_t h : {hash(key, 0x243f6a8885a308d3u), hash(key, 0x13198a2e03707344u)})
    for (int shift = 60; shift >= 0; shift -= 4) name += kDigits[h >> shift & 15];
  return name + ".kernel";
}

std::optional<std::string> DiskCache::read(std::string_view key) const {
  if (folder_.empty()) return std::nullopt;
  const File file(open(path_of(key).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat info;
  if (!file || !file.is_ours(&info)) return std::nullopt;
  Header h;
  if (!file.read_all(reinterpret_cast<char*>(&h), sizeof(h)) ||
      std::memcmp(h.magic, kMagic, sizeof(kMagic)) != 0 || h.key_bytes != key.size() ||
      h.blob_bytes > kMaxBytes ||
      static_cast<uint64_t>(info.st_size) != sizeof(h) + h.key_bytes + h.blob_bytes)
    return std::nullopt;
  std::string rest(h.key_bytes + h.blob_bytes, '\0');
  if (!file.read_all(rest.data(), rest.size()) || hash(rest, h.blob_bytes) != h.checksum ||
      std::string_view(rest).substr(0, key.size()) != key)
    return std::nullopt;
  rest.erase(0, key.size());
  return rest;
}

void DiskCache::write(std::string_view key, std::string_view blob) const {
  if (folder_.empty()) return;
  static std::atomic<uint64_t> counter{0};
  const std::string path = path_of(key);
  const std::string temporary =
      path + "." + std::to_string(getpid()) + "." + std::to_string(counter++) + ".tmp";
  bool complete = false;
  {
    const File file(
        open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file) return;
    std::string bytes(sizeof(Header), '\0');
    bytes.append(key).append(blob);
    Header h;
    std::memcpy(h.magic, kMagic, sizeof(kMagic));
    h.key_bytes = key.size();
    h.blob_bytes = blob.size();
    h.checksum = hash(std::string_view(bytes).substr(sizeof(Header)), h.blob_bytes);
    std::memcpy(bytes.data(), &h, sizeof(h));
    complete = file.write_all(bytes.data(), bytes.size());
  }
  if (!complete || rename(temporary.c_str(), path.c_str()) != 0) unlink(temporary.c_str());
}

}  // namespace tandem::jit
