#include "tandem/io/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "tandem/base/error.h"

namespace tandem::io {
namespace {

/// Closes what open() gave, whatever happens.
struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

/// A link's target, so that saving to a link replaces what it leads to and not the link.
std::string target_of(const std::string& path) {
  char target[PATH_MAX];
  return ::realpath(path.c_str(), target) ? target : path;
}

}  // namespace

std::shared_ptr<MappedFile> MappedFile::open(const std::string& path) {
  // A pipe without a writer must not make the call wait.
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  TANDEM_CHECK_AS(FileError, file.fd >= 0, path, ": cannot be opened: ", std::strerror(errno));
  struct stat s;
  TANDEM_CHECK_AS(FileError, ::fstat(file.fd, &s) == 0, path, ": ", std::strerror(errno));
  TANDEM_CHECK_AS(FileError, S_ISREG(s.st_mode), path, ": ",
                  S_ISDIR(s.st_mode) ? "is a folder" : "is not a regular file");
  const size_t size = static_cast<size_t>(s.st_size);
  char* data = nullptr;
  if (size > 0) {
    void* p =
        ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file.fd, 0);
    TANDEM_CHECK_AS(FileError, p != MAP_FAILED, path,
                    ": cannot be mapped into memory: ", std::strerror(errno));
    data = static_cast<char*>(p);
  }
  return std::shared_ptr<MappedFile>(new MappedFile(path, data, size));
}

MappedFile::~MappedFile() {
  if (data_) ::munmap(data_, size_);
}

AtomicFile::AtomicFile(const std::string& path) : path_(target_of(path)) {
  static std::atomic<unsigned> count{0};
  struct stat s;
  const bool exists = ::stat(path_.c_str(), &s) == 0;
  TANDEM_CHECK_AS(FileError, !exists || S_ISREG(s.st_mode), path, ": ",
                  S_ISDIR(s.st_mode) ? "is a folder" : "is not a regular file",
                  ", and cannot be replaced by one");
  temporary_ = str(path_, ".", ::getpid(), ".", count++, ".tmp");
  fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd_ < 0) {
    const int error = errno;
    detail::raise<FileError>(str(path, ": cannot be written: ", std::strerror(error)));
  }
  if (exists) (void)!::fchmod(fd_, s.st_mode & 07777);
}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink(temporary_.c_str());
}

void AtomicFile::fail(const char* what) const {
  detail::raise<FileError>(str(path_, ": ", what, ": ", std::strerror(errno)));
}

void AtomicFile::write(const void* data, size_t size) {
  const char* p = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t n = ::write(fd_, p, size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("writing failed");
    p += n;
    size -= static_cast<size_t>(n);
  }
}

void AtomicFile::commit() {
  if (::fsync(fd_) != 0) fail("writing to disk failed");
  const int fd = fd_;
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail("cannot be replaced");
  fd_ = -1;
  ::close(fd);
  // The new name is on disk only when its folder is. Some file systems cannot do that; the file is
  // whole there too.
  const Descriptor folder{::open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (folder.fd >= 0) ::fsync(folder.fd);
}

}  // namespace tandem::io
