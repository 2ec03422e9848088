#include "tandem/autograd/gradcheck.h"
#include "tests/autograd/helpers.h"

namespace tandem::autograd {
namespace {

using test::expect_error;
using test::expect_near;
using test::leaf;
using test::values;
using test::Warnings;

TEST(Backward, AddsToTheLeaves) {
  Tensor x = values({2}, {1, 2}).requires_grad_(), y = values({2}, {3, 4}).requires_grad_();
  Tensor z = x * y + x;
  EXPECT_FALSE(x.grad().defined());
  z.backward(values({2}, {1, 10}), /*retain_graph=*/true);
  expect_near(x.grad(), {4, 50});
  expect_near(y.grad(), {1, 20});
  z.backward(values({2}, {1, 10}));
  expect_near(x.grad(), {8, 100});
  EXPECT_FALSE(x.grad().requires_grad());
  x.mutable_grad().reset();
  EXPECT_FALSE(x.grad().defined());
}

TEST(Backward, SumsWhatWasBroadcast) {
  Tensor x = leaf({2, 1, 3}), y = leaf({4, 1}, 2), z = leaf({}, 3);
  EXPECT_TRUE(gradcheck([](const Tensor& x, const Tensor& y, const Tensor& z) { return x * y + z; },
                        {x, y, z}));
}

TEST(Backward, CastsToTheLeafsDtype) {
  Tensor x = ones({2}, kFloat).requires_grad_();
  (x * ones({2}, kDouble)).backward(ones({2}, kDouble));
  EXPECT_EQ(x.grad().dtype(), kFloat);
}

TEST(Backward, AValueUsedTwiceGetsBothGradients) {
  Tensor x = values({}, {3}).requires_grad_();
  Tensor y = x * x;
  (y * y + y * x + y).backward();
  expect_near(x.grad(), {4 * 27 + 3 * 9 + 2 * 3});
}

TEST(Backward, GradientsDoNotShareMemory) {
  Tensor x = leaf({2}), y = leaf({2}, 2);
  Tensor g = ones({2}, kDouble);
  for (bool create_graph : {false, true}) {
    x.mutable_grad().reset(), y.mutable_grad().reset();
    (x + y).backward(g, true, create_graph);
    NoGradGuard no_grad;
    x.grad().zero_();
    expect_near(y.grad(), {1, 1});
    expect_near(g, {1, 1});
  }
}

TEST(Backward, SaysWhatIsMissing) {
  Tensor x = leaf({2});
  expect_error([&] { x.detach().backward(); },
               {"element 0 of tensors does not require grad and does not have a grad_fn"});
  expect_error([&] { (x * 2).backward(); },
               {"grad can be implicitly created only for scalar outputs", "[2]"});
  expect_error([&] { (x * 2).backward(ones({3})); }, {"Mismatch in shape", "[3]", "[2]"});
  expect_error([&] { backward({x * 2}, {ones({2}), ones({2})}); }, {"1 tensors and 2 gradients"});
  expect_error([&] { grad({x * 2}, {}, {x}); }, {"grad requires non-empty inputs."});
  expect_error([&] { grad({x * 2}, {x.detach()}, {x}); },
               {"One of the differentiated Tensors does not require grad"});
  expect_error([&] { grad({x * 2}, {leaf({2})}, {x}); },
               {"not have been used", "Set allow_unused=True"});
  expect_error([&] { (x * 2).backward(x, false, false, std::vector<Tensor>{}); },
               {"cannot be empty"});
}

TEST(Backward, TwiceThroughAFreedRecord) {
  Tensor x = leaf({});
  Tensor y = x * x;
  y.backward();
  expect_error([&] { y.backward(); }, {"mul", "a second time", "retain_graph=true"});
  // What had nothing to save has nothing to miss.
  Tensor z = x + x;
  z.backward();
  EXPECT_NO_THROW(z.backward());
}

TEST(Backward, AnOverwrittenSavedTensorNamesBothOps) {
  Tensor x = leaf({2});
  Tensor a = x * 1;
  Tensor y = a / 2 * a;
  a.sub_(1);
  expect_error([&] { y.backward(ones_like(y)); },
               {"backward of mul", "modified by an inplace operation", "mul saved its input 1",
                "float64 [2]", "sub_ has overwritten it", "clone()"});
  Tensor b = x * 1;
  Tensor z = b * b;
  b[0].zero_();
  expect_error([&] { z.backward(ones_like(z)); }, {"mul saved", "fill_ has overwritten"});
  // Writes that autograd cannot see through data() are the user's own business.
  Tensor c = x * 1;
  Tensor w = c * c;
  c.data().mul_(2);
  EXPECT_NO_THROW(w.backward(ones_like(w)));
}

TEST(Grad, LeavesGradAlone) {
  Tensor x = leaf({2}), y = leaf({2}, 2);
  const variable_list g = grad({x * y}, {x, y}, {ones({2}, kDouble)});
  expect_near(g[0], y);
  expect_near(g[1], x);
  EXPECT_FALSE(x.grad().defined());
}

TEST(Grad, StopsAtInnerValues) {
  Tensor x = leaf({2});
  Tensor h = x * x;
  Tensor y = h * h * h;
  const variable_list g = grad({y}, {h, x, y}, {ones({2}, kDouble)});
  expect_near(g[0], (3 * h * h).detach());
  expect_near(g[1], (6 * x * h * h).detach());
  expect_near(g[2], {1, 1});
}

TEST(Grad, UnusedInputsGiveUndefined) {
  Tensor x = leaf({2}), y = leaf({2}, 2);
  const variable_list g =
      grad({x * 2}, {x, y}, {ones({2})}, std::nullopt, false, /*allow_unused=*/true);
  EXPECT_TRUE(g[0].defined());
  EXPECT_FALSE(g[1].defined());
}

TEST(Grad, SeveralOutputsAddUp) {
  Tensor x = values({}, {2}).requires_grad_();
  expect_near(grad({x * x, x * 3}, {x})[0], {7});
}

TEST(Grad, HigherOrders) {
  Tensor x = values({}, {2}).requires_grad_();
  Tensor y = x * x * x * x;
  for (double expected : {32., 48., 48., 24.}) {
    y = grad({y}, {x}, {}, std::nullopt, /*create_graph=*/true)[0];
    expect_near(y, {expected});
  }
}

TEST(Backward, InputsLimitWhoGetsAGradient) {
  Tensor x = leaf({2}), y = leaf({2}, 2);
  Tensor h = x * x;
  Tensor z = h * y + x * y;
  z.backward(ones_like(z), true, false, {x});
  expect_near(x.grad(), (2 * x * y + y).detach());
  EXPECT_FALSE(y.grad().defined());
  z.backward(ones_like(z), true, false, std::vector<Tensor>{x, h});
  expect_near(x.grad(), (2 * (2 * x * y + y)).detach());
  expect_near(h.grad(), y);
  z.backward(ones_like(z), false, false, std::vector<Tensor>{h});
  expect_near(h.grad(), (2 * y).detach());
  EXPECT_FALSE(y.grad().defined());
}

TEST(Backward, CreateGraphWarnsAndCanBeDifferentiated) {
  Warning::WarnAlways always;
  Warnings warnings;
  Tensor x = values({}, {3}).requires_grad_();
  (x * x * x).backward({}, std::nullopt, /*create_graph=*/true);
  EXPECT_TRUE(warnings.contain("Using backward() with create_graph=True"));
  expect_near(grad({x.grad()}, {x})[0], {18});
  x.mutable_grad().reset();  // the gradient's history leads back to x: what the warning is about
}

// -- retain_grad and hooks --------------------------------------------------------------------

TEST(RetainGrad, KeepsTheGradientOfAResult) {
  Tensor x = leaf({2});
  Tensor h = x * 3;
  Tensor y = h * h;
  {
    Warnings warnings;
    EXPECT_FALSE(h.grad().defined());
    EXPECT_TRUE(warnings.contain("is not a leaf"));
  }
  h.retain_grad();
  h.retain_grad();
  EXPECT_TRUE(h.retains_grad());
  EXPECT_FALSE(y.retains_grad());
  Warnings warnings;
  EXPECT_FALSE(h.grad().defined());
  y.backward(ones_like(y), true);
  expect_near(h.grad(), (2 * h).detach());
  y.backward(ones_like(y));
  expect_near(h.grad(), (4 * h).detach());
  EXPECT_TRUE(warnings.messages.empty());
  x.retain_grad();  // a leaf keeps its gradient anyway
  EXPECT_FALSE(x.retains_grad());
  expect_error([&] { x.detach().retain_grad(); }, {"requires_grad=False"});
}

TEST(RetainGrad, GoesWithTheTensorThroughWrites) {
  Tensor x = leaf({2, 2});
  Tensor h = x * 1;
  h.retain_grad();
  h.mul_(2);
  EXPECT_TRUE(h.retains_grad());
  h[0].mul_(3);  // through a view
  EXPECT_TRUE(h.retains_grad());
  (h * 5).backward(ones_like(h));
  expect_near(h.grad(), {5, 5, 5, 5});
  expect_near(x.grad(), {30, 30, 10, 10});
}

TEST(Hooks, SeeAndChangeGradients) {
  Tensor x = leaf({2});
  Tensor h = x * 3;
  std::vector<int> order;
  h.register_hook([&](const Tensor& g) {
    order.push_back(1);
    expect_near(g, {1, 1});
    return g * 10;
  });
  const unsigned second = h.register_hook([&](const Tensor& g) {
    order.push_back(2);
    expect_near(g, {10, 10});
  });
  x.register_hook([&](Tensor g) {
    order.push_back(3);
    expect_near(g, {30, 30});
    return g + 1;
  });
  h.backward(ones_like(h), true);
  expect_near(x.grad(), {31, 31});
  h.remove_hook(second);
  h.backward(ones_like(h));
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3, 1, 3}));
  expect_error([&] { h.remove_hook(second); }, {"Invalid index", "1"});
  expect_error([&] { x.detach().register_hook([](Tensor) {}); }, {"doesn't require gradient"});
}

