#include "tandem/io/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <set>
#include <sstream>

#include "tandem/io/bytes.h"
#include "tandem/io/json.h"
#include "tandem/ops/copy.h"
#include "tandem/ops/creation.h"
#include "tandem/ops/view.h"

namespace tandem {
namespace io {
namespace {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

constexpr size_t kMaxHeader = 100'000'000;  // as the format's other readers have it
constexpr size_t kLengthBytes = 8;
constexpr const char* kMetadataKey = "__metadata__";

struct TypeName {
  const char* name;
  DType dtype;
};
constexpr TypeName kTypeNames[] = {
    {"BOOL", kBool}, {"U8", kByte},  {"I8", kChar},       {"I16", kShort}, {"I32", kInt},
    {"I64", kLong},  {"F16", kHalf}, {"BF16", kBFloat16}, {"F32", kFloat}, {"F64", kDouble},
};

const char* name_in_file(DType t) {
  for (const auto& [name, dtype] : kTypeNames)
    if (dtype == t) return name;
  TANDEM_ASSERT(false, "a dtype without a name in files");
  return nullptr;
}

/// What the header says of one tensor.
struct Entry {
  std::string name;
  DType dtype = DType::Undefined;
  std::vector<int64_t> shape;
  size_t begin = 0, end = 0;
};

/// Reads the header; everything in it is checked before anything is allocated for a tensor.
class Header {
 public:
  Header(std::string_view text, const std::string& what, size_t data_size, Metadata* metadata)
      : json_(text, what + ": header", kLengthBytes), data_size_(data_size), metadata_(metadata) {}

  std::vector<Entry> read() {
    std::set<std::string> names;
    std::vector<Entry> entries;
    if (json_.peek() != '{') json_.fail("the header is not a JSON object");
    json_.object([&](const std::string& name) {
      if (!names.insert(name).second) json_.fail(str("'", name, "' appears twice"));
      if (name == kMetadataKey) {
        read_metadata();
      } else {
        entries.push_back(read_entry(name));
      }
    });
    json_.end();
    check_layout(entries);
    return entries;
  }

 private:
  void read_metadata() {
    std::set<std::string> names;
    json_.object([&](const std::string& key) {
      if (!names.insert(key).second) json_.fail(str("metadata '", key, "' appears twice"));
      std::string value = json_.string();
      if (metadata_) (*metadata_)[key] = std::move(value);
    });
  }

  Entry read_entry(const std::string& name) {
    Entry e{.name = name};
    bool has_dtype = false, has_shape = false, has_offsets = false;
    const auto once = [&](bool& flag, const char* key) {
      if (flag) json_.fail(str("tensor '", name, "': ", key, " appears twice"));
      flag = true;
    };
    json_.object([&](const std::string& key) {
      if (key == "dtype") {
        once(has_dtype, "dtype");
        e.dtype = read_dtype(name);
      } else if (key == "shape") {
        once(has_shape, "shape");
        json_.array([&] {
          const int64_t n = json_.integer();
          if (n < 0) json_.fail(str("tensor '", name, "': negative extent ", n));
          e.shape.push_back(n);
        });
      } else if (key == "data_offsets") {
        once(has_offsets, "data_offsets");
        read_offsets(e);
      } else {
        json_.fail(str("tensor '", name, "': unknown key '", key, "'"));
      }
    });
    if (!has_dtype || !has_shape || !has_offsets)
      json_.fail(str("tensor '", name, "' has no ",
                     !has_dtype   ? "dtype"
                     : !has_shape ? "shape"
                                  : "data_offsets"));
    size_t bytes = 0;
    if (!byte_size(e.shape, size_of(e.dtype), bytes))
      json_.fail(str("tensor '", name, "': the shape ", IntArrayRef(e.shape), " is too large"));
    if (bytes != e.end - e.begin)
      json_.fail(str("tensor '", name, "': ", e.end - e.begin, " bytes for ", bytes, " bytes of ",
                     name_of(e.dtype), IntArrayRef(e.shape)));
    return e;
  }

  DType read_dtype(const std::string& tensor) {
    const std::string text = json_.string();
    for (const auto& [name, dtype] : kTypeNames)
      if (text == name) return dtype;
    json_.fail(str("tensor '", tensor, "': the dtype ", text, " is not supported"));
  }

  void read_offsets(Entry& e) {
    int n = 0;
    json_.array([&] {
      const int64_t at = json_.integer();
      if (at < 0 || static_cast<uint64_t>(at) > data_size_)
        json_.fail(str("tensor '", e.name, "': offset ", at, " lies outside of the file's ",
                       data_size_, " bytes of data"));
      if (n < 2) (n == 0 ? e.begin : e.end) = static_cast<size_t>(at);
      ++n;
    });
    if (n != 2) json_.fail(str("tensor '", e.name, "': data_offsets has ", n, " numbers, not 2"));
    if (e.end < e.begin) json_.fail(str("tensor '", e.name, "' ends before it begins"));
  }

