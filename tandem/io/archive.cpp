// Archives as files: safetensors, so that other programs can read the tensors, with everything else
// (numbers, texts, the order of the names, a checksum) in the format's place for remarks.
//
// Names within names are joined by dots, as PyTorch's state dictionaries have them:
// "layer1.0.conv1.weight". A safetensors file that others wrote is therefore an archive too.
#include "tandem/serialize/archive.h"

#include <zlib.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <sstream>

#include "tandem/io/archive_detail.h"
#include "tandem/io/json.h"
#include "tandem/io/safetensors.h"
#include "tandem/ops/copy.h"

namespace tandem::io {

std::string archive_checksum(const std::string& entries, NamedTensors tensors) {
  std::sort(tensors.begin(), tensors.end(), [](auto& a, auto& b) { return a.first < b.first; });
  uLong crc = 0;
  const auto add = [&](const void* data, size_t size) {
    if (size > 0) crc = ::crc32_z(crc, static_cast<const Bytef*>(data), size);
  };
  add(entries.data(), entries.size());
  for (const auto& [name, t] : tensors) {
    const std::string type = str(name, ' ', name_of(t.scalar_type()), t.sizes());
    add(type.data(), type.size());
    const Tensor dense = t.detach().cpu().contiguous();
    add(dense.const_data_ptr(), dense.nbytes());
  }
  return str(crc);
}

}  // namespace tandem::io

namespace tandem::serialize {
namespace {

using io::JsonReader;
using io::NamedTensors;
using io::write_json;

using io::archive_checksum;
constexpr auto *kVersionKey = io::kArchiveVersionKey, *kEntriesKey = io::kArchiveEntriesKey,
               *kChecksumKey = io::kArchiveChecksumKey, *kVersion = io::kArchiveVersion;
constexpr int kMaxDepth = 200;

/// "a.b" + "c" is "a.b.c"; a dot within a key is kept apart by a backslash.
std::string join(const std::string& path, const std::string& key) {
  std::string result = path;
  if (!path.empty()) result += '.';
  for (const char c : key) {
    if (c == '.' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

std::vector<std::string> split(const std::string& path) {
  std::vector<std::string> keys(1);
  for (size_t i = 0; i < path.size(); ++i) {
    if (path[i] == '\\' && i + 1 < path.size()) {
      keys.back() += path[++i];
    } else if (path[i] == '.') {
      keys.emplace_back();
    } else {
      keys.back() += path[i];
    }
  }
  return keys;
}

/// Digits that read back as the same number.
std::string exact(double v) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, v).ptr};
}

/// Makes the list of entries and of tensors from a tree.
class Flattener {
 public:
  NamedTensors tensors;
  std::ostringstream entries;

  void add(const Entry& entry, const std::string& path, int depth = 0) {
    TANDEM_CHECK(depth <= kMaxDepth, "save: archives nested more than ", kMaxDepth, " deep");
    for (const auto& c : entry.children) {
      const std::string name = join(path, c->key);
      if (c->value) {
        add_value(name, *c->value, c->is_buffer);
      } else if (c->children.empty()) {
        begin(name, "group");
        entries << ']';
      }
      add(*c, name, depth + 1);
    }
  }

 private:
  void begin(const std::string& name, const char* kind) {
    entries << (entries.tellp() > 0 ? ",\n[" : "[");
    write_json(entries, name);
    entries << ",\"" << kind << '"';
  }
  void add_value(const std::string& name, const IValue& v, bool is_buffer) {
    if (v.isNone() || (v.isTensor() && !v.toTensor().defined())) {
      begin(name, "none");
    } else if (v.isTensor()) {
      begin(name, is_buffer ? "buffer" : "tensor");
      entries << ',' << (v.toTensor().requires_grad() ? "true" : "false");
      tensors.emplace_back(name, v.toTensor());
    } else if (v.isBool()) {
      begin(name, "bool");
      entries << ',' << (v.toBool() ? "true" : "false");
    } else if (v.isInt()) {
      begin(name, "int");
      entries << ',' << v.toInt();
    } else if (v.isDouble()) {
      begin(name, "double");
      entries << ",\"" << exact(v.toDouble()) << '"';
    } else if (v.isString()) {
      begin(name, "string");
      entries << ',';
      write_json(entries, v.toStringRef());
    } else if (v.isIntList()) {
      begin(name, "ints");
      for (const int64_t i : v.toIntVector()) entries << ',' << i;
    } else if (v.isDoubleList()) {
      begin(name, "doubles");
      for (const double d : v.toDoubleVector()) entries << ",\"" << exact(d) << '"';
    } else {
      begin(name, "tensors");
      const auto& list = v.toTensorVector();
      entries << ',' << list.size();
      for (size_t i = 0; i < list.size(); ++i)
        tensors.emplace_back(join(name, str("tensors[", i, "]")), list[i]);
    }
    entries << ']';
  }
};

void write_archive(const Entry& root, const io::Sink& sink) {
  Flattener f;
  f.add(root, "");
  const std::string entries = "[" + f.entries.str() + "]";
  io::write_safetensors(f.tensors,
                        {{kVersionKey, kVersion},
                         {kEntriesKey, entries},
                         {kChecksumKey, archive_checksum(entries, f.tensors)}},
                        sink);
}

/// Makes the tree again.
class Grower {
 public:
  Grower(NamedTensors tensors, const std::string& what, std::optional<Device> device)
      : what_(what), device_(device) {
    for (auto& [name, t] : tensors) tensors_.emplace(std::move(name), std::move(t));
  }

