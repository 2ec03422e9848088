#include "tests/fuzz/targets.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

#include "tandem/base/error.h"
#include "tandem/core/graph.h"
#include "tandem/data/vocabulary.h"
#include "tandem/io/archive_detail.h"
#include "tandem/io/cifar.h"
#include "tandem/io/csv.h"
#include "tandem/io/idx.h"
#include "tandem/io/image.h"
#include "tandem/io/json.h"
#include "tandem/io/npy.h"
#include "tandem/io/safetensors.h"
#include "tandem/ops/ops.h"
#include "tandem/serialize/archive.h"

namespace tandem::fuzz {
namespace {

/// Looks at every byte of a tensor, so that one outside of the file is noticed.
void touch(const Tensor& t) {
  if (!t.defined()) return;
  const Tensor dense = t.contiguous();
  const auto* bytes = static_cast<const volatile char*>(dense.data_ptr());
  for (size_t i = 0; i < static_cast<size_t>(dense.nbytes()); ++i) (void)bytes[i];
}

/// A copy of its own: reading past its end is noticed.
std::shared_ptr<std::string> copy_of(std::string_view bytes) {
  auto copy = std::make_shared<std::string>(bytes);
  copy->shrink_to_fit();
  return copy;
}

/// The bytes as a file, without a disk.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : fd_(::memfd_create("fuzz", 0)) {
    if (fd_ < 0) std::abort();
    while (!bytes.empty()) {
      const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
      if (n <= 0) std::abort();
      bytes.remove_prefix(static_cast<size_t>(n));
    }
  }
  ~MemoryFile() { ::close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

void safetensors(std::string_view bytes) {
  const auto copy = copy_of(bytes);
  io::Metadata metadata;
  for (const auto& [name, t] :
       io::read_safetensors(copy->data(), copy->size(), copy, "fuzz", &metadata))
    touch(t);
}

void npy(std::string_view bytes) {
  const auto copy = copy_of(bytes);
  touch(io::read_npy(copy->data(), copy->size(), copy, "fuzz"));
}

void npz(std::string_view bytes) {
  for (const auto& [name, t] : load_npz(MemoryFile(bytes).path())) touch(t);
}

/// The bytes are an archive's list of entries; its tensors are given and its checksum is right,
/// since nobody guesses that.
void archive(std::string_view bytes) {
  const std::string entries(bytes);
  const io::NamedTensors tensors = {{"a", arange(6, kFloat).view({2, 3})},
                                    {"b.c", arange(3, kLong)},
                                    {"list.tensors[0]", ones({2}, kDouble)},
                                    {"list.tensors[1]", ones({1}, kByte)}};
  std::string file;
  io::write_safetensors(
      tensors,
      {{io::kArchiveVersionKey, io::kArchiveVersion},
       {io::kArchiveEntriesKey, entries},
       {io::kArchiveChecksumKey, io::archive_checksum(entries, tensors)}},
      [&](const void* data, size_t size) { file.append(static_cast<const char*>(data), size); });
  serialize::InputArchive in;
  in.load_from(file.data(), file.size());
  // What was read can be written again.
  serialize::OutputArchive out;
  for (const std::string& key : in.keys()) {
    IValue v;
    if (in.try_read(key, v)) out.write(key, v);
    serialize::InputArchive below;
    in.try_read(key, below);
  }
  out.save_to([](const void*, size_t size) { return size; });
}

void json_value(io::JsonReader& json) {
  switch (json.peek()) {
    case '{':
      return json.object([&](const std::string&) { json_value(json); });
    case '[':
      return json.array([&] { json_value(json); });
    case '"':
      json.string();
      return;
    case 't':
    case 'f':
      json.boolean();
      return;
    case 'n':
      return json.skip();
    default:
      json.number();
  }
}

void json(std::string_view bytes) {
  const auto copy = copy_of(bytes);
  {
    io::JsonReader reader(*copy, "fuzz");
    try {
      json_value(reader);
      reader.end();
    } catch (const Error&) {
    }
  }
  io::JsonReader reader(*copy, "fuzz");
  reader.skip();
  reader.end();
}

void graph(std::string_view bytes) {
  const auto copy = copy_of(bytes);
  const Graph g = Graph::parse(*copy);
  // What was read can be written, and read again as the same.
  const std::string text = g.str();
  if (!same(g, Graph::parse(text)) && text.find("nan") == std::string::npos) std::abort();
}

void idx(std::string_view bytes) { touch(io::read_idx(MemoryFile(bytes).path())); }

void cifar(std::string_view bytes) {
  const MemoryFile file(bytes);
  for (const std::vector<int64_t>& classes : {std::vector<int64_t>{10}, {20, 100}}) {
    try {
      touch(io::read_cifar(file.path(), classes).images);
    } catch (const Error&) {
    }
  }
}

void csv(std::string_view bytes) {
  const auto copy = copy_of(bytes);
  try {
    touch(io::parse_csv(*copy).values);
  } catch (const Error&) {
  }
  touch(io::parse_csv(*copy, io::CSVOptions().header(false).text_column("0").dtype(kLong).fill(-1))
            .values);
}

void image(std::string_view bytes) {
  const auto copy = copy_of(bytes);
  try {
    touch(io::decode_image(*copy));
  } catch (const Error&) {
  }
  touch(io::decode_image(*copy, io::ImageMode::kRGB, {4, 4}));
}

void vocabulary(std::string_view bytes) {
  const MemoryFile file(bytes);
  const data::Vocabulary v = data::Vocabulary::load(file.path());
  v.decode(v.encode(v.size() > 0 ? v.token(0) : ""));
}

}  // namespace

const std::vector<Target>& targets() {
  static const std::vector<Target> all = {
      {"archive",
       archive,
       {},
       {R"([["a","tensor",false],["b.c","buffer",false],["list","tensors",2]])",
        R"([["a","tensor",true],["b.c","tensor",false],["list","tensors",2],["n","none"],["g","group"],
            ["i","int",-3],["x","double","0x1p-3"],["y","double","1.5e-3"],["s","string","t\u00e9\n"],
            ["l","ints",1,2,3],["d","doubles","1","nan","inf"],["t","bool",true]])",
        R"([["a\\.b","int",1],["a.a.a.a","int",2]])"}},
      {"cifar",
       cifar,
       {".bin", ".cifar10", ".cifar100"},
       {std::string(3073, '\1'), std::string(2 * 3074, '\2')}},
      {"csv",
       csv,
       {".csv"},
       {"a,b\n1,2\n3,4\n", "\"a \"\"x\"\"\",b\r\n1.5e3,-7\r\n,NA\n", "x;y\n1;2\n", "1,2\n\n3,4"}},
      {"graph",
       graph,
       {},
       {"graph(%0)\n%0 = input : float32 [2]\n%1 = neg(%0) : float32 [2]\nreturn %1\n",
        "graph(%0, %1) captured(%2)\n%0 = input \"x\" : float32 [3, 4]\n%1 = input : float32 [4]\n"
        "%2 = input \"w\" : float32 [4]\n%3 = add(%0, %1) {a=1, b=0, c=0} : float32 [3, 4]\n"
        "%4 = sum(%3) {dims=[0], keepdim=false, dtype=undefined} : float32 [4]\n"
        "%5 = mul(%4, %2) : float32 [4]\nreturn %4, %5\nwrite %2 <- %5\n"}},
      {"idx",
       idx,
       {".idx3"},
       {std::string("\0\0\x08\x01\0\0\0\3abc", 11),
        std::string("\0\0\x08\x03\0\0\0\1\0\0\0\2\0\0\0\2wxyz", 20)}},
      {"image", image, {".png", ".jpg", ".jpeg"}, {}},
      {"json",
       json,
       {},
       {R"({"a":[1,-2.5e3,true,false,null,"x\u00e9\ud83d\ude00\n"],"b":{}})", "[[[[]]]]", "0"}},
      {"npy", npy, {".npy"}, {}},
      {"npz", npz, {".npz"}, {}},
      {"safetensors", safetensors, {".safetensors"}, {}},
      {"vocabulary", vocabulary, {".vocabulary"}, {}},
  };
  return all;
}

const Target* find_target(std::string_view name) {
  for (const Target& t : targets())
    if (name == t.name) return &t;
  return nullptr;
}

}  // namespace tandem::fuzz