  // Tensors must fill the data without overlaps or holes, in which things could hide.
  void check_layout(const std::vector<Entry>& entries) {
    std::vector<const Entry*> sorted;
    for (const Entry& e : entries) sorted.push_back(&e);
    std::sort(sorted.begin(), sorted.end(), [](const Entry* a, const Entry* b) {
      return std::pair(a->begin, a->end) < std::pair(b->begin, b->end);
    });
    size_t at = 0;
    for (const Entry* e : sorted) {
      if (e->begin < at) json_.fail(str("tensor '", e->name, "' overlaps the one before it"));
      if (e->begin > at)
        json_.fail(str("bytes ", at, " to ", e->begin, " of the data belong to no tensor"));
      at = e->end;
    }
    if (at != data_size_)
      json_.fail(str("the tensors have ", at, " bytes, but the file has ", data_size_));
  }

  JsonReader json_;
  size_t data_size_;
  Metadata* metadata_;
};

}  // namespace

void write_safetensors(const NamedTensors& tensors, const Metadata& metadata, const Sink& sink) {
  std::vector<Tensor> contiguous;
  for (const auto& [name, t] : tensors) {
    TANDEM_CHECK(t.defined(), "save_safetensors: the tensor '", name, "' is undefined");
    TANDEM_CHECK(name != kMetadataKey, "save_safetensors: a tensor cannot be called ",
                 kMetadataKey);
    contiguous.push_back(t.detach().cpu().contiguous());
  }
  // Wide elements first: then all are aligned.
  std::vector<size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return contiguous[a].element_size() > contiguous[b].element_size();
  });

  std::ostringstream header;
  header << '{';
  const char* between = "";
  if (!metadata.empty()) {
    write_json(header, kMetadataKey);
    header << ":{";
    for (const auto& [key, value] : metadata) {
      header << between;
      write_json(header, key);
      header << ':';
      write_json(header, value);
      between = ",";
    }
    header << '}';
    between = ",";
  }
  size_t at = 0;
  std::set<std::string_view> names;
  for (const size_t i : order) {
    const Tensor& t = contiguous[i];
    TANDEM_CHECK(names.insert(tensors[i].first).second,
                 "save_safetensors: two tensors are called '", tensors[i].first, "'");
    header << between;
    write_json(header, tensors[i].first);
    header << ":{\"dtype\":\"" << name_in_file(t.scalar_type()) << "\",\"shape\":[";
    for (int64_t d = 0; d < t.dim(); ++d) header << (d ? "," : "") << t.size(d);
    header << "],\"data_offsets\":[" << at << ',' << at + t.nbytes() << "]}";
    at += t.nbytes();
    between = ",";
  }
  header << '}';
  std::string text = std::move(header).str();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  TANDEM_CHECK(text.size() <= kMaxHeader,
               "save_safetensors: the names are too long for the format");

  const uint64_t length = text.size();
  sink(&length, kLengthBytes);
  sink(text.data(), text.size());
  for (const size_t i : order)
    if (contiguous[i].nbytes() > 0) sink(contiguous[i].const_data_ptr(), contiguous[i].nbytes());
}

NamedTensors read_safetensors(char* data, size_t size, std::shared_ptr<const void> owner,
                              const std::string& what, Metadata* metadata) {
  TANDEM_CHECK_AS(FileError, size >= kLengthBytes, what, ": ", size,
                  " bytes are too few for a safetensors file");
  uint64_t length;
  std::memcpy(&length, data, kLengthBytes);
  TANDEM_CHECK_AS(FileError, length <= size - kLengthBytes && length <= kMaxHeader, what,
                  ": byte 0: a header of ", length, " bytes does not fit a file of ", size,
                  " bytes");
  const size_t data_size = size - kLengthBytes - length;
  char* const first = data + kLengthBytes + length;
  const std::vector<Entry> entries =
      Header({data + kLengthBytes, static_cast<size_t>(length)}, what, data_size, metadata).read();

  NamedTensors tensors;
  for (const Entry& e : entries)
    tensors.emplace_back(e.name, tensor_in_memory(first + e.begin, e.dtype, e.shape, owner,
                                                  str(what, ": tensor '", e.name, "'")));
  return tensors;
}

void save_safetensors(const NamedTensors& tensors, const std::string& path,
                      const Metadata& metadata) {
  AtomicFile file(path);
  write_safetensors(tensors, metadata,
                    [&](const void* data, size_t size) { file.write(data, size); });
  file.commit();
}

}  // namespace io

TensorDict load_safetensors(const std::string& path, io::Metadata* metadata) {
  const auto file = io::MappedFile::open(path);
  if (metadata) metadata->clear();
  TensorDict dict;
  for (auto& [name, t] : io::read_safetensors(file->data(), file->size(), file, path, metadata))
    dict.emplace(std::move(name), std::move(t));
  return dict;
}

}  // namespace tandem
