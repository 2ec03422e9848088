#include "tandem/io/zip.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "tandem/base/error.h"

namespace tandem::io {
namespace {

constexpr uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50;
constexpr uint32_t kEnd64 = 0x06064b50, kLocator64 = 0x07064b50;
constexpr uint16_t kExtra64 = 1;
constexpr uint64_t kMax32 = 0xFFFFFFFF;
constexpr size_t kLocalSize = 30, kCentralSize = 46, kEndSize = 22, kLocatorSize = 20;

/// Reads numbers at places of the archive, never outside of it.
class Reader {
 public:
  Reader(std::string_view bytes, const std::string& what) : bytes_(bytes), what_(what) {}
  [[noreturn]] void fail(uint64_t at, const std::string& message) const {
    detail::raise<FileError>(str(what_, ": byte ", at, ": ", message));
  }
  template <class T>
  T get(uint64_t at) const {
    if (at > bytes_.size() || bytes_.size() - at < sizeof(T)) fail(at, "the archive is cut off");
    T v;
    std::memcpy(&v, bytes_.data() + at, sizeof(T));
    return v;
  }
  std::string_view text(uint64_t at, uint64_t size) const {
    if (at > bytes_.size() || bytes_.size() - at < size) fail(at, "the archive is cut off");
    return bytes_.substr(at, size);
  }
  size_t size() const { return bytes_.size(); }

