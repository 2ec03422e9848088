// Files: what is written reads back, others' files are read, damaged ones are refused.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include "tandem/io/file.h"
#include "tandem/io/json.h"
#include "tandem/io/npy.h"
#include "tandem/io/safetensors.h"
#include "tandem/ops/ops.h"
#include "tandem/serialize/archive.h"
#include "tests/io/scratch.h"

namespace tandem {
namespace {

constexpr DType kAll[] = {kBool, kByte, kChar,     kShort, kInt,
                          kLong, kHalf, kBFloat16, kFloat, kDouble};

void expect_same(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.scalar_type(), b.scalar_type());
  ASSERT_EQ(a.sizes(), b.sizes());
  EXPECT_TRUE(equal(a, b)) << a << b;
}

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(Safetensors, EveryDtypeReadsBack) {
  const Scratch s;
  TensorDict dict;
  for (const DType t : kAll) {
    dict[str("t ", name_of(t))] = (arange(7) % 2).to(t).reshape({7, 1});
    dict[str("empty ", name_of(t))] = zeros({0, 3}, TensorOptions(t));
    dict[str("scalar ", name_of(t))] = ones({}, TensorOptions(t));
  }
  dict["quotes \" and \\ and \n and \xC3\xA9"] = randn({2, 3}).t();
  save_safetensors(dict, s / "a.safetensors", {{"made by", "tandem"}});
  io::Metadata metadata;
  const TensorDict back = load_safetensors(s / "a.safetensors", &metadata);
  EXPECT_EQ(metadata, (io::Metadata{{"made by", "tandem"}}));
  ASSERT_EQ(back.size(), dict.size());
  for (const auto& [name, t] : dict) expect_same(back.at(name), t);
}

TEST(Safetensors, TensorsLieInTheMappedFileAndDoNotWriteToIt) {
  const Scratch s;
  save_safetensors({{"x", ones({1000})}}, s / "a");
  const std::string before = bytes_of(s / "a");
  Tensor x = load_safetensors(s / "a").at("x");
  x.mul_(2);
  EXPECT_EQ(x.sum().item<float>(), 2000);
  EXPECT_EQ(bytes_of(s / "a"), before);
  // The name may lead to another file by now; the tensor keeps what it was loaded from.
  save_safetensors({{"x", zeros({3})}}, s / "a");
  EXPECT_EQ(x.sum().item<float>(), 2000);
}

TEST(Safetensors, FilesOfOtherWritersAreRead) {
  // Not aligned, another order, spaces: as the format allows.
  const Scratch s;
  const std::string header =
      R"( {"b":{"shape":[2],"dtype":"F32","data_offsets":[1,9]} , "a":{"dtype":"U8","shape":[],"data_offsets":[0,1]}}  )";
  const uint64_t n = header.size() - 1;
  std::ofstream out(s / "a", std::ios::binary);
  out.write(reinterpret_cast<const char*>(&n), 8);
  out << header.substr(1) << '\x07';
  const float values[] = {1.5f, -2};
  out.write(reinterpret_cast<const char*>(values), 8);
  out.close();
  const TensorDict d = load_safetensors(s / "a");
  expect_same(d.at("a"), full({}, 7, kByte));
  expect_same(d.at("b"), tensor({1.5f, -2.f}));
}

TEST(Files, AFailedSaveLeavesTheOldFile) {
  const Scratch s;
  save_safetensors({{"x", ones({4})}}, s / "a");
  const std::string before = bytes_of(s / "a");
  EXPECT_THROW(save_safetensors({{"x", Tensor()}}, s / "a"), Error);
  EXPECT_EQ(bytes_of(s / "a"), before);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(s.path()), {}), 1);
}

TEST(Files, PlacesThatCannotBeWritten) {
  const Scratch s;
  EXPECT_THROW(save_npy(ones({1}), s / "missing/a.npy"), FileError);
  EXPECT_THROW(save_npy(ones({1}), s.path()), FileError);
  EXPECT_THROW(save_npy(ones({1}), "/dev/null"), FileError);
  EXPECT_THROW(load_npy(s / "missing.npy"), FileError);
  EXPECT_THROW(load_npy(s.path()), FileError);
  ASSERT_EQ(::mkfifo((s / "pipe").c_str(), 0600), 0);
  EXPECT_THROW(load_npy(s / "pipe"), FileError);
}

