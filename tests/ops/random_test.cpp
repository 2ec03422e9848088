// Random ops and generators.
#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "tandem/base/parallel.h"
#include "tandem/ops/ops.h"
#include "tests/helpers.h"

namespace tandem {
namespace {

using test::error_of;

bool same(const Tensor& a, const Tensor& b) {
  return a.sizes() == b.sizes() && (a == b).all().item<bool>();
}
TEST(RandomOps, ASeedGivesTheSameNumbersForAnyThreadCount) {
  set_num_threads(1);
  manual_seed(42);
  const Tensor a = randn({300, 301}), b = rand({7}), c = randperm(1000), d = randint(10, {5});
  set_num_threads(2);
  manual_seed(42);
  EXPECT_TRUE(same(a, randn({300, 301})));
  EXPECT_TRUE(same(b, rand({7})));
  EXPECT_TRUE(same(c, randperm(1000)));
  EXPECT_TRUE(same(d, randint(10, {5})));
  EXPECT_FALSE(same(a, randn({300, 301})));
}

TEST(RandomOps, NeighbouringDrawsShareNothing) {
  manual_seed(0);
  const Tensor a = rand({1000}), b = rand({1000});
  EXPECT_FALSE((a == b).any().item<bool>());
  // The second draw does not repeat the end of the first.
  for (int64_t shift = 1; shift < 8; ++shift)
    EXPECT_FALSE(same(a.narrow(0, 1000 - shift, shift), b.narrow(0, 0, shift)));
}

TEST(RandomOps, GeneratorsAreIndependentAndHaveState) {
  Generator g = make_generator(7);
  EXPECT_EQ(g.current_seed(), 7u);
  const Tensor state = g.get_state();
  const Tensor a = rand({10}, g);
  manual_seed(5);
  rand({100});
  g.set_state(state);
  EXPECT_TRUE(same(a, rand({10}, g)));
  Generator copy = g.clone();
  EXPECT_TRUE(same(rand({10}, g), rand({10}, copy)));
  EXPECT_THROW(g.set_state(zeros({3}, kLong)), Error);
  EXPECT_THROW(Generator().current_seed(), Error);
  EXPECT_NE(g.seed(), g.seed());
}

TEST(RandomOps, InPlaceFillsAndViews) {
  manual_seed(3);
  const Tensor x = zeros({4, 5});
  x.narrow(0, 1, 2).uniform_(2, 3);
  EXPECT_EQ(x[0].sum().item<double>(), 0);
  EXPECT_GE(x[1].min().item<double>(), 2);
  EXPECT_LT(x[2].max().item<double>(), 3);
  manual_seed(3);
  Tensor t = empty({5, 4});
  t.t().normal_();
  manual_seed(3);
  EXPECT_TRUE(same(t.t(), randn({4, 5})));
  const Tensor r = empty({1000}, kByte).random_();
  EXPECT_GT(r.max().item<int64_t>(), 250);
  const Tensor s = empty({1000}, kLong).random_(-3, 4);
  EXPECT_EQ(s.min().item<int64_t>(), -3);
  EXPECT_EQ(s.max().item<int64_t>(), 3);
  const Tensor b = empty({1000}, kInt).bernoulli_(0.25);
  EXPECT_NEAR(b.sum().item<double>(), 250, 60);
  EXPECT_GE(empty({100}).exponential_(2).min().item<double>(), 0);
}

TEST(RandomOps, DTypesAndOptions) {
  EXPECT_EQ(rand({2}, kDouble).dtype(), kDouble);
  EXPECT_EQ(randint(5, {2}).dtype(), kLong);
  EXPECT_EQ(randint(5, {2}, kFloat).dtype(), kFloat);
  EXPECT_EQ(randperm(5, kInt).dtype(), kInt);
  EXPECT_TRUE(randn({2}, requires_grad()).requires_grad());
  const Tensor like = ones({2, 3}, kDouble);
  EXPECT_EQ(rand_like(like).dtype(), kDouble);
  EXPECT_EQ(randint_like(like, 3).sizes(), like.sizes());
  EXPECT_EQ(normal(1.0, 2.0, {3, 4}).sizes(), (IntArrayRef{3, 4}));
  EXPECT_EQ(normal(zeros({3, 1}), ones({1, 4})).sizes(), (IntArrayRef{3, 4}));
  EXPECT_EQ(bernoulli(full({10}, 1.0)).sum().item<double>(), 10);
  EXPECT_EQ(bernoulli(zeros({10})).sum().item<double>(), 0);
  EXPECT_EQ(poisson(zeros({10}, kDouble)).sum().item<double>(), 0);
  EXPECT_EQ(poisson(full({10}, 3.0, kHalf)).dtype(), kHalf);
  EXPECT_EQ(rand({2, 2}, TensorOptions().device(kMeta)).sizes(), (IntArrayRef{2, 2}));
  EXPECT_EQ(rand({0}).numel(), 0);
}

TEST(RandomOps, Errors) {
  EXPECT_EQ(error_of([] { rand({2}, kLong); }), "rand: expected a floating point dtype, got Long");
  EXPECT_EQ(error_of([] { randint(5, 5, {2}); }),
            "randint: expects 'from' to be less than 'to', but got from=5 >= to=5");
  EXPECT_NE(error_of([] { randint(0, 300, {2}, kByte); }).find("randint: to - 1 = 299"),
            std::string::npos);
  EXPECT_EQ(error_of([] { randperm(-1); }), "randperm: n must be non-negative, got -1");
  EXPECT_NE(error_of([] { empty({2}).uniform_(1, 0); }).find("uniform_: expects to return"),
            std::string::npos);
  EXPECT_NE(error_of([] { empty({2}).normal_(0, -1); }).find("normal_: expects std >= 0.0"),
            std::string::npos);
  EXPECT_NE(error_of([] { empty({2}).bernoulli_(1.5); }).find("bernoulli_: expects p"),
            std::string::npos);
  EXPECT_NE(error_of([] { bernoulli(full({2}, 2.0)); }).find("bernoulli: expects probabilities"),
            std::string::npos);
  EXPECT_NE(error_of([] { poisson(full({2}, -1.0)); }).find("expected rate to be non-negative"),
            std::string::npos);
  EXPECT_NE(error_of([] { poisson(ones({2}, kLong)); }).find("poisson: expected the rates"),
            std::string::npos);
  EXPECT_NE(error_of([] { multinomial(zeros({3}), 2); }).find("sum of probabilities <= 0"),
            std::string::npos);
  EXPECT_NE(error_of([] { multinomial(ones({3}), 4); }).find("without replacement"),
            std::string::npos);
}

TEST(RandomOps, ManyThreadsDrawFromOneGenerator) {
  manual_seed(9);
  std::vector<Tensor> drawn(8);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < drawn.size(); ++i)
    threads.emplace_back([&drawn, i] { drawn[i] = rand({64}); });
  for (auto& t : threads) t.join();
  for (size_t i = 0; i < drawn.size(); ++i)
    for (size_t k = 0; k < i; ++k) EXPECT_FALSE((drawn[i] == drawn[k]).any().item<bool>());
}

TEST(RandomOps, WorksInAndOutOfInferenceMode) {
  Generator g = [] {
    InferenceMode guard;
    Generator made = make_generator(1);
    rand({3}, made);
    return made;
  }();
  EXPECT_EQ(rand({3}, g).numel(), 3);
}

}  // namespace
}  // namespace tandem
