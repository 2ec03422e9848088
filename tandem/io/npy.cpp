#include "tandem/io/npy.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <sstream>

#include "tandem/io/bytes.h"
#include "tandem/io/zip.h"
#include "tandem/ops/copy.h"
#include "tandem/ops/creation.h"
#include "tandem/ops/view.h"

namespace tandem {
namespace io {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kMaxHeader = 1 << 20;
constexpr size_t kMaxDims = 64;

struct TypeName {
  std::string_view name;  // NumPy's, without the byte order
  DType dtype;
};
constexpr TypeName kTypeNames[] = {
    {"b1", kBool}, {"u1", kByte}, {"i1", kChar},  {"i2", kShort},  {"i4", kInt},
    {"i8", kLong}, {"f2", kHalf}, {"f4", kFloat}, {"f8", kDouble},
};

struct Header {
  DType dtype = DType::Undefined;
  bool swapped = false;  // big-endian
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

/// Reads the header, a dictionary as Python writes it:
///   {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class HeaderReader {
 public:
  HeaderReader(std::string_view text, const std::string& what, size_t offset)
      : text_(text), what_(what), offset_(offset) {}

  Header read() {
    Header h;
    bool descr = false, order = false, shape = false;
    expect('{');
    while (peek() != '}') {
      const std::string_view key = string();
      expect(':');
      if (key == "descr" && !descr) {
        descr = true;
        read_descr(h);
      } else if (key == "fortran_order" && !order) {
        order = true;
        h.fortran_order = boolean();
      } else if (key == "shape" && !shape) {
        shape = true;
        h.shape = tuple();
      } else {
        fail(str("the key '", key, "' is unknown or appears twice"));
      }
      if (peek() != '}') expect(',');
    }
    ++at_;
    peek();
    if (at_ != text_.size()) fail("something follows the end of the header");
    if (!descr || !order || !shape)
      fail(str("the header has no '", !descr ? "descr" : !order ? "fortran_order" : "shape", "'"));
    return h;
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    detail::raise<FileError>(str(what_, ": byte ", offset_ + at_, ": ", message));
  }
  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  void expect(char c) {
    if (peek() != c) fail(str("expected '", c, "'"));
    ++at_;
  }
  std::string_view string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') fail("expected a string");
    const size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) fail("a string without an end");
    const std::string_view s = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return s;
  }
  bool boolean() {
    const bool value = peek() == 'T';
    const std::string_view word = value ? "True" : "False";
    if (text_.substr(at_, word.size()) != word) fail("expected True or False");
    at_ += word.size();
    return value;
  }
  std::vector<int64_t> tuple() {
    std::vector<int64_t> values;
    expect('(');
    while (peek() != ')') {
      int64_t v = 0;
      const char *begin = text_.data() + at_, *end = text_.data() + text_.size();
      const auto [rest, error] = std::from_chars(begin, end, v);
      if (error != std::errc() || v < 0)
        fail("expected an extent, a whole number that is not negative");
      if (values.size() == kMaxDims) fail(str("more than ", kMaxDims, " dimensions"));
      values.push_back(v);
      at_ += static_cast<size_t>(rest - begin);
      if (peek() == 'L') ++at_;  // Python 2 wrote 3L
      if (peek() != ')') expect(',');
    }
    ++at_;
    return values;
  }
  void read_descr(Header& h) {
    if (peek() == '[') fail("arrays of records are not supported");
    const std::string_view text = string();
    const char order = text.empty() ? '\0' : text[0];
    if (order == '<' || order == '>' || order == '|' || order == '=') {
      for (const auto& [name, dtype] : kTypeNames) {
        if (text.substr(1) != name) continue;
        h.dtype = dtype;
        h.swapped = order == '>' && size_of(dtype) > 1;
        return;
      }
    }
    fail(str("the dtype '", text, "' is not supported"));
  }

  std::string_view text_;
  const std::string& what_;
  size_t offset_;
  size_t at_ = 0;
};

void swap_bytes(char* data, size_t bytes, size_t element) {
  for (size_t i = 0; i < bytes; i += element) std::reverse(data + i, data + i + element);
}

}  // namespace