TEST(Files, SavingToALinkReplacesWhatItLeadsTo) {
  const Scratch s;
  save_npy(ones({1}), s / "a.npy");
  std::filesystem::create_symlink("a.npy", s / "link.npy");
  save_npy(zeros({2}), s / "link.npy");
  EXPECT_TRUE(std::filesystem::is_symlink(s / "link.npy"));
  expect_same(load_npy(s / "a.npy"), zeros({2}));
}

TEST(Npy, EveryDtypeReadsBack) {
  const Scratch s;
  for (const DType t : kAll) {
    const Tensor x = (arange(24) % 2).to(t).reshape({2, 3, 4}).transpose(0, 2);
    save_npy(x, s / "a.npy");
    expect_same(load_npy(s / "a.npy"), t == kBFloat16 ? x.to(kFloat) : x);
    for (const Tensor& y : {zeros({}, TensorOptions(kFloat)), zeros({5}), zeros({0, 2})}) {
      save_npy(y, s / "a.npy");
      expect_same(load_npy(s / "a.npy"), y);
    }
  }
}

TEST(Npy, FortranOrderAndBigEndian) {
  const Scratch s;
  const auto write = [&](std::string header, std::string data) {
    header.resize(118, ' ');
    std::ofstream(s / "a.npy", std::ios::binary)
        << std::string("\x93NUMPY\x01\x00\x76\x00", 10) << header << data;
  };
  write("{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }",
        std::string("\0\1\0\2\0\3\0\4\0\5\1\0", 12));
  expect_same(load_npy(s / "a.npy"), tensor({1, 3, 5, 2, 4, 256}, kShort).reshape({2, 3}));
  write("{\"shape\": (2L,), 'fortran_order': False, 'descr': '|u1'}", "\x05\x06");
  expect_same(load_npy(s / "a.npy"), tensor({5, 6}, kByte));
}

TEST(Npz, ReadsBack) {
  const Scratch s;
  TensorDict dict{{"x", randn({3, 4})}, {"labels", arange(5)}, {"", ones({1})}};
  save_npz(dict, s / "a.npz");
  const TensorDict back = load_npz(s / "a.npz");
  ASSERT_EQ(back.size(), 3u);
  for (const auto& [name, t] : dict) expect_same(back.at(name), t);
  save_npz(TensorDict{}, s / "a.npz");
  EXPECT_TRUE(load_npz(s / "a.npz").empty());
}

TEST(Json, ReadsWhatTheStandardAllows) {
  io::JsonReader json(R"( {"a": [1, -2.5e3, true, null, {"b": {}}], "\u00e9\ud83d\ude00\n": "x"} )",
                      "t");
  std::vector<std::string> keys;
  json.object([&](const std::string& key) {
    keys.push_back(key);
    json.skip();
  });
  json.end();
  EXPECT_EQ(keys, (std::vector<std::string>{"a", "\xC3\xA9\xF0\x9F\x98\x80\n"}));
}

TEST(Json, RefusesTheRest) {
  for (const char* text : {"",
                           "{",
                           "{]",
                           "[1,]",
                           "[01]",
                           "[1.]",
                           "[.5]",
                           "[+1]",
                           "[1e]",
                           "[tru]",
                           "[nul]",
                           "\"a",
                           "\"\\x\"",
                           "\"\\u12\"",
                           "\"\\ud800\"",
                           "\"\\udc00\"",
                           "\"\xC0\x80\"",
                           "\"\xED\xA0\x80\"",
                           "\"\xF5\x80\x80\x80\"",
                           "\"\n\"",
                           "{\"a\" 1}",
                           "{1: 2}",
                           "[1] 2",
                           "-",
                           "[1 2]"}) {
    io::JsonReader json(text, "t");
    EXPECT_THROW(
        {
          json.skip();
          json.end();
        },
        FileError)
        << text;
  }
  const std::string brackets(100000, '[');
  io::JsonReader deep(brackets, "t");
  EXPECT_THROW(deep.skip(), FileError);
  io::JsonReader large("99999999999999999999", "t");
  EXPECT_THROW(large.integer(), FileError);
}

