#include "tandem/autograd/tape.h"

#include "tandem/base/memory.h"
#include "tests/autograd/helpers.h"

namespace tandem {
namespace {

using test::expect_error;
using test::expect_near;
using test::leaf;
using test::values;

TEST(GradientTape, GivesGradientsOfWatchedTensors) {
  Tensor w = values({2}, {1, 2}), b = values({2}, {3, 4}), other = values({2}, {5, 6});
  variable_list g;
  {
    GradientTape tape;
    tape.watch({w, b});
    EXPECT_TRUE(w.requires_grad());
    Tensor loss = w * w * b + other;
    g = tape.gradient(loss, {w, b, other});
  }
  expect_near(g[0], {6, 16});
  expect_near(g[1], {1, 4});
  EXPECT_FALSE(g[2].defined());
  // Afterwards they are as they were.
  EXPECT_FALSE(w.requires_grad());
  EXPECT_FALSE(w.grad().defined());
  w -= g[0];
  expect_near(w, {-5, -14});
}

TEST(GradientTape, TensorsThatRequireGradientsNeedNoWatching) {
  Tensor w = leaf({2});
  Tensor g;
  {
    GradientTape tape;
    tape.watch(w);
    g = tape.gradient(w * w, w);
  }
  expect_near(g, (2 * w).detach());
  EXPECT_TRUE(w.requires_grad());
  EXPECT_FALSE(w.grad().defined());
}

TEST(GradientTape, OneTensorOrAList) {
  Tensor w = leaf({2});
  GradientTape tape({.persistent = true});
  Tensor y = w * 3;
  Tensor one = tape.gradient(y, w);
  std::vector<Tensor> braces = tape.gradient(y, {w});
  std::vector<Tensor> list = tape.gradient(y, std::vector<Tensor>{w, w});
  expect_near(one, {3, 3});
  expect_near(braces[0], {3, 3});
  expect_near(list[1], {3, 3});
  expect_near(tape.gradient(y, w, values({2}, {1, 2})), {3, 6});
}

TEST(GradientTape, GivesThemOnceUnlessPersistent) {
  Tensor w = leaf({2});
  GradientTape tape;
  Tensor y = w * w;
  tape.gradient(y, w);
  expect_error([&] { tape.gradient(y, w); }, {"only once", "persistent = true"});
}

TEST(GradientTape, UnconnectedIsUndefined) {
  Tensor w = leaf({2}), v = leaf({2}, 2), plain = values({2}, {1, 1});
  GradientTape tape({.persistent = true});
  EXPECT_FALSE(tape.gradient(w * 2, v).defined());
  EXPECT_FALSE(tape.gradient(w * 2, plain).defined());
  EXPECT_FALSE(tape.gradient(plain * 2, w).defined());
}

TEST(GradientTape, NestedTapesGiveHigherOrders) {
  Tensor x = values({}, {3});
  GradientTape outer;
  outer.watch(x);
  Tensor first;
  {
    GradientTape inner;
    inner.watch(x);
    first = inner.gradient(x * x * x, x);
  }
  EXPECT_TRUE(x.requires_grad());  // the outer tape still watches
  expect_near(first, {27});
  expect_near(outer.gradient(first, x), {18});
}

TEST(GradientTape, APersistentTapeRecordsItsOwnGradients) {
  Tensor x = values({}, {3});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  Tensor y = x * x * x;
  Tensor first = tape.gradient(y, x);
  Tensor second = tape.gradient(first, x);
  expect_near(second, {18});
  expect_near(tape.gradient(second, x), {6});
}

TEST(GradientTape, RecordsInsideNoGrad) {
  NoGradGuard no_grad;
  Tensor x = values({}, {3});
  {
    GradientTape tape;
    tape.watch(x);
    expect_near(tape.gradient(x * x, x), {6});
  }
  EXPECT_FALSE(GradMode::is_enabled());
}

TEST(GradientTape, LeavesNothingBehind) {
  Tensor x = values({4}, {1, 2, 3, 4});
  const auto before = memory::stats();
  for (int i = 0; i < 10; ++i) {
    GradientTape tape({.persistent = true});
    tape.watch(x);
    Tensor y = x * x;
    tape.gradient(tape.gradient(y, x), x);
  }
  EXPECT_EQ(memory::stats().objects, before.objects);
  EXPECT_EQ(memory::stats().current, before.current);
}

TEST(GradientTape, ChecksWhatItIsGiven) {
  GradientTape tape;
  expect_error([&] { tape.watch(ones({2}, kLong)); }, {"floating point", "int64"});
  expect_error([&] { tape.watch(Tensor()); }, {"GradientTape", "undefined"});
}

}  // namespace
}  // namespace tandem