 private:
  std::string_view bytes_;
  const std::string& what_;
};

/// Large numbers stand in an extra field, in the order of those that did not fit.
void read_extra64(const Reader& r, uint64_t at, uint64_t size, ZipEntry& e) {
  const uint64_t end = at + size;
  while (end - at >= 4) {
    const uint16_t id = r.get<uint16_t>(at), length = r.get<uint16_t>(at + 2);
    at += 4;
    if (length > end - at) r.fail(at, "an extra field is cut off");
    if (id == kExtra64) {
      uint64_t field = at;
      for (uint64_t* v : {&e.size, &e.stored_size, &e.offset}) {
        if (*v != kMax32) continue;
        if (field + 8 > at + length) r.fail(field, "an extra field is cut off");
        *v = r.get<uint64_t>(field);
        field += 8;
      }
    }
    at += length;
  }
}

// Files that share bytes are a way to make a small archive fill a memory.
void check_overlaps(const Reader& r, const std::vector<ZipEntry>& entries) {
  std::vector<const ZipEntry*> sorted;
  for (const ZipEntry& e : entries) sorted.push_back(&e);
  std::sort(sorted.begin(), sorted.end(),
            [](const ZipEntry* a, const ZipEntry* b) { return a->offset < b->offset; });
  for (size_t i = 0; i + 1 < sorted.size(); ++i)
    if (sorted[i + 1]->offset - sorted[i]->offset < kLocalSize + sorted[i]->stored_size)
      r.fail(sorted[i + 1]->offset,
             str("'", sorted[i + 1]->name, "' overlaps '", sorted[i]->name, "'"));
}

uint32_t crc_of(const void* data, size_t size, uint32_t crc = 0) {
  return static_cast<uint32_t>(::crc32_z(crc, static_cast<const Bytef*>(data), size));
}

}  // namespace

std::vector<ZipEntry> read_zip_directory(std::string_view archive, const std::string& what) {
  const Reader r(archive, what);
  // The end record is the last thing in the file but for a comment.
  uint64_t end = archive.size();
  for (uint64_t back = kEndSize; back <= archive.size() && back <= kEndSize + 65535; ++back) {
    const uint64_t at = archive.size() - back;
    if (r.get<uint32_t>(at) == kEnd && r.get<uint16_t>(at + 20) == back - kEndSize) {
      end = at;
      break;
    }
  }
  if (end == archive.size()) r.fail(end, "this is not a zip archive, or its end is missing");
  uint64_t count = r.get<uint16_t>(end + 10), size = r.get<uint32_t>(end + 12),
           at = r.get<uint32_t>(end + 16);
  if ((count == 0xFFFF || size == kMax32 || at == kMax32) && end >= kLocatorSize &&
      r.get<uint32_t>(end - kLocatorSize) == kLocator64) {
    const uint64_t end64 = r.get<uint64_t>(end - kLocatorSize + 8);
    if (r.get<uint32_t>(end64) != kEnd64)
      r.fail(end64, "expected the end record of a large archive");
    count = r.get<uint64_t>(end64 + 32);
    size = r.get<uint64_t>(end64 + 40);
    at = r.get<uint64_t>(end64 + 48);
  }
  if (at > end || size > end - at) r.fail(at, "the directory lies outside of the archive");
  if (count > size / kCentralSize)
    r.fail(at, "the directory is too small for its number of entries");

  std::vector<ZipEntry> entries;
  std::set<std::string> names;
  for (uint64_t i = 0; i < count; ++i) {
    if (r.get<uint32_t>(at) != kCentral) r.fail(at, "expected an entry of the directory");
    const uint16_t flags = r.get<uint16_t>(at + 8), method = r.get<uint16_t>(at + 10);
    const uint64_t name = r.get<uint16_t>(at + 28), extra = r.get<uint16_t>(at + 30),
                   comment = r.get<uint16_t>(at + 32);
    ZipEntry e;
    e.name = r.text(at + kCentralSize, name);
    e.crc = r.get<uint32_t>(at + 16);
    e.stored_size = r.get<uint32_t>(at + 20);
    e.size = r.get<uint32_t>(at + 24);
    e.offset = r.get<uint32_t>(at + 42);
    read_extra64(r, at + kCentralSize + name, extra, e);
    if (flags & 1) r.fail(at, str("'", e.name, "' is encrypted"));
    if (method != 0 && method != 8)
      r.fail(at, str("'", e.name, "' is compressed in a way (", method, ") that is not supported"));
    e.deflated = method == 8;
    if (e.stored_size > archive.size())
      r.fail(at, str("'", e.name, "' is larger than the archive"));
    if (!e.deflated && e.size != e.stored_size) r.fail(at, str("'", e.name, "' has two sizes"));
    // deflate makes nothing smaller than by a factor of 1032.
    if (e.size > e.stored_size * 1032 + 64 && e.deflated)
      r.fail(at, str("'", e.name, "' cannot have ", e.size, " bytes"));
    if (!names.insert(e.name).second) r.fail(at, str("'", e.name, "' appears twice"));
    at += kCentralSize + name + extra + comment;
    entries.push_back(std::move(e));
  }
  check_overlaps(r, entries);
  return entries;
}

std::pair<Bytes, std::shared_ptr<const void>> read_zip_entry(
    const MappedFile& archive, std::shared_ptr<const void> archive_owner, const ZipEntry& e,
    const std::string& what) {
  const Reader r(archive.bytes(), what);
  if (r.get<uint32_t>(e.offset) != kLocal) r.fail(e.offset, "expected a file's header");
  const uint64_t begin =
      e.offset + kLocalSize + r.get<uint16_t>(e.offset + 26) + r.get<uint16_t>(e.offset + 28);
  const std::string_view stored = r.text(begin, e.stored_size);
  Bytes bytes{archive.data() + begin, stored.size()};
  std::shared_ptr<const void> owner = std::move(archive_owner);
  if (e.deflated) {
    auto buffer = std::make_shared<std::vector<char>>(e.size);
    z_stream z{};
    TANDEM_CHECK_AS(FileError, ::inflateInit2(&z, -MAX_WBITS) == Z_OK, what, ": zlib failed");
    // zlib counts in 32 bits: long files go in pieces.
    uint64_t in = 0, out = 0;
    int status = Z_OK;
    while (status == Z_OK) {
      z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(stored.data() + in));
      z.avail_in = static_cast<uInt>(std::min<uint64_t>(stored.size() - in, 1u << 30));
      z.next_out = reinterpret_cast<Bytef*>(buffer->data() + out);
      z.avail_out = static_cast<uInt>(std::min<uint64_t>(e.size - out, 1u << 30));
      const uInt in_before = z.avail_in, out_before = z.avail_out;
      status = ::inflate(&z, Z_NO_FLUSH);
      in += in_before - z.avail_in;
      out += out_before - z.avail_out;
      if (in_before == z.avail_in && out_before == z.avail_out) break;
    }
    ::inflateEnd(&z);
    if (status != Z_STREAM_END || out != e.size || in != stored.size())
      r.fail(begin + in, "the compressed data is damaged");
    bytes = {buffer->data(), buffer->size()};
    owner = buffer;
  }
  if (crc_of(bytes.data, bytes.size) != e.crc) r.fail(begin, "the checksum does not fit the data");
  return {bytes, owner};
}

