// CIFAR's binary files as data sets.
#include "tandem/data/cifar.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tandem/data/loader.h"
#include "tandem/data/transforms.h"
#include "tandem/ops/ops.h"
#include "tests/io/scratch.h"

namespace tandem::data {
namespace {

/// A record whose first pixels are `value`, 255 and 0.
std::string record(const std::string& labels, int value) {
  std::string pixels(3072, '\0');
  pixels[0] = static_cast<char>(value);
  pixels[1] = '\xff';
  return labels + pixels;
}
void write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

TEST(CIFAR, TenClassesInFiveFiles) {
  const Scratch s;
  const std::string folder = s / "cifar-10-batches-bin";
  std::filesystem::create_directory(folder);
  for (int i = 1; i <= 5; ++i)
    write(folder + "/data_batch_" + std::to_string(i) + ".bin",
          record(std::string(1, static_cast<char>(i)), 10 * i) + record("\x09", 51));
  write(folder + "/test_batch.bin", record(std::string(1, '\0'), 1));
  datasets::CIFAR10 test(s.path(), datasets::CIFAR10::Mode::kTest);
  EXPECT_FALSE(test.is_train());
  EXPECT_EQ(test.size(), 1u);
  for (const std::string& root : {s.path(), folder}) {
    datasets::CIFAR10 train(root);
    EXPECT_TRUE(train.is_train());
    EXPECT_EQ(train.size(), 10u);
    EXPECT_TRUE(equal(train.targets(), tensor({1, 9, 2, 9, 3, 9, 4, 9, 5, 9}, kLong)));
    EXPECT_EQ(train.images().sizes(), (IntArrayRef{10, 3, 32, 32}));
    EXPECT_EQ(train.images().scalar_type(), kFloat);
    EXPECT_EQ(train.pixels()[8][0][0][0].item<int64_t>(), 50);
    const Example<> e = train.get(3);
    EXPECT_EQ(e.data.sizes(), (IntArrayRef{3, 32, 32}));
    EXPECT_EQ(e.data[0][0][0].item<float>(), 51.f / 255);
    EXPECT_EQ(e.data[0][0][1].item<float>(), 1);
    EXPECT_EQ(e.target.item<int64_t>(), 9);
    EXPECT_THROW(train.get(10), IndexError);
  }
  const auto loader = make_data_loader(datasets::CIFAR10(s.path()).map(transforms::Stack<>()),
                                       DataLoaderOptions(4).workers(2));
  int64_t seen = 0;
  for (auto& batch : *loader) seen += batch.data.size(0);
  EXPECT_EQ(seen, 10);
}

TEST(CIFAR, AHundredClassesInTwentyGroups) {
  const Scratch s;
  write(s / "train.bin", record("\x13\x63", 1) + record(std::string("\0\x05", 2), 2));
  write(s / "test.bin", record("\x01\x02", 3));
  datasets::CIFAR100 train(s.path()), test(s.path(), datasets::CIFAR100::Mode::kTest);
  EXPECT_TRUE(equal(train.targets(), tensor({99, 5}, kLong)));
  EXPECT_TRUE(equal(train.coarse_targets(), tensor({19, 0}, kLong)));
  EXPECT_EQ(train.pixels()[1][0][0][0].item<int64_t>(), 2);
  EXPECT_EQ(test.get(0).target.item<int64_t>(), 2);
}

TEST(CIFAR, FilesThatAreMissingAreNamed) {
  const Scratch s;
  try {
    datasets::CIFAR10 train(s.path());
    FAIL();
  } catch (const FileError& e) {
    EXPECT_NE(std::string(e.what()).find("data_batch_1.bin"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace tandem::data
