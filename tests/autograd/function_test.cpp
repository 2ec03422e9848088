#include "tandem/autograd/function.h"

#include "tandem/autograd/gradcheck.h"
#include "tandem/base/memory.h"
#include "tests/autograd/helpers.h"

namespace tandem::autograd {
namespace {

using test::expect_error;
using test::expect_near;
using test::leaf;
using test::values;

// x * a + b with a number and a list among the arguments.
struct Affine : Function<Affine> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, double a, const Tensor& b) {
    ctx->saved_data["a"] = a;
    return x * a + b;
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    return {grads[0] * ctx->saved_data["a"].toDouble(), Tensor(), grads[0]};
  }
};

struct Product : Function<Product> {
  static Tensor forward(AutogradContext* ctx, TensorList factors, bool keep_result) {
    Tensor y = factors[0] * factors[1];
    variable_list kept(factors.begin(), factors.end());
    if (keep_result) kept.push_back(y);
    ctx->save_for_backward(kept);
    return y;
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const variable_list saved = ctx->get_saved_variables();
    // The second gradient by way of the result: y / b = a.
    if (saved.size() == 3) return {grads[0] * saved[1], grads[0] * (saved[2] / saved[1]), Tensor()};
    return {grads[0] * saved[1], grads[0] * saved[0], Tensor()};
  }
};

TEST(Function, MixesTensorsAndOtherArguments) {
  Tensor x = leaf({2, 3}), b = leaf({3}, 2);
  EXPECT_TRUE(
      gradcheck([](const Tensor& x, const Tensor& b) { return Affine::apply(x, 2.5, b); }, {x, b}));
  EXPECT_TRUE(gradgradcheck(
      [](const Tensor& x, const Tensor& b) { return Affine::apply(x, 2.5, b); }, {x, b}));
  const Tensor y = Affine::apply(x, 2.5, b);
  EXPECT_EQ(y.grad_fn()->name(), "AffineBackward");
}

TEST(Function, TakesLists) {
  Tensor a = leaf({4}), b = leaf({4}, 2);
  for (bool keep_result : {false, true}) {
    auto fn = [&](const variable_list& f) { return Product::apply(f, keep_result); };
    EXPECT_TRUE(gradcheck(fn, {a, b}));
    EXPECT_TRUE(gradgradcheck(fn, {a, b}));
  }
}

TEST(Function, ASavedResultIsNoCycle) {
  const auto before = memory::stats();
  {
    Tensor a = leaf({4}), b = leaf({4}, 2);
    const variable_list f{a, b};
    Tensor y = Product::apply(f, true);
    Tensor dropped = Product::apply(f, true);  // never differentiated
    y.backward(ones_like(y));
  }
  EXPECT_EQ(memory::stats().objects, before.objects);
}

TEST(Function, SavedTensorsAreCheckedAndFreed) {
  Tensor a = leaf({4}).clone(), b = leaf({4}, 2).clone();
  Tensor y = Product::apply(variable_list{a, b}, false);
  a.add_(1);
  expect_error([&] { y.backward(ones_like(y)); },
               {"ProductBackward", "modified by an inplace operation", "add_", "version"});
  Tensor z = Product::apply(variable_list{a, b}, false);
  z.backward(ones_like(z), /*retain_graph=*/true);
  z.backward(ones_like(z));
  expect_error([&] { z.backward(ones_like(z)); },
               {"ProductBackward", "a second time", "retain_graph"});
}

struct Twice : Function<Twice> {
  static std::pair<Tensor, Tensor> forward(AutogradContext*, const Tensor& x) {
    return {x * 2, x * 3};
  }
  static variable_list backward(AutogradContext*, variable_list g) { return {g[0] * 2 + g[1] * 3}; }
};

TEST(Function, ReturnsWhatForwardReturns) {
  Tensor x = leaf({3});
  auto [a, b] = Twice::apply(x);
  (b * 1).backward(ones_like(b));  // nothing flows into a: zeros
  expect_near(x.grad(), {3, 3, 3});
  EXPECT_TRUE(gradgradcheck([](const Tensor& x) { return Twice::apply(x); }, {x}));
}

struct NoZeros : Function<NoZeros> {
  static variable_list forward(AutogradContext* ctx, const Tensor& x) {
    ctx->set_materialize_grads(false);
    return {x * 2, x * 3};
  }
  static variable_list backward(AutogradContext*, variable_list g) {
    EXPECT_FALSE(g[0].defined());
    EXPECT_TRUE(g[1].defined());
    return {g[1] * 3};
  }
};

TEST(Function, CanAskForUndefinedGradients) {
  Tensor x = leaf({3});
  NoZeros::apply(x)[1].backward(ones({3}, kDouble));
  expect_near(x.grad(), {3, 3, 3});
}

struct Sees : Function<Sees> {
  static bool called;
  static Tensor forward(AutogradContext*, const Tensor& x) { return x * 1; }
  static variable_list backward(AutogradContext*, variable_list g) {
    called = true;
    expect_near(g[0], {0, 0});
    return g;
  }
};
bool Sees::called = false;