TEST(Hooks, BelongToTheValueBeforeAWrite) {
  Tensor a = leaf({2}) * 1;
  int before = 0, after = 0;
  a.register_hook([&](const Tensor& g) {
    ++before;
    expect_near(g, {2, 2});
  });
  a.mul_(2);
  a.register_hook([&](const Tensor& g) {
    ++after;
    expect_near(g, {1, 1});
  });
  (a + 1).backward(ones_like(a));
  EXPECT_EQ(before, 1);
  EXPECT_EQ(after, 1);
}

TEST(Hooks, MayNotChangeTheShape) {
  Tensor x = leaf({2});
  Tensor h = x * 3;
  h.register_hook([](const Tensor&) { return ones({3}, kDouble); });
  expect_error([&] { h.backward(ones_like(h)); }, {"hook has changed the size", "[2]", "[3]"});
}

TEST(Hooks, CanRemoveThemselves) {
  Tensor x = leaf({2});
  int calls = 0;
  unsigned number = 0;
  number = x.register_hook([&](const Tensor&) {
    ++calls;
    x.remove_hook(number);
  });
  (x * 2).backward(ones_like(x));
  (x * 2).backward(ones_like(x));
  EXPECT_EQ(calls, 1);
}

// -- leaves -----------------------------------------------------------------------------------

