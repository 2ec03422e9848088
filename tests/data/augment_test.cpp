// Augmentation: what each transform does to an image.
#include "tandem/data/augment.h"

#include <gtest/gtest.h>

#include "tandem/data/datasets.h"
#include "tandem/data/loader.h"
#include "tandem/ops/ops.h"

namespace tandem::data {
namespace {

using namespace transforms;

/// Pixel (c, y, x) is 100 c + 10 y + x.
Tensor image(int64_t c = 2, int64_t h = 4, int64_t w = 5) {
  return (arange(c, kFloat).mul(100).view({c, 1, 1}) + arange(h, kFloat).mul(10).view({h, 1}) +
          arange(w, kFloat));
}

TEST(Augment, Mirrors) {
  EXPECT_TRUE(equal(RandomHorizontalFlip<>(1)(image()), image().flip({2})));
  EXPECT_TRUE(equal(RandomHorizontalFlip<>(0)(image()), image()));
  EXPECT_TRUE(equal(RandomVerticalFlip<>(1)(image()), image().flip({1})));
  EXPECT_THROW(RandomHorizontalFlip<>(1.5), Error);
  EXPECT_THROW(RandomHorizontalFlip<>(1)(Tensor()), Error);
  manual_seed(0);
  int flipped = 0;
  RandomHorizontalFlip<> half;
  for (int i = 0; i < 400; ++i) flipped += !equal(half(image()), image());
  EXPECT_GT(flipped, 150);
  EXPECT_LT(flipped, 250);
}

TEST(Augment, RandomCropsAreWindowsOfThePaddedImage) {
  manual_seed(0);
  const Tensor padded = constant_pad_nd(image(), {2, 2, 2, 2}, -1);
  RandomCrop<> crop(RandomCropOptions({3, 4}).padding(2).fill(-1));
  std::vector<bool> seen(6 * 6);
  for (int round = 0; round < 600; ++round) {
    const Tensor c = crop(image());
    ASSERT_EQ(c.sizes(), (IntArrayRef{2, 3, 4}));
    bool found = false;
    for (int64_t y = 0; y < 6; ++y)
      for (int64_t x = 0; x < 6; ++x)
        if (equal(c, padded.narrow(1, y, 3).narrow(2, x, 4)))
          found = seen[static_cast<size_t>(6 * y + x)] = true;
    ASSERT_TRUE(found) << c;
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), true), 36);
  EXPECT_TRUE(equal(RandomCrop<>({4, 5})(image()), image()));
  EXPECT_EQ(RandomCrop<>(3)(image().to(kByte)).scalar_type(), kByte);
  EXPECT_THROW(RandomCrop<>(5)(image()), ShapeError);
  EXPECT_THROW(RandomCrop<>(0), Error);
  EXPECT_THROW(RandomCrop<>(RandomCropOptions(3).padding(-1)), Error);
}

TEST(Augment, CenterCropAndResize) {
  EXPECT_TRUE(equal(CenterCrop<>({2, 3})(image()), image().narrow(1, 1, 2).narrow(2, 1, 3)));
  EXPECT_TRUE(equal(CenterCrop<>({6, 7})(image()), constant_pad_nd(image(), {1, 1, 1, 1}, 0)));
  EXPECT_TRUE(
      equal(CenterCrop<>({2, 7})(image()), constant_pad_nd(image().narrow(1, 1, 2), {1, 1}, 0)));
  EXPECT_EQ(Resize<>({8, 3})(image()).sizes(), (IntArrayRef{2, 8, 3}));
  EXPECT_EQ(Resize<>(8)(image()).sizes(), (IntArrayRef{2, 8, 10}));
  EXPECT_THROW(Resize<>({1, 2, 3})(image()), Error);
  EXPECT_THROW(Resize<>(3)(Tensor()), Error);
}

TEST(Augment, MeansAreTakenAway) {
  const Tensor x = image();
  EXPECT_TRUE(equal(SubtractMean<>({1., 2.})(x), x - tensor({1.f, 2.f}).view({2, 1, 1})));
  EXPECT_TRUE(equal(SubtractMean<>(x)(x), zeros_like(x)));
  EXPECT_TRUE(equal(ToFloat<>()(full({1, 2, 2}, 51, kByte)), full({1, 2, 2}, 51.f / 255)));
}

struct Pictures : datasets::Dataset<Pictures> {
  Example<> get(size_t i) override {
    return {image() + static_cast<double>(i), tensor(static_cast<int64_t>(i))};
  }
  std::optional<size_t> size() const override { return n; }
  size_t n = 5;
};

TEST(Augment, Statistics) {
  Pictures p;
  EXPECT_TRUE(allclose(mean_image(p), image() + 2));
  const ChannelStatistics s = channel_statistics(p);
  std::vector<Tensor> all;
  for (size_t i = 0; i < 5; ++i) all.push_back(p.get(i).data);
  const Tensor x = stack(all).transpose(0, 1).reshape({2, -1});
  EXPECT_TRUE(allclose(s.mean, x.mean(1)));
  EXPECT_TRUE(allclose(s.stddev, x.std(1, /*unbiased=*/false)));
  p.n = 0;
  EXPECT_THROW(mean_image(p), Error);
}

TEST(Augment, TheSameForAnyNumberOfWorkers) {
  std::vector<Tensor> results;
  for (const size_t workers : {0, 1, 3}) {
    manual_seed(9);
    Pictures p;
    p.n = 23;
    const auto loader = make_data_loader(p.map(RandomCrop<>(RandomCropOptions({4, 5}).padding(2)))
                                             .map(RandomHorizontalFlip<>())
                                             .map(RandomVerticalFlip<>())
                                             .map(Stack<>()),
                                         DataLoaderOptions(4).workers(workers));
    std::vector<Tensor> batches;
    for (auto& b : *loader) batches.push_back(b.data);
    results.push_back(cat(batches));
  }
  EXPECT_TRUE(equal(results[0], results[1]));
  EXPECT_TRUE(equal(results[0], results[2]));
}

}  // namespace
}  // namespace tandem::data