TEST(Function, RunsWhereNothingFlowedBack) {
  Tensor x = leaf({2});
  UndefinedGrad().apply({Sees::apply(x)})[0].backward(ones({2}, kDouble));
  EXPECT_TRUE(Sees::called);
  expect_near(x.grad(), {0, 0});
}

struct Same : Function<Same> {
  static Tensor forward(AutogradContext*, const Tensor& x) { return x; }
  static variable_list backward(AutogradContext*, variable_list g) { return {g[0] * 2}; }
};

TEST(Function, AnInputReturnedAsItIsStillCounts) {
  Tensor x = leaf({2});
  Tensor y = Same::apply(x);
  EXPECT_EQ(y.data_ptr(), x.data_ptr());
  EXPECT_FALSE(y.is_same(x));
  EXPECT_TRUE(x.is_leaf());
  y.backward(ones_like(y));
  expect_near(x.grad(), {2, 2});
  // What a write through it should mean for x is not clear.
  Tensor z = Same::apply(x * 1);
  expect_error([&] { z.add_(1); }, {"inside a custom Function", "modified inplace"});
  NoGradGuard no_grad;
  EXPECT_FALSE(Same::apply(x).requires_grad());
}

struct AddTo : Function<AddTo> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, const Tensor& y) {
    x.add_(y);
    ctx->mark_dirty({x});
    return x;
  }
  static variable_list backward(AutogradContext*, variable_list g) { return {g[0], g[0]}; }
};

TEST(Function, WritesInPlace) {
  Tensor x = leaf({2, 3}), y = leaf({3}, 2);
  auto fn = [](const Tensor& x, const Tensor& y) {
    Tensor a = x * 1;
    const int64_t version = a._version();
    Tensor r = AddTo::apply(a, y.expand({2, 3}));
    EXPECT_TRUE(r.is_same(a));
    EXPECT_GT(a._version(), version);
    return a * a;
  };
  EXPECT_TRUE(gradcheck(fn, {x, y}));
  // Through a view: the base changes too.
  auto through_view = [](const Tensor& x, const Tensor& y) {
    Tensor a = x * 1;
    AddTo::apply(a[1], y);
    return a * a;
  };
  EXPECT_TRUE(gradcheck(through_view, {x, y}));
  EXPECT_TRUE(gradgradcheck(through_view, {x, y}));
  expect_error([&] { AddTo::apply(x, x.detach()); }, {"AddTo", "leaf Variable that requires grad"});
}

struct ForgetsDirty : Function<ForgetsDirty> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x) {
    ctx->mark_dirty({x});
    return x * 2;
  }
  static variable_list backward(AutogradContext*, variable_list g) { return g; }
};

TEST(Function, DirtyInputsMustBeReturned) {
  expect_error([&] { ForgetsDirty::apply(leaf({2}).clone()); },
               {"ForgetsDirty", "not returned as output"});
}

struct Split : Function<Split> {
  static variable_list forward(AutogradContext* ctx, const Tensor& x) {
    Tensor a = x * 2, b = x * 3;
    ctx->mark_non_differentiable({a});
    return {a, b, Tensor()};
  }
  static variable_list backward(AutogradContext*, variable_list g) {
    expect_near(g[0], {0, 0});
    EXPECT_FALSE(g[2].defined());
    return {g[1] * 3};
  }
};

TEST(Function, ResultsWithoutGradient) {
  Tensor x = leaf({2});
  const variable_list out = Split::apply(x);
  EXPECT_FALSE(out[0].requires_grad());
  EXPECT_TRUE(out[1].requires_grad());
  EXPECT_FALSE(out[2].defined());
  out[1].backward(ones({2}, kDouble));
  expect_near(x.grad(), {3, 3});
}

struct Needs : Function<Needs> {
  static std::vector<bool> seen;
  static Tensor forward(AutogradContext* ctx, const Tensor& a, int, const Tensor& b,
                        const Tensor& c) {
    EXPECT_TRUE(ctx->needs_input_grad(0));
    EXPECT_FALSE(ctx->needs_input_grad(2));
    return a + b + c;
  }
  static variable_list backward(AutogradContext* ctx, variable_list g) {
    seen = {ctx->needs_input_grad(0), ctx->needs_input_grad(1), ctx->needs_input_grad(2),
            ctx->needs_input_grad({IndexRange(0, 2)}),
            ctx->needs_input_grad({IndexRange(1, 2), IndexRange(2, 3)})};
    return {g[0], Tensor(), g[0]};  // one less than forward has arguments: it needs no gradient
  }
};
std::vector<bool> Needs::seen;

TEST(Function, KnowsWhatIsNeeded) {
  Tensor a = leaf({2}), b = leaf({2}, 2), c = leaf({2}, 3).detach();
  Tensor y = Needs::apply(a, 1, b, c);
  grad({y}, {a}, {ones_like(y)}, /*retain_graph=*/true);
  EXPECT_EQ(Needs::seen, (std::vector<bool>{true, false, false, true, false}));
  grad({y}, {b}, {ones_like(y)}, true);
  EXPECT_EQ(Needs::seen, (std::vector<bool>{false, true, false, true, true}));
  y.backward(ones_like(y));
  EXPECT_EQ(Needs::seen, (std::vector<bool>{true, true, false, true, true}));
}

