// Loaders: order, workers, exceptions, positions.
#include "tandem/data/loader.h"

#include <gtest/gtest.h>

#include <atomic>
#include <sstream>

#include "tandem/data/datasets.h"
#include "tandem/data/transforms.h"
#include "tandem/ops/ops.h"

namespace tandem::data {
namespace {

struct Numbers : datasets::Dataset<Numbers, int64_t> {
  explicit Numbers(size_t n) : n(n) {}
  int64_t get(size_t index) override { return static_cast<int64_t>(index); }
  std::optional<size_t> size() const override { return n; }
  size_t n;
};

/// Draws twice for each sample, as two random augmentations would.
auto with_noise(size_t n) {
  const auto draw = [](int64_t i) {
    return i * 1000 + randint(1000, {}, sample_generator(), kLong).item<int64_t>();
  };
  return Numbers(n).map(transforms::Lambda<int64_t>(draw)).map(transforms::Lambda<int64_t>(draw));
}

template <class Loader>
std::vector<std::vector<int64_t>> epoch(Loader& loader) {
  std::vector<std::vector<int64_t>> batches;
  for (auto& b : loader) batches.push_back(b);
  return batches;
}

TEST(Loader, WorkersDoNotChangeWhatComes) {
  std::vector<std::vector<std::vector<int64_t>>> all;
  for (const size_t workers : {0, 1, 2, 5}) {
    manual_seed(3);
    const auto loader = make_data_loader(with_noise(50), DataLoaderOptions(7).workers(workers));
    all.push_back(epoch(*loader));
    all.push_back(epoch(*loader));
  }
  ASSERT_EQ(all[0].size(), 8u);
  EXPECT_NE(all[0], all[1]);
  for (size_t i = 2; i < all.size(); ++i) EXPECT_EQ(all[i], all[i % 2]);
  // The two draws for one sample are not the same number.
  int same = 0;
  for (const auto& batch : all[0])
    for (const int64_t v : batch) same += v % 1000 == v / 1000 % 1000;
  EXPECT_LT(same, 10);
}

TEST(Loader, GoesOnWhereItWas) {
  for (const size_t workers : {0, 2}) {
    for (const size_t stop : {0, 1, 3, 8}) {
      manual_seed(5);
      const auto options = DataLoaderOptions(7).workers(workers);
      const auto loader = make_data_loader(with_noise(50), options);
      epoch(*loader);
      auto it = loader->begin();
      for (size_t given = 0; given < stop; ++given) {
        if (given > 0) ++it;
        (void)*it;
      }
      serialize::OutputArchive out;
      loader->save(out);
      std::stringstream stream;
      out.save_to(stream);
      std::vector<std::vector<int64_t>> rest;
      if (stop > 0) ++it;
      for (; it != loader->end(); ++it) rest.push_back(*it);

      manual_seed(77);
      const auto other = make_data_loader(with_noise(50), options);
      serialize::InputArchive in;
      in.load_from(stream);
      other->load(in);
      EXPECT_EQ(other->position(), stop);
      EXPECT_EQ(epoch(*other), rest) << workers << " workers, after " << stop;
    }
  }
}

TEST(Loader, APositionThatDoesNotFitIsRefused) {
  const auto loader = make_data_loader(Numbers(50), DataLoaderOptions(5));
  epoch(*loader);
  serialize::OutputArchive out;
  loader->save(out);
  std::stringstream stream;
  out.save_to(stream);
  serialize::InputArchive in;
  in.load_from(stream);
  const auto small = make_data_loader(Numbers(50), DataLoaderOptions(20));
  EXPECT_THROW(small->load(in), Error);
}

struct Failing : datasets::Dataset<Failing, int64_t> {
  int64_t get(size_t index) override {
    TANDEM_CHECK(index != 13, "no thirteen");
    return static_cast<int64_t>(index);
  }
  std::optional<size_t> size() const override { return 20; }
};

TEST(Loader, ExceptionsOfWorkersNameTheSample) {
  const auto loader =
      make_data_loader<samplers::SequentialSampler>(Failing(), DataLoaderOptions(4).workers(2));
  size_t batches = 0;
  try {
    for (auto& b : *loader) batches += b.size() / 4;
    FAIL();
  } catch (const WorkerException& e) {
    EXPECT_EQ(batches, 3u);
    EXPECT_EQ(e.sample_index, 13u);
    EXPECT_NE(std::string(e.what()).find("no thirteen"), std::string::npos);
  }
}

std::atomic<int> g_made{0};
struct Counting : datasets::Dataset<Counting, int64_t> {
  int64_t get(size_t index) override {
    ++g_made;
    return static_cast<int64_t>(index);
  }
  std::optional<size_t> size() const override { return 1000; }
};

TEST(Loader, MemoryIsBounded) {
  const auto loader = make_data_loader(Counting(), DataLoaderOptions(1).workers(3).max_jobs(5));
  auto it = loader->begin();
  for (int taken = 1; taken < 100; ++taken, ++it) {
    (void)*it;
    EXPECT_LE(g_made, taken + 5);
  }
}

TEST(Loader, CanBeDroppedHalfWay) {
  for (int round = 0; round < 20; ++round) {
    const auto loader = make_data_loader(with_noise(100), DataLoaderOptions(3).workers(3));
    auto it = loader->begin();
    for (int i = 0; i < round; ++i) ++it;
  }
}

TEST(Loader, OptionsThatCannotWork) {
  EXPECT_THROW(make_data_loader(Numbers(5), DataLoaderOptions(0)), Error);
  EXPECT_THROW(make_data_loader(Numbers(5), DataLoaderOptions(1).workers(2).max_jobs(0)), Error);
  const auto empty = make_data_loader(Numbers(0), DataLoaderOptions(2));
  EXPECT_TRUE(epoch(*empty).empty());
}

}  // namespace
}  // namespace tandem::data