  /// What others wrote: just tensors.
  void add_all(Entry& root) {
    for (const auto& [name, t] : tensors_) at(root, name).value = IValue(place(t));
  }

  void add_entries(Entry& root, const std::string& text) {
    JsonReader json(text, what_ + ": " + kEntriesKey);
    json.array([&] {
      int i = 0;
      std::string name, kind;
      Entry* e = nullptr;
      List list;
      json.array([&] {
        if (i == 0) {
          name = json.string();
          e = &at(root, name);
          if (e->value) json.fail(str("'", name, "' appears twice"));
        } else if (i == 1) {
          kind = json.string();
        } else {
          read_item(json, kind, list);
        }
        ++i;
      });
      if (i < 2) json.fail("an entry without a kind");
      finish(json, *e, name, kind, list);
    });
    json.end();
    for (const auto& [name, t] : tensors_)
      TANDEM_CHECK_AS(FileError, used_.contains(name), what_, ": the tensor '", name,
                      "' is not in the list of entries");
  }

 private:
  struct List {
    std::vector<int64_t> ints;
    std::vector<double> doubles;
    std::vector<std::string> strings;
    std::vector<bool> bools;
  };

  Entry& at(Entry& root, const std::string& name) {
    Entry* e = &root;
    const auto keys = split(name);
    TANDEM_CHECK_AS(FileError, keys.size() <= kMaxDepth, what_, ": '", name.substr(0, 60),
                    "...': names nested more than ", kMaxDepth, " deep");
    for (const std::string& k : keys) e = &e->child(k);
    return *e;
  }
  Tensor place(const Tensor& t) const { return device_ ? t.to(*device_) : t; }
  Tensor take(const JsonReader& json, const std::string& name) {
    const auto t = tensors_.find(name);
    if (t == tensors_.end()) json.fail(str("there is no tensor '", name, "'"));
    used_.insert({name, true});
    return place(t->second);
  }
  static void read_item(JsonReader& json, const std::string& kind, List& list) {
    if (kind == "tensor" || kind == "buffer" || kind == "bool") {
      list.bools.push_back(json.boolean());
    } else if (kind == "int" || kind == "ints" || kind == "tensors") {
      list.ints.push_back(json.integer());
    } else if (kind == "double" || kind == "doubles") {
      const std::string text = json.string();
      double v = 0;
      const char* end = text.data() + text.size();
      const auto [rest, error] = std::from_chars(text.data(), end, v);
      if (error != std::errc() || rest != end) json.fail(str("'", text, "' is not a number"));
      list.doubles.push_back(v);
    } else if (kind == "string") {
      list.strings.push_back(json.string());
    } else {
      json.fail(str("an entry of unknown kind '", kind, "'"));
    }
  }
  void finish(const JsonReader& json, Entry& e, const std::string& name, const std::string& kind,
              const List& list) {
    const auto one = [&](const auto& values) {
      if (values.size() != 1) json.fail(str("'", name, "' has ", values.size(), " values, not 1"));
      return values[0];
    };
    if (kind == "group") return;
    if (kind == "none") {
      e.value = IValue();
    } else if (kind == "tensor" || kind == "buffer") {
      const bool requires_grad = one(list.bools);
      Tensor t = take(json, name);
      if (requires_grad && !is_floating(t.scalar_type()))
        json.fail(str("'", name, "' cannot require a gradient"));
      if (requires_grad) t.set_requires_grad(true);
      e.value = IValue(t);
      e.is_buffer = kind == "buffer";
    } else if (kind == "bool") {
      e.value = IValue(static_cast<bool>(one(list.bools)));
    } else if (kind == "int") {
      e.value = IValue(one(list.ints));
    } else if (kind == "double") {
      e.value = IValue(one(list.doubles));
    } else if (kind == "string") {
      e.value = IValue(one(list.strings));
    } else if (kind == "ints") {
      e.value = IValue(list.ints);
    } else if (kind == "doubles") {
      e.value = IValue(list.doubles);
    } else if (kind == "tensors") {
      const int64_t n = one(list.ints);
      if (n < 0 || n > static_cast<int64_t>(tensors_.size()))
        json.fail(str("'", name, "': there are no ", n, " tensors"));
      std::vector<Tensor> values;
      for (int64_t i = 0; i < n; ++i)
        values.push_back(take(json, join(name, str("tensors[", i, "]"))));
      e.value = IValue(values);
    } else {
      json.fail(str("an entry of unknown kind '", kind, "'"));
    }
  }