namespace {

/// Numbers one after the other, as they stand in the file.
class Record {
 public:
  template <class T>
  Record& add(T v) {
    text_.append(reinterpret_cast<const char*>(&v), sizeof(T));
    return *this;
  }
  Record& text(std::string_view t) {
    text_ += t;
    return *this;
  }
  const std::string& bytes() const { return text_; }

 private:
  std::string text_;
};

constexpr uint16_t kNeeds = 45;    // version 4.5: large files
constexpr uint16_t kUtf8 = 0x800;  // names are UTF-8
constexpr uint16_t kDate = 0x21;   // 1980-01-01: the same tensors give the same file

}  // namespace

void ZipWriter::add(const std::string& name, const std::function<void(const Sink&)>& write) {
  TANDEM_CHECK(name.size() < 65536, "save_npz: the name '", name.substr(0, 40), "...' is too long");
  ZipEntry e{.name = name, .offset = at_};
  write([&](const void* data, size_t size) {
    e.crc = crc_of(data, size, e.crc);
    e.size += size;
  });
  e.stored_size = e.size;
  Record r;
  r.add(kLocal).add(kNeeds).add(kUtf8).add(uint16_t{0}).add(uint16_t{0}).add(kDate).add(e.crc);
  r.add(static_cast<uint32_t>(kMax32)).add(static_cast<uint32_t>(kMax32));
  r.add(static_cast<uint16_t>(name.size())).add(uint16_t{20}).text(name);
  r.add(kExtra64).add(uint16_t{16}).add(e.size).add(e.stored_size);
  put(r.bytes().data(), r.bytes().size());
  write([&](const void* data, size_t size) { put(data, size); });
  entries_.push_back(std::move(e));
}

void ZipWriter::finish() {
  const uint64_t begin = at_;
  for (const ZipEntry& e : entries_) {
    Record r;
    r.add(kCentral).add(kNeeds).add(kNeeds).add(kUtf8).add(uint16_t{0}).add(uint16_t{0}).add(kDate);
    r.add(e.crc).add(static_cast<uint32_t>(kMax32)).add(static_cast<uint32_t>(kMax32));
    r.add(static_cast<uint16_t>(e.name.size())).add(uint16_t{28}).add(uint16_t{0}).add(uint16_t{0});
    r.add(uint16_t{0}).add(uint32_t{0}).add(static_cast<uint32_t>(kMax32)).text(e.name);
    r.add(kExtra64).add(uint16_t{24}).add(e.size).add(e.stored_size).add(e.offset);
    put(r.bytes().data(), r.bytes().size());
  }
  const uint64_t size = at_ - begin, count = entries_.size(), end64 = at_;
  Record r;
  r.add(kEnd64).add(uint64_t{44}).add(kNeeds).add(kNeeds).add(uint32_t{0}).add(uint32_t{0});
  r.add(count).add(count).add(size).add(begin);
  r.add(kLocator64).add(uint32_t{0}).add(end64).add(uint32_t{1});
  r.add(kEnd).add(uint16_t{0}).add(uint16_t{0}).add(uint16_t{0xFFFF}).add(uint16_t{0xFFFF});
  r.add(static_cast<uint32_t>(kMax32)).add(static_cast<uint32_t>(kMax32)).add(uint16_t{0});
  put(r.bytes().data(), r.bytes().size());
}

}  // namespace tandem::io
