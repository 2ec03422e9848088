// Data sets that the program makes.
#include "tandem/data/generated.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tandem/base/parallel.h"
#include "tandem/data/drawn_digits.h"
#include "tandem/data/loader.h"
#include "tandem/data/transforms.h"
#include "tandem/ops/ops.h"

namespace tandem::data {
namespace {

using datasets::AddingProblem;
using datasets::ArithmeticTrees;
using datasets::DrawnDigits;
using datasets::SequenceTask;
using datasets::Spirals;
using Kind = SequenceTask::Kind;

/// All data that a loader gives for a seed and a number of workers.
template <class Set>
Tensor loaded(const Set& set, size_t workers) {
  manual_seed(1);
  const auto loader =
      make_data_loader(Set(set).map(transforms::Stack<>()), DataLoaderOptions(7).workers(workers));
  std::vector<Tensor> all;
  for (auto& b : *loader) {
    all.push_back(b.data.reshape({-1}).to(kDouble));
    all.push_back(b.target.reshape({-1}).to(kDouble));
  }
  return cat(all);
}

template <class Set>
void expect_same_for_any_workers(const Set& set) {
  const Tensor one = loaded(set, 0);
  EXPECT_TRUE(equal(one, loaded(set, 1)));
  EXPECT_TRUE(equal(one, loaded(set, 3)));
}

TEST(DrawnDigits, DependOnTheSeedAndTheirIndex) {
  DrawnDigits few(20, 3), many(30, 3);
  EXPECT_TRUE(equal(few.images(), many.images().narrow(0, 0, 20)));
  EXPECT_FALSE(equal(few.images(), DrawnDigits(20, 4).images()));
  EXPECT_FALSE(equal(few.images(), DrawnDigits(20, 3 + (uint64_t{1} << 32)).images()));
  EXPECT_EQ(few.images().sizes(), (IntArrayRef{20, 1, 28, 28}));
  EXPECT_TRUE(equal(few.targets().narrow(0, 0, 10), arange(10, kLong)));
  EXPECT_GE(few.images().min().item<float>(), 0);
  EXPECT_LE(few.images().max().item<float>(), 1);
  expect_same_for_any_workers(few);
  const int threads = get_num_threads();
  set_num_threads(1);
  EXPECT_TRUE(equal(few.images(), DrawnDigits(20, 3).images()));
  set_num_threads(threads);
  // Without noise paper is white.
  const Tensor clean = DrawnDigits(20, 3, DrawnDigitsOptions().noise(0)).images();
  EXPECT_GT((clean == 0).sum().item<int64_t>(), clean.numel() / 2);
  EXPECT_EQ(DrawnDigits(0).size(), 0u);
  EXPECT_THROW(DrawnDigits(-1), Error);
  EXPECT_THROW(DrawnDigits(1, 0, DrawnDigitsOptions().noise(-1)), Error);
  EXPECT_THROW(few.get(20), IndexError);
}

TEST(Spirals, WindAroundTheCentre) {
  Spirals set(300, SpiralsOptions().noise(0).arms(2).turns(1));
  EXPECT_EQ(set.points().sizes(), (IntArrayRef{300, 2}));
  const Tensor radius = set.points().pow(2).sum(1).sqrt();
  EXPECT_LE(radius.max().item<float>(), 1.0001f);
  EXPECT_GE(radius.min().item<float>(), 0.0499f);
  // A point's angle is that of its arm and its radius.
  for (const int64_t i : {0, 1, 17, 250}) {
    const float x = set.points()[i][0].item<float>(), y = set.points()[i][1].item<float>();
    const float r = radius[i].item<float>();
    const float angle = 2 * 3.14159265f * (static_cast<float>(i % 2) / 2 + r);
    EXPECT_NEAR(x, r * std::cos(angle), 1e-4);
    EXPECT_NEAR(y, r * std::sin(angle), 1e-4);
    EXPECT_EQ(set.get(static_cast<size_t>(i)).target.item<int64_t>(), i % 2);
  }
  expect_same_for_any_workers(Spirals(50));
  EXPECT_THROW(Spirals(5, SpiralsOptions().arms(0)), Error);
}

TEST(SequenceTask, CopyAndReverse) {
  const auto options = SequenceTaskOptions().min_length(0).max_length(5).symbols(3);
  SequenceTask copy(Kind::kCopy, 200, options), back(Kind::kReverse, 200, options);
  EXPECT_EQ(copy.vocabulary_size(), 5);
  std::set<size_t> lengths;
  for (size_t i = 0; i < 200; ++i) {
    const Example<> c = copy.get(i), r = back.get(i);
    EXPECT_TRUE(equal(c.data, c.target));
    EXPECT_TRUE(equal(c.data, r.data));
    EXPECT_EQ(r.target.sizes(), (IntArrayRef{6}));
    std::string text = back.decode(r.data);
    lengths.insert(text.size());
    std::reverse(text.begin(), text.end());
    EXPECT_EQ(back.decode(r.target), text);
    EXPECT_EQ((r.data == SequenceTask::kEnd).sum().item<int64_t>(), 1);
    EXPECT_EQ((r.data == SequenceTask::kPadding).sum().item<size_t>(), 5 - text.size());
  }
  EXPECT_EQ(lengths.size(), 6u);
  expect_same_for_any_workers(back);
  EXPECT_THROW(SequenceTask(Kind::kCopy, 1, SequenceTaskOptions().min_length(11)), Error);
  EXPECT_THROW(SequenceTask(Kind::kCopy, 1, SequenceTaskOptions().symbols(0)), Error);
  EXPECT_THROW(copy.get(200), IndexError);
}

TEST(SequenceTask, Sums) {
  SequenceTask add(Kind::kAdd, 300, SequenceTaskOptions().max_length(4));
  EXPECT_EQ(add.vocabulary_size(), 13);
  for (size_t i = 0; i < 300; ++i) {
    const Example<> e = add.get(i);
    EXPECT_EQ(e.data.numel(), add.input_length());
    EXPECT_EQ(e.target.numel(), add.target_length());
    const std::string text = add.decode(e.data);
    const size_t plus = text.find('+');
    ASSERT_NE(plus, std::string::npos);
    EXPECT_EQ(std::stoi(text.substr(0, plus)) + std::stoi(text.substr(plus + 1)),
              std::stoi(add.decode(e.target)))
        << text;
  }
  EXPECT_THROW(SequenceTask(Kind::kAdd, 1, SequenceTaskOptions().min_length(0)), Error);
}

TEST(AddingProblem, TwoNumbersAreMarked) {
  AddingProblem set(50, 9);
  for (size_t i = 0; i < 50; ++i) {
    const Example<> e = set.get(i);
    const Tensor marks = e.data.select(1, 1);
    EXPECT_EQ(marks.sum().item<float>(), 2);
    EXPECT_EQ(marks.narrow(0, 0, 4).sum().item<float>(), 1);
    EXPECT_FLOAT_EQ((e.data.select(1, 0) * marks).sum().item<float>(), e.target.item<float>());
  }
  expect_same_for_any_workers(set);
  EXPECT_THROW(AddingProblem(1, 1), Error);
}

TEST(ArithmeticTrees, ValuesAreThoseOfTheTree) {
  for (const int64_t modulus : {0, 7}) {
    ArithmeticTrees set(100, ArithmeticTreesOptions().modulus(modulus).max_depth(3));
    std::set<std::string> texts;
    for (size_t i = 0; i < 100; ++i) {
      const auto e = set.get(i);
      const auto& nodes = e.data.nodes;
      EXPECT_GE(e.data.depth(), 1);
      EXPECT_LE(e.data.depth(), 3);
      texts.insert(e.data.str());
      for (size_t n = 0; n < nodes.size(); ++n) {
        if (!nodes[n].op) continue;
        ASSERT_LT(nodes[n].left, static_cast<int>(n));
        ASSERT_LT(nodes[n].right, static_cast<int>(n));
        const int64_t a = nodes[static_cast<size_t>(nodes[n].left)].value;
        const int64_t b = nodes[static_cast<size_t>(nodes[n].right)].value;
        int64_t v = nodes[n].op == '+' ? a + b : nodes[n].op == '-' ? a - b : a * b;
        if (modulus) v = (v % modulus + modulus) % modulus;
        EXPECT_EQ(nodes[n].value, v);
      }
      EXPECT_EQ(e.target.item<int64_t>(), e.data.root().value);
      EXPECT_EQ(set.get(i).data.str(), e.data.str());
    }
    EXPECT_GT(texts.size(), 60u);
  }
  ArithmeticTree three;
  three.nodes = {{0, 4}, {0, 2}, {'*', 8, 0, 1}, {0, 3}, {'-', 5, 2, 3}};
  EXPECT_EQ(three.str(), "((4 * 2) - 3)");
  EXPECT_EQ(three.depth(), 2);
  EXPECT_EQ(ArithmeticTree().str(), "");
  EXPECT_THROW(ArithmeticTrees(1, ArithmeticTreesOptions().max_depth(9).modulus(0)), Error);
  EXPECT_THROW(ArithmeticTrees(1, ArithmeticTreesOptions().operators("/")), Error);
  EXPECT_THROW(ArithmeticTrees(1, ArithmeticTreesOptions().operators("")), Error);
  EXPECT_THROW(ArithmeticTrees(1, ArithmeticTreesOptions().max_depth(0)), Error);
}

}  // namespace
}  // namespace tandem::data