  const std::string& what_;
  std::optional<Device> device_;
  std::map<std::string, Tensor> tensors_;
  std::map<std::string, bool> used_;
};

}  // namespace

void OutputArchive::save_to(const std::string& filename) {
  io::AtomicFile file(filename);
  write_archive(*root_, [&](const void* data, size_t size) { file.write(data, size); });
  file.commit();
}

void OutputArchive::save_to(std::ostream& stream) {
  write_archive(*root_, [&](const void* data, size_t size) {
    stream.write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
    TANDEM_CHECK_AS(FileError, stream.good(), "save: writing to the stream failed");
  });
}

void OutputArchive::save_to(const std::function<size_t(const void*, size_t)>& function) {
  write_archive(*root_, [&](const void* data, size_t size) {
    const size_t taken = function(data, size);
    TANDEM_CHECK_AS(FileError, taken == size, "save: the function took ", taken, " of ", size,
                    " bytes");
  });
}

void InputArchive::load(char* data, size_t size, std::shared_ptr<const void> owner,
                        const std::string& what, std::optional<Device> device) {
  io::Metadata metadata;
  NamedTensors tensors = io::read_safetensors(data, size, std::move(owner), what, &metadata);
  auto root = std::make_shared<Entry>();
  // One remark of ours is enough to expect the others: a file without its checksum is damaged too.
  if (metadata.contains(kVersionKey) || metadata.contains(kEntriesKey) ||
      metadata.contains(kChecksumKey)) {
    TANDEM_CHECK_AS(FileError, metadata[kVersionKey] == kVersion, what, ": version '",
                    metadata[kVersionKey].substr(0, 20), "' of archives is not known (only ",
                    kVersion, ")");
    const std::string& entries = metadata[kEntriesKey];
    TANDEM_CHECK_AS(FileError, metadata[kChecksumKey] == archive_checksum(entries, tensors), what,
                    ": the checksum does not fit: the file is damaged");
    Grower(std::move(tensors), what, device).add_entries(*root, entries);
  } else {
    Grower(std::move(tensors), what, device).add_all(*root);
  }
  root_ = std::move(root);
  here_ = root_.get();
  path_.clear();
}

void InputArchive::load_from(const std::string& filename, std::optional<Device> device) {
  const auto file = io::MappedFile::open(filename);
  load(file->data(), file->size(), file, filename, device);
}

void InputArchive::load_from(std::istream& stream, std::optional<Device> device) {
  auto bytes = std::make_shared<std::string>(std::istreambuf_iterator<char>(stream),
                                             std::istreambuf_iterator<char>());
  load(bytes->data(), bytes->size(), bytes, "load: the stream", device);
}

void InputArchive::load_from(const char* data, size_t size, std::optional<Device> device) {
  TANDEM_CHECK(data || size == 0, "load: no data");
  auto bytes = std::make_shared<std::string>(data, size);
  load(bytes->data(), bytes->size(), bytes, "load: the data", device);
}

void InputArchive::load_from(const std::function<size_t(uint64_t, void*, size_t)>& read,
                             const std::function<size_t()>& size, std::optional<Device> device) {
  auto bytes = std::make_shared<std::string>(size(), '\0');
  size_t at = 0;
  while (at < bytes->size()) {
    const size_t n = read(at, bytes->data() + at, bytes->size() - at);
    TANDEM_CHECK_AS(FileError, n > 0 && n <= bytes->size() - at, "load: the function gave ", n,
                    " bytes at ", at, " of ", bytes->size());
    at += n;
  }
  load(bytes->data(), bytes->size(), bytes, "load: the function's data", device);
}

}  // namespace tandem::serialize
