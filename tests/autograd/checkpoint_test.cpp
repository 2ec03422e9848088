#include "tandem/autograd/checkpoint.h"

#include "tandem/autograd/gradcheck.h"
#include "tandem/base/memory.h"
#include "tests/autograd/helpers.h"

namespace tandem {
namespace {

using test::expect_error;
using test::expect_near;
using test::leaf;

TEST(Checkpoint, GivesTheSameGradients) {
  auto block = [](const Tensor& x, const Tensor& w) { return x * w * x + w; };
  Tensor x = leaf({3}), w = leaf({3}, 2);
  Tensor y = checkpoint(block, {x, w});
  expect_near(y, block(x, w));
  const variable_list plain = autograd::grad({block(x, w)}, {x, w}, {ones_like(x)});
  const variable_list again = autograd::grad({y}, {x, w}, {ones_like(x)});
  expect_near(again[0], plain[0], 0);
  expect_near(again[1], plain[1], 0);
  EXPECT_TRUE(gradcheck(
      [&](const Tensor& x, const Tensor& w) {
        return checkpoint(block, {x, w});
      },
      {x, w}));
}

TEST(Checkpoint, CanBeDifferentiatedAgain) {
  auto block = [](const Tensor& x, const Tensor& w) { return x * w * x + w; };
  EXPECT_TRUE(gradgradcheck(
      [&](const Tensor& x, const Tensor& w) {
        return checkpoint(block, {x * x, w});
      },
      {leaf({3}), leaf({3}, 2)}));
  Tensor x = test::values({}, {2}).requires_grad_();
  Tensor y = checkpoint([](const Tensor& x) { return x * x * x * x; }, {x});
  for (double expected : {32., 48., 48.}) {
    y = autograd::grad({y}, {x}, {}, std::nullopt, true)[0];
    expect_near(y, {expected});
  }
}

TEST(Checkpoint, GradientsReachWhatTheFunctionCaptures) {
  Tensor x = leaf({3}), w = leaf({3}, 2), b = leaf({3}, 3);
  auto fn = [](const Tensor& x, const Tensor& w, const Tensor& b) {
    Tensor h = w * w;  // made outside of the checkpoint, and not a leaf
    // x reaches the result through the argument and through h2.
    Tensor h2 = h * x;
    return checkpoint([=](const Tensor& x) { return x * h * h2 + b; }, {x});
  };
  EXPECT_TRUE(gradcheck(fn, {x, w, b}));
  EXPECT_TRUE(gradgradcheck(fn, {x, w, b}));
  // No argument needs a gradient, but a captured tensor does.
  Tensor y = checkpoint([&](const Tensor& x) { return x * w; }, {x.detach()});
  y.backward(ones_like(y));
  expect_near(w.grad(), x);
}

TEST(Checkpoint, SeveralResults) {
  auto fn = [](const Tensor& x, const Tensor& w) {
    auto [a, b, c] = checkpoint(
        [](const Tensor& x, const Tensor& w) {
          return std::tuple{x * w, w * w, x.detach()};
        },
        {x, w});
    EXPECT_FALSE(c.requires_grad());
    return std::pair{a * b, b};
  };
  EXPECT_TRUE(gradcheck(fn, {leaf({3}), leaf({3}, 2)}));
  // Only one of them is used.
  Tensor x = leaf({3});
  variable_list r = checkpoint(
      [](const variable_list& v) {
        return variable_list{v[0] * 2, v[0] * v[0]};
      },
      {x});
  r[1].backward(ones_like(x));
  expect_near(x.grad(), (2 * x).detach());
}

TEST(Checkpoint, Nests) {
  auto inner = [](const Tensor& x) { return x * x * x; };
  auto middle = [&](const Tensor& x) { return checkpoint(inner, {x * 2}) * x; };
  auto outer = [&](const Tensor& x) { return checkpoint(middle, {x * x}) + x; };
  Tensor x = leaf({3});
  EXPECT_TRUE(gradcheck([&](const Tensor& x) { return checkpoint(outer, {x}); }, {x}));
  EXPECT_TRUE(gradgradcheck([&](const Tensor& x) { return checkpoint(outer, {x}); }, {x}));
}

TEST(Checkpoint, HoldsLessMemory) {
  const int64_t n = 1 << 16;
  auto chain = [](const Tensor& x) {
    Tensor h = x;
    for (int i = 0; i < 16; ++i) h = h * h;  // each product saves its factor
    return h;
  };
  Tensor x = ones({n}, kFloat).requires_grad_();
  auto held = [&](auto make) {
    const int64_t before = memory::stats().current;
    Tensor y = make();
    const int64_t now = memory::stats().current - before;
    y.backward(ones_like(y));
    return now;
  };
  const int64_t plain = held([&] { return chain(chain(x)); });
  const int64_t less = held([&] { return checkpoint(chain, {checkpoint(chain, {x})}); });
  EXPECT_EQ(plain, 32 * n * 4);
  EXPECT_LE(less, 2 * n * 4 + 1024);  // the two results, and the states of the random generator
}

TEST(Checkpoint, FreesWhatItKept) {
  Tensor x = leaf({4});
  const auto before = memory::stats();
  {
    Tensor y = checkpoint([](const Tensor& x) { return x * x; }, {x * 2});
    y.backward(ones_like(y));
    expect_error([&] { y.backward(ones_like(y)); },
                 {"checkpoint", "a second time", "retain_graph"});
    Tensor z = checkpoint([](const Tensor& x) { return x * x; }, {x * 2});
    z.backward(ones_like(z), /*retain_graph=*/true);
    z.backward(ones_like(z));
    Tensor dropped = checkpoint([](const Tensor& x) { return x * x; }, {x * 2});
  }
  x.mutable_grad().reset();
  EXPECT_EQ(memory::stats().objects, before.objects);
}

TEST(Checkpoint, DrawsTheSameRandomNumbersAgain) {
  manual_seed(3);
  Tensor x = ones({1000}, kDouble).requires_grad_();
  auto noisy = [](const Tensor& x) { return x * rand({1000}, kDouble) * rand({1000}, kDouble); };
  Tensor y = checkpoint(noisy, {x});
  Tensor z = checkpoint(noisy, {x});
  const Tensor next = rand({3});
  rand({17});  // other numbers are drawn in between
  const Tensor state = get_rng_state();
  const Tensor gz = autograd::grad({z}, {x}, {ones_like(z)})[0];
  const Tensor gy = autograd::grad({y}, {x}, {ones_like(y)})[0];
  expect_near(gy, y, 0);  // x is 1: the gradient is the noise, and so is the result
  expect_near(gz, z, 0);
  EXPECT_NE(test::list(y), test::list(z));
  expect_near(get_rng_state(), state, 0);  // and the program's own numbers go on as if nothing were
  manual_seed(3);
  noisy(x), noisy(x);
  expect_near(rand({3}), next, 0);
}

TEST(Checkpoint, ChecksThatItCanBeRepeated) {
  Tensor x = leaf({3});
  Tensor a = x * 1;
  Tensor y = checkpoint([](const Tensor& x) { return x * x; }, {a});
  a.add_(1);
  expect_error([&] { y.backward(ones_like(y)); }, {"checkpoint", "input 0", "overwritten"});
  int calls = 0;
  Tensor z = checkpoint(
      [&](const Tensor& x) {
        return ++calls == 1 ? x * x : (x * x).view({3, 1});
      },
      {x});
  expect_error([&] { z.backward(ones_like(z)); }, {"checkpoint", "[3]", "[3, 1]"});
}

TEST(Checkpoint, WithoutGradModeIsAPlainCall) {
  Tensor x = leaf({3});
  int calls = 0;
  auto fn = [&](const Tensor& x) {
    ++calls;
    return x * x;
  };
  {
    NoGradGuard no_grad;
    EXPECT_FALSE(checkpoint(fn, {x}).requires_grad());
  }
  EXPECT_FALSE(checkpoint(fn, {x.detach()}).requires_grad());
  EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace tandem
