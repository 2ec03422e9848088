// The data sets that are read from idx files.
#include "tandem/data/mnist.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tandem/data/loader.h"
#include "tandem/data/transforms.h"
#include "tandem/ops/ops.h"
#include "tests/io/scratch.h"

namespace tandem::data {
namespace {

void write_idx(const std::string& path, std::string extents, const std::string& values) {
  std::ofstream(path, std::ios::binary)
      << std::string("\0\0\x08", 3) << static_cast<char>(extents.size() / 4) << extents << values;
}

struct Folder : Scratch {
  Folder() {
    const std::string n("\0\0\0\x03", 4), side("\0\0\0\x1c", 4);
    for (const char* prefix : {"/train", "/t10k"}) {
      std::string pixels(3 * 784, '\0');
      pixels[784] = '\xff';
      write_idx(path() + prefix + "-images-idx3-ubyte", n + side + side, pixels);
      write_idx(path() + prefix + "-labels-idx1-ubyte", n, std::string("\x07\x00\x09", 3));
    }
  }
};

TEST(MNIST, ImagesAreNumbersFromZeroToOne) {
  const Folder f;
  datasets::MNIST train(f.path()), test(f.path(), datasets::MNIST::Mode::kTest);
  EXPECT_TRUE(train.is_train());
  EXPECT_FALSE(test.is_train());
  EXPECT_EQ(train.size(), 3u);
  EXPECT_EQ(train.images().sizes(), (IntArrayRef{3, 1, 28, 28}));
  EXPECT_TRUE(equal(train.targets(), tensor({7, 0, 9}, kLong)));
  const Example<> e = train.get(1);
  EXPECT_EQ(e.data.sizes(), (IntArrayRef{1, 28, 28}));
  EXPECT_EQ(e.data.sum().item<float>(), 1);
  EXPECT_EQ(e.data[0][0][0].item<float>(), 1);

  const auto loader = make_data_loader(
      std::move(train).map(transforms::Normalize<>(0.5, 0.5)).map(transforms::Stack<>()),
      DataLoaderOptions(2).workers(1));
  int64_t seen = 0;
  for (auto& batch : *loader) {
    EXPECT_EQ(batch.data.min().item<float>(), -1);
    seen += batch.data.size(0);
  }
  EXPECT_EQ(seen, 3);
}

TEST(MNIST, FilesThatAreMissingAreNamed) {
  const Scratch empty;
  try {
    datasets::MNIST train(empty.path());
    FAIL();
  } catch (const FileError& e) {
    EXPECT_NE(std::string(e.what()).find("train-images-idx3-ubyte"), std::string::npos);
  }
}

}  // namespace
}  // namespace tandem::data
