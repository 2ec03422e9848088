#include "tandem/autograd/gradcheck.h"

#include "tandem/autograd/function.h"
#include "tests/autograd/helpers.h"

namespace tandem {
namespace {

using test::expect_error;
using test::leaf;

struct WrongProduct : autograd::Function<WrongProduct> {
  static Tensor forward(autograd::AutogradContext* ctx, const Tensor& x, const Tensor& y) {
    ctx->save_for_backward({x, y});
    return x * y;
  }
  static variable_list backward(autograd::AutogradContext* ctx, variable_list g) {
    const variable_list saved = ctx->get_saved_variables();
    return {g[0] * saved[1], g[0] * saved[0] * 1.5};
  }
};

TEST(Gradcheck, PassesForRightGradients) {
  Tensor x = leaf({2, 3}), y = leaf({3}, 2);
  auto fn = [](const Tensor& x, const Tensor& y) { return x * y + x / y; };
  EXPECT_TRUE(gradcheck(fn, {x, y}));
  EXPECT_TRUE(gradgradcheck(fn, {x, y}));
  EXPECT_TRUE(gradcheck(
      [](const variable_list& v) {
        return variable_list{v[0] * v[0], -v[0]};
      },
      {x}));
}

TEST(Gradcheck, SaysWhichInputAndWhichElement) {
  Tensor x = test::values({2}, {1, 2}).requires_grad_(),
         y = test::values({2}, {3, 4}).requires_grad_();
  auto fn = [](const Tensor& x, const Tensor& y) { return WrongProduct::apply(x, y); };
  expect_error(
      [&] {
        gradcheck(fn, {x, y});
      },
      {"gradcheck", "output 0", "input 1", "element [0]", "finite difference is 1",
       "autograd gives 1.5"});
  EXPECT_FALSE(gradcheck(fn, {x, y}, {.raise_exception = false}));
  EXPECT_FALSE(gradcheck(fn, {x, y}, 1e-6, 1e-5, 1e-3, /*raise_exception=*/false));
  EXPECT_TRUE(gradcheck(fn, {x, y.detach()}));  // the wrong one is not asked for
}

struct WrongSecond : autograd::Function<WrongSecond> {
  static Tensor forward(autograd::AutogradContext* ctx, const Tensor& x) {
    ctx->save_for_backward({x});
    return x * x;
  }
  static variable_list backward(autograd::AutogradContext* ctx, variable_list g) {
    return {g[0] * 2 * ctx->get_saved_variables()[0].detach()};
  }
};

TEST(Gradcheck, SecondOrderFindsACutGraph) {
  Tensor x = leaf({2});
  auto fn = [](const Tensor& x) { return WrongSecond::apply(x); };
  EXPECT_TRUE(gradcheck(fn, {x}));
  EXPECT_FALSE(gradgradcheck(fn, {x}, {}, {.raise_exception = false}));
  expect_error([&] { gradgradcheck(fn, {x}); }, {"input 0"});
}

TEST(Gradcheck, FindsADependenceThatAutogradDoesNotSee) {
  Tensor x = leaf({2});
  expect_error([&] { gradcheck([](const Tensor& x) { return x.detach() * 2; }, {x}); },
               {"does not require a gradient"});
}

TEST(Gradcheck, WorksOnStridedInputs) {
  Tensor x = leaf({3, 2}).detach().t().requires_grad_();
  ASSERT_FALSE(x.is_contiguous());
  Tensor before = x.detach().clone();
  EXPECT_TRUE(gradcheck([](const Tensor& x) { return x * x; }, {x}));
  test::expect_near(x, before, 0);
}

TEST(Gradcheck, RefusesWhatCannotBeChecked) {
  auto fn = [](const Tensor& x) { return x * 2; };
  expect_error([&] { gradcheck(fn, {leaf({2}).detach()}); }, {"at least one input tensor"});
  expect_error([&] { gradcheck(fn, {leaf({1}).detach().expand({3}).requires_grad_()}); },
               {"expanded", "clone()"});
  expect_error([&] { gradcheck(fn, {leaf({1}), leaf({1})}); }, {"takes 1 tensors, but 2"});
  Tensor f = full({2}, 100.0, kFloat).requires_grad_();  // 100 + 1e-6 is 100
  expect_error([&] { gradcheck([](const Tensor& x) { return x * x * x; }, {f}); },
               {"float32", "float64"});
}

}  // namespace
}  // namespace tandem