TEST(Leaf, FlagsAndErrors) {
  Tensor x = leaf({2});
  EXPECT_TRUE(x.is_leaf());
  EXPECT_EQ(x.grad_fn(), nullptr);
  Tensor y = x * 2;
  EXPECT_FALSE(y.is_leaf());
  EXPECT_EQ(y.grad_fn()->name(), "MulBackward");
  ASSERT_EQ(y.grad_fn()->next_edges().size(), 2u);
  EXPECT_EQ(y.grad_fn()->next_edges()[0].function->name(), "AccumulateGrad");
  EXPECT_EQ(str(y.grad_fn()), str(static_cast<const void*>(y.grad_fn().get())));
  expect_error([&] { y.requires_grad_(false); }, {"leaf variables", "detach()"});
  EXPECT_FALSE(Tensor().requires_grad());
  EXPECT_EQ(Tensor().numel(), 0);
  EXPECT_NO_THROW(y.requires_grad_(true));
  expect_error([&] { ones({2}, kLong).requires_grad_(); }, {"floating point", "int64"});
  EXPECT_FALSE(y.detach().requires_grad());
  EXPECT_EQ(y.detach().data_ptr(), y.data_ptr());
  y.detach_();
  EXPECT_TRUE(y.is_leaf());
  EXPECT_FALSE(y.requires_grad());
  x.requires_grad_(false);
  EXPECT_FALSE((x * 2).requires_grad());
}

TEST(Leaf, MayNotBeWrittenWhileRecorded) {
  Tensor x = leaf({2, 2});
  expect_error([&] { x.add_(1); }, {"add_", "a leaf Variable that requires grad", "NoGradGuard"});
  expect_error([&] { x[0].add_(1); }, {"add_", "a view of a leaf Variable that requires grad"});
  NoGradGuard no_grad;
  x.add_(1);
  x[0].add_(1);
  EXPECT_TRUE(x.requires_grad());
}

TEST(Leaf, SetDataKeepsTheGradient) {
  Tensor x = leaf({2});
  (x * 2).backward(ones_like(x));
  x.set_data(values({2}, {7, 8}));
  EXPECT_TRUE(x.requires_grad());
  expect_near(x.grad(), {2, 2});
  (x * x).backward(ones_like(x));
  expect_near(x.grad(), {2 + 14, 2 + 16});
}

TEST(MakeVariable, SharesValuesButNoHistory) {
  Tensor x = leaf({2});
  Tensor y = make_variable((x * 2).tensor_data(), true);
  EXPECT_TRUE(y.is_leaf());
  EXPECT_TRUE(y.requires_grad());
}

}  // namespace
}  // namespace tandem::autograd
