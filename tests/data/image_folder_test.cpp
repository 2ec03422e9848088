// Folders of images, and loaders over them.
#include "tandem/data/image_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tandem/data/augment.h"
#include "tandem/data/loader.h"
#include "tandem/ops/ops.h"
#include "tests/io/scratch.h"

namespace tandem::data {
namespace {

namespace fs = std::filesystem;
using datasets::ImageFolder;
using datasets::ImageFolderOptions;

/// Two classes; image i of `n` is 8 x 6 pixels of the value 10 * i.
struct Folder : Scratch {
  explicit Folder(int n = 6) {
    fs::create_directories(path() + "/zebra/deep/er");
    fs::create_directories(path() + "/ant");
    for (int i = 0; i < n; ++i) {
      const std::string name = "/im" + std::to_string(100 + i) + (i % 2 ? ".png" : ".PNG");
      const std::string folder = i < n / 2 ? "/ant" : i == n - 1 ? "/zebra/deep/er" : "/zebra";
      io::write_png(full({3, 8, 6}, 10 * i % 256, kByte), path() + folder + name);
    }
    std::ofstream(path() + "/ant/notes.txt") << "not an image";
    std::ofstream(path() + "/ant/.hidden.png") << "not an image";
    std::ofstream(path() + "/readme") << "not a folder";
    fs::create_directories(path() + "/.cache");
  }
};

TEST(ImageFolder, AClassForEachFolder) {
  const Folder f;
  ImageFolder set(f.path());
  EXPECT_EQ(set.classes(), (std::vector<std::string>{"ant", "zebra"}));
  EXPECT_EQ(set.size(), 6u);
  EXPECT_TRUE(equal(set.targets(), tensor({0, 0, 0, 1, 1, 1}, kLong)));
  EXPECT_EQ(set.samples()[2].path, f.path() + "/ant/im102.PNG");
  EXPECT_EQ(set.samples()[3].path, f.path() + "/zebra/deep/er/im105.png");
  const Example<> e = set.get(2);
  EXPECT_TRUE(equal(e.data, full({3, 8, 6}, 20.f / 255)));
  EXPECT_EQ(e.target.dim(), 0);
  EXPECT_EQ(set.get(4).target.item<int64_t>(), 1);
  EXPECT_THROW(set.get(6), IndexError);
}

TEST(ImageFolder, SizesAndTypes) {
  const Folder f;
  ImageFolder bytes(f.path(), ImageFolderOptions({4, 5}).dtype(kByte).mode(io::ImageMode::kGray));
  EXPECT_TRUE(equal(bytes.get(1).data, full({1, 4, 5}, 10, kByte)));
  EXPECT_EQ(ImageFolder(f.path(), ImageFolderOptions({3})).get(0).data.sizes(),
            (IntArrayRef{3, 4, 3}));
  EXPECT_THROW(ImageFolder(f.path(), ImageFolderOptions({0, 5})), Error);
  EXPECT_THROW(ImageFolder(f.path(), ImageFolderOptions().dtype(kLong)), TypeError);
}

std::string message_of_folder(const std::string& root) {
  try {
    ImageFolder set(root);
  } catch (const FileError& e) {
    return e.what();
  }
  return "";
}

TEST(ImageFolder, FoldersThatAreNone) {
  const Scratch s;
  EXPECT_NE(message_of_folder(s / "nowhere").find("nowhere: cannot be read"), std::string::npos);
  EXPECT_NE(message_of_folder(s.path()).find("has no folders"), std::string::npos);
  fs::create_directory(s / "cat");
  EXPECT_NE(message_of_folder(s.path()).find("/cat: there is no .png"), std::string::npos);
  fs::create_directory_symlink(s.path(), s / "cat/loop");
  EXPECT_NE(message_of_folder(s.path()).find("there is no .png"), std::string::npos);
}

auto augmented(const std::string& root) {
  return ImageFolder(root, ImageFolderOptions().dtype(kByte))
      .map(transforms::RandomCrop<>(transforms::RandomCropOptions({8, 6}).padding(3).fill(255)))
      .map(transforms::RandomHorizontalFlip<>())
      .map(transforms::ToFloat<>())
      .map(transforms::Stack<>());
}

TEST(ImageFolder, WorkersDoNotChangeWhatComes) {
  const Folder f(9);
  std::vector<Tensor> epochs;
  for (const size_t workers : {0, 1, 2, 3}) {
    manual_seed(11);
    const auto loader =
        make_data_loader(augmented(f.path()), DataLoaderOptions(2).workers(workers));
    for (int epoch = 0; epoch < 2; ++epoch) {
      std::vector<Tensor> batches;
      for (auto& b : *loader) batches.push_back(b.data);
      epochs.push_back(cat(batches));
    }
  }
  EXPECT_FALSE(equal(epochs[0], epochs[1]));
  for (size_t i = 2; i < epochs.size(); ++i) EXPECT_TRUE(equal(epochs[i], epochs[i % 2])) << i;
}

TEST(ImageFolder, ABadImageIsNamedWithItsIndex) {
  const Folder f;
  fs::resize_file(f.path() + "/zebra/im104.PNG", 50);
  const auto loader = make_data_loader<samplers::SequentialSampler>(
      augmented(f.path()), DataLoaderOptions(2).workers(2));
  try {
    for (auto& b : *loader) (void)b;
    FAIL();
  } catch (const WorkerException& e) {
    EXPECT_EQ(e.sample_index, 5u);
    EXPECT_NE(std::string(e.what()).find("/zebra/im104.PNG: near byte "), std::string::npos)
        << e.what();
    EXPECT_THROW(std::rethrow_exception(e.original_exception), FileError);
  }
}

/// Images that are decoded and not yet given out, counted by their memory.
TEST(ImageFolder, MemoryIsBounded) {
  const Folder f(40);
  struct Counted : datasets::Dataset<Counted> {
    explicit Counted(const std::string& root) : images(root) {}
    Example<> get(size_t i) override {
      Example<> e = images.get(i);
      const auto live = this->live;
      ++*live;
      // The counter goes down when the last tensor that looks at this memory is gone.
      auto keep = std::make_shared<Tensor>(e.data);
      e.data = from_blob(
          keep->data_ptr(), keep->sizes(), [keep, live](void*) { --*live; }, kFloat);
      return e;
    }
    std::optional<size_t> size() const override { return images.size(); }
    ImageFolder images;
    std::shared_ptr<std::atomic<int>> live = std::make_shared<std::atomic<int>>(0);
  };
  Counted set(f.path());
  const auto live = set.live;
  {
    const auto loader =
        make_data_loader(std::move(set), DataLoaderOptions(2).workers(2).max_jobs(3));
    size_t seen = 0;
    for (auto& batch : *loader) {
      seen += batch.size();
      // Three jobs of two images, and the batch in hand.
      EXPECT_LE(*live, 3 * 2 + 2);
    }
    EXPECT_EQ(seen, 40u);
  }
  EXPECT_EQ(*live, 0);
}

TEST(ImageFolder, LoadersCanBeDroppedHalfWay) {
  const Folder f(12);
  for (size_t given = 0; given < 5; ++given) {
    const auto loader =
        make_data_loader(augmented(f.path()), DataLoaderOptions(2).workers(2).max_jobs(4));
    auto it = loader->begin();
    for (size_t i = 0; i < given; ++i) ++it;
  }
}

}  // namespace
}  // namespace tandem::data