Tensor read_npy(char* data, size_t size, std::shared_ptr<const void> owner,
                const std::string& what) {
  const std::string_view bytes(data, size);
  TANDEM_CHECK_AS(FileError, bytes.substr(0, kMagic.size()) == kMagic, what,
                  ": byte 0: this is not an npy file");
  TANDEM_CHECK_AS(FileError, size >= 10, what, ": the header is cut off");
  const unsigned major = static_cast<unsigned char>(data[6]);
  TANDEM_CHECK_AS(FileError, major >= 1 && major <= 3, what, ": byte 6: version ", major,
                  " of the format is not supported");
  const size_t start = major == 1 ? 10 : 12;
  TANDEM_CHECK_AS(FileError, size >= start, what, ": the header is cut off");
  uint32_t length = 0;
  std::memcpy(&length, data + 8, major == 1 ? 2 : 4);
  TANDEM_CHECK_AS(FileError, length <= kMaxHeader && length <= size - start, what,
                  ": byte 8: a header of ", length, " bytes does not fit a file of ", size,
                  " bytes");
  const Header h = HeaderReader(bytes.substr(start, length), what, start).read();

  const size_t at = start + length;
  size_t wanted = 0;
  TANDEM_CHECK_AS(FileError, byte_size(h.shape, size_of(h.dtype), wanted), what, ": the shape ",
                  IntArrayRef(h.shape), " is too large");
  TANDEM_CHECK_AS(FileError, wanted <= size - at, what, ": ", size - at, " bytes of data for ",
                  name_of(h.dtype), IntArrayRef(h.shape), ", which has ", wanted);
  TANDEM_CHECK_AS(FileError, wanted == size - at, what, ": byte ", at + wanted,
                  ": something follows the data");
  // The transpose of what is in the file has the usual order.
  std::vector<int64_t> shape = h.shape;
  if (h.fortran_order) std::reverse(shape.begin(), shape.end());
  Tensor t = tensor_in_memory(data + at, h.dtype, shape, std::move(owner), what);
  if (h.swapped) {
    t = t.clone();
    swap_bytes(static_cast<char*>(t.data_ptr()), wanted, size_of(h.dtype));
  }
  if (!h.fortran_order) return t;
  std::vector<int64_t> dims(shape.size());
  for (size_t d = 0; d < dims.size(); ++d) dims[d] = static_cast<int64_t>(dims.size() - 1 - d);
  return t.permute(dims);
}

void write_npy(const Tensor& tensor, const Sink& sink) {
  TANDEM_CHECK(tensor.defined(), "save_npy: the tensor is undefined");
  Tensor t = tensor.detach().cpu();
  if (t.scalar_type() == kBFloat16) t = t.to(kFloat);
  t = t.contiguous();
  std::ostringstream header;
  header << "{'descr': '" << (size_of(t.scalar_type()) == 1 ? '|' : '<');
  for (const auto& [name, dtype] : kTypeNames)
    if (dtype == t.scalar_type()) header << name;
  header << "', 'fortran_order': False, 'shape': (";
  for (int64_t d = 0; d < t.dim(); ++d) header << (d ? ", " : "") << t.size(d);
  header << (t.dim() == 1 ? ",), }" : "), }");
  std::string text = std::move(header).str();
  // The data begins at a multiple of 64.
  text.resize((10 + text.size() + 1 + 63) / 64 * 64 - 10 - 1, ' ');
  text += '\n';
  TANDEM_CHECK(text.size() < 65536, "save_npy: too many dimensions: ", t.dim());
  const uint16_t length = static_cast<uint16_t>(text.size());
  sink(kMagic.data(), kMagic.size());
  sink("\x01\x00", 2);
  sink(&length, 2);
  sink(text.data(), text.size());
  if (t.nbytes() > 0) sink(t.const_data_ptr(), t.nbytes());
}

void save_npz(const NamedTensors& tensors, const std::string& path) {
  AtomicFile file(path);
  ZipWriter zip([&](const void* data, size_t size) { file.write(data, size); });
  for (const auto& [name, t] : tensors)
    zip.add(name + ".npy", [&, &t = t](const Sink& sink) { write_npy(t, sink); });
  zip.finish();
  file.commit();
}

}  // namespace io

void save_npy(const Tensor& t, const std::string& path) {
  io::AtomicFile file(path);
  io::write_npy(t, [&](const void* data, size_t size) { file.write(data, size); });
  file.commit();
}

Tensor load_npy(const std::string& path) {
  const auto file = io::MappedFile::open(path);
  return io::read_npy(file->data(), file->size(), file, path);
}

TensorDict load_npz(const std::string& path) {
  const auto file = io::MappedFile::open(path);
  TensorDict dict;
  for (const io::ZipEntry& e : io::read_zip_directory(file->bytes(), path)) {
    const std::string what = str(path, ": ", e.name);
    std::string name = e.name;
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    auto [data, owner] = io::read_zip_entry(*file, file, e, what);
    const bool added = dict.emplace(name, io::read_npy(data.data, data.size, owner, what)).second;
    TANDEM_CHECK_AS(FileError, added, path, ": '", name, "' appears twice");
  }
  return dict;
}

}  // namespace tandem