struct Wrong : Function<Wrong> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, const Tensor& y, int how) {
    ctx->saved_data["how"] = how;
    return x + y;
  }
  static variable_list backward(AutogradContext* ctx, variable_list g) {
    switch (ctx->saved_data["how"].toInt()) {
      case 0:
        return {g[0]};
      case 1:
        return {g[0], g[0], g[0]};
      case 2:
        return {zeros({7}, kDouble), g[0], Tensor()};
      case 3:
        return {g[0], g[0], Tensor(), Tensor()};
      default:
        return {g[0], g[0], Tensor(), g[0]};
    }
  }
};

TEST(Function, WrongGradientsAreNamed) {
  Tensor x = leaf({2}), y = leaf({2}, 2);
  auto run = [&](int how) { Wrong::apply(x, y, how).backward(ones({2}, kDouble)); };
  expect_error([&] { run(0); },
               {"WrongBackward", "incorrect number of gradients (expected 3, got 1)"});
  expect_error([&] { run(1); }, {"WrongBackward", "position 2", "not a Variable"});
  expect_error([&] { run(2); }, {"WrongBackward", "[7]", "expected shape", "[2]"});
  EXPECT_NO_THROW(run(3));
  expect_error([&] { run(4); }, {"incorrect number of gradients (expected 3, got 4)"});
}

struct Cube : Function<Cube> {  // saves nothing but numbers and a tensor by name
  static Tensor forward(AutogradContext* ctx, const Tensor& x) {
    ctx->save_for_backward({x, Tensor()});
    ctx->saved_data["n"] = 3;
    ctx->saved_data["name"] = "cube";
    ctx->saved_data["sizes"] = x.sizes();
    return x * x * x;
  }
  static variable_list backward(AutogradContext* ctx, variable_list g) {
    EXPECT_EQ(ctx->saved_data["name"].toStringRef(), "cube");
    EXPECT_EQ(ctx->saved_data["sizes"].toIntVector(), std::vector<int64_t>{3});
    expect_error([&] { ctx->saved_data["n"].toDouble(); }, {"Expected Double but got Int"});
    const Tensor x = ctx->get_saved_variables()[0];
    EXPECT_FALSE(ctx->get_saved_variables()[1].defined());
    return {g[0] * x * x * ctx->saved_data["n"].toInt()};
  }
};

TEST(Function, CanBeDifferentiatedAgain) {
  Tensor x = values({3}, {1, 2, 3}).requires_grad_();
  EXPECT_TRUE(gradgradcheck([](const Tensor& x) { return Cube::apply(x); }, {x}));
  Tensor g = grad({Cube::apply(x)}, {x}, {ones_like(x)}, std::nullopt, true)[0];
  Tensor gg = grad({g}, {x}, {ones_like(x)}, std::nullopt, true)[0];
  expect_near(gg, {6, 12, 18});
  expect_near(grad({gg}, {x}, {ones_like(x)})[0], {6, 6, 6});
}

// Backward of level n calls backward of level n - 1.
struct Deep : Function<Deep> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, int64_t level) {
    ctx->saved_data["level"] = level;
    return x * 1;
  }
  static variable_list backward(AutogradContext* ctx, variable_list g) {
    const int64_t level = ctx->saved_data["level"].toInt();
    if (level > 0) {
      AutoGradMode with_grad(true);
      Tensor x = ones({}, kDouble).requires_grad_();
      Deep::apply(x, level - 1).backward();
      return {g[0] + x.grad(), Tensor()};
    }
    return {g[0], Tensor()};
  }
};

TEST(Function, BackwardInBackwardToAnyDepth) {
  Tensor x = ones({}, kDouble).requires_grad_();
  Deep::apply(x, 10000).backward();
  expect_near(x.grad(), {10001});
}

struct Throws : Function<Throws> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, int64_t level) {
    ctx->saved_data["level"] = level;
    return x * 1;
  }
  static variable_list backward(AutogradContext* ctx, variable_list g) {
    const int64_t level = ctx->saved_data["level"].toInt();
    TANDEM_CHECK(level > 0, "the bottom is reached");
    AutoGradMode with_grad(true);
    Throws::apply(leaf({}), level - 1).backward();
    return {g[0], Tensor()};
  }
};

TEST(Function, ErrorsComeUpFromAnyDepth) {
  expect_error([] { Throws::apply(leaf({}), 500).backward(); }, {"the bottom is reached"});
}

TEST(Function, IsNotRecordedWithoutGradMode) {
  Tensor x = leaf({2});
  {
    NoGradGuard no_grad;
    EXPECT_FALSE(Cube::apply(x).requires_grad());
  }
  {
    InferenceMode inference;
    EXPECT_FALSE(Affine::apply(x, 2.0, x).requires_grad());
  }
  EXPECT_FALSE(Cube::apply(x.detach()).requires_grad());
}

}  // namespace
}  // namespace tandem::autograd