TEST(Archive, EveryKindOfValueReadsBack) {
  using namespace serialize;
  const double inf = std::numeric_limits<double>::infinity();
  OutputArchive inner, out;
  inner.write("w", randn({2}).requires_grad_());
  inner.write("dots.and\\slashes", IValue(1));
  out.write("flag", IValue(true));
  out.write("n", IValue(int64_t{-5}));
  out.write("x", IValue(0.1));
  out.write("inf", IValue(-inf));
  out.write("text", IValue("a \"b\"\n"));
  out.write("ints", IValue(std::vector<int64_t>{1, 2}));
  out.write("no ints", IValue(std::vector<int64_t>{}));
  out.write("doubles", IValue(std::vector<double>{1e-300, 0.1}));
  out.write("tensors", IValue(std::vector<Tensor>{ones({2}), arange(3)}));
  out.write("nothing", IValue());
  out.write("undefined", Tensor());
  out.write("buffer", arange(3), /*is_buffer=*/true);
  out.write("inner", inner);
  OutputArchive empty;
  out.write("empty", empty);
  std::stringstream stream;
  out.save_to(stream);

  InputArchive in;
  in.load_from(stream);
  EXPECT_EQ(in.keys().size(), 14u);
  EXPECT_EQ(in.keys()[0], "flag");
  const auto value = [&](const char* key) {
    IValue v;
    in.read(key, v);
    return v;
  };
  EXPECT_EQ(value("flag").toBool(), true);
  EXPECT_EQ(value("n").toInt(), -5);
  EXPECT_EQ(value("x").toDouble(), 0.1);
  EXPECT_EQ(value("inf").toDouble(), -inf);
  EXPECT_EQ(value("text").toStringRef(), "a \"b\"\n");
  EXPECT_EQ(value("ints").toIntVector(), (std::vector<int64_t>{1, 2}));
  EXPECT_TRUE(value("no ints").toIntVector().empty());
  EXPECT_EQ(value("doubles").toDoubleVector(), (std::vector<double>{1e-300, 0.1}));
  EXPECT_EQ(value("tensors").toTensorVector().size(), 2u);
  EXPECT_TRUE(value("nothing").isNone());
  Tensor t;
  in.read("undefined", t);
  EXPECT_FALSE(t.defined());
  in.read("buffer", t);
  expect_same(t, arange(3));
  InputArchive below;
  in.read("inner", below);
  Tensor w;
  below.read("w", w);
  EXPECT_TRUE(w.requires_grad());
  IValue one;
  below.read("dots.and\\slashes", one);
  EXPECT_EQ(one.toInt(), 1);
  EXPECT_TRUE(in.try_read("empty", below));
  EXPECT_FALSE(in.try_read("absent", below));
}

TEST(Archive, AnyChangedByteIsNoticed) {
  std::stringstream stream;
  save(std::vector<Tensor>{randn({3}), arange(4)}, stream);
  const std::string good = stream.str();
  const std::vector<Tensor> before;
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x10);
    std::vector<Tensor> loaded;
    try {
      load(loaded, bad.data(), bad.size());
      // A space in the padding may become another character only where nothing reads it.
      ADD_FAILURE() << "byte " << i << " of " << good.size() << ": " << good[i];
    } catch (const Error&) {
    }
    EXPECT_TRUE(loaded.empty());
  }
  for (size_t n = 0; n < good.size(); ++n) {
    std::vector<Tensor> loaded;
    EXPECT_THROW(load(loaded, good.data(), n), FileError) << n;
  }
}

TEST(Archive, SafetensorsOfOthersAreArchives) {
  const Scratch s;
  save_safetensors({{"layer1.0.weight", ones({2})}, {"layer1.0.bias", zeros({2})}}, s / "a");
  serialize::InputArchive in, layer, first;
  in.load_from(s / "a");
  in.read("layer1", layer);
  layer.read("0", first);
  EXPECT_EQ(first.keys(), (std::vector<std::string>{"bias", "weight"}));
  Tensor w;
  first.read("weight", w);
  expect_same(w, ones({2}));
}

}  // namespace
}  // namespace tandem
