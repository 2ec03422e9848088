#include "tests/autograd/helpers.h"

namespace tandem {
namespace {

using test::expect_error;
using test::expect_near;
using test::leaf;

TEST(GradMode, Nests) {
  EXPECT_TRUE(GradMode::is_enabled());
  {
    NoGradGuard no_grad;
    EXPECT_FALSE(GradMode::is_enabled());
    {
      AutoGradMode on(true);
      EXPECT_TRUE(GradMode::is_enabled());
    }
    EXPECT_FALSE(GradMode::is_enabled());
  }
  EXPECT_TRUE(GradMode::is_enabled());
}

TEST(NoGrad, ResultsHaveNoHistory) {
  Tensor x = leaf({2});
  NoGradGuard no_grad;
  Tensor y = x * x;
  EXPECT_FALSE(y.requires_grad());
  EXPECT_TRUE(y.is_leaf());
  x.mul_(2);
  EXPECT_TRUE(x.requires_grad());
}

TEST(NoGrad, AViewRequiresAGradientButIsALeaf) {
  for (bool requires_grad : {true, false}) {
    Tensor a = leaf({2, 3}).requires_grad_(requires_grad).clone();
    Tensor v;
    {
      NoGradGuard no_grad;
      v = a.view({6});
    }
    EXPECT_EQ(v.requires_grad(), requires_grad);
    EXPECT_TRUE(v.is_leaf());
    EXPECT_EQ(v.grad_fn(), nullptr);
    Tensor y = v * v;
    EXPECT_EQ(y.requires_grad(), requires_grad);
    Tensor w = v.view({3, 2});  // a view of it keeps the mark
    if (requires_grad) {
      y.backward(ones_like(y));
      EXPECT_FALSE(v.grad().defined());
      expect_error([&] { v.mul_(2); },
                   {"A view was created in no_grad mode and is being modified inplace"});
      expect_error([&] { w.mul_(2); },
                   {"A view was created in no_grad mode and is being modified inplace"});
      expect_error([&] { v.backward(ones_like(v)); }, {"does not require grad"});
      a.mul_(2);
      expect_error([&] { v* v; }, {"in no_grad mode and its base or another view of its base"});
    } else {
      EXPECT_NO_THROW(v.mul_(2));
      EXPECT_NO_THROW(w.mul_(2));
    }
  }
}

TEST(NoGrad, WritingAParameterThroughAViewIsFine) {
  Tensor x = leaf({2, 2});
  Tensor y = x * 3;
  {
    NoGradGuard no_grad;
    x.view({4}).mul_(0.5);
    x[1].add_(1);
  }
  y.backward(ones_like(y));
  expect_near(x.grad(), {3, 3, 3, 3});
}

TEST(Inference, TensorsMadeInside) {
  Tensor t, u;
  {
    InferenceMode guard;
    EXPECT_TRUE(InferenceMode::is_enabled());
    EXPECT_FALSE(GradMode::is_enabled());
    t = ones({2, 3});
    u = ones({2, 3}).requires_grad_();
    EXPECT_TRUE(t.is_inference());
    EXPECT_TRUE(u.requires_grad());
    EXPECT_FALSE((u * u).requires_grad());
    EXPECT_FALSE(u.view({6}).is_view());
    EXPECT_TRUE(u.view({6}).is_inference());
    EXPECT_FALSE(u.view({6}).requires_grad());
    t.add_(1);
    {
      InferenceMode off(false);
      EXPECT_FALSE(ones({2}).is_inference());
      EXPECT_TRUE(GradMode::is_enabled());
    }
    AutoGradMode on(true);  // inference mode is stronger
    EXPECT_FALSE((u * 2).requires_grad());
  }
  expect_error([&] { t.add_(1); },
               {"Inplace update to inference tensor outside InferenceMode", "clone()"});
  expect_error([&] { t.requires_grad_(); }, {"Setting requires_grad=True on inference tensor"});
  expect_error([&] { t._version(); }, {"do not track version counter"});
  expect_error([&] { t.unsafeGetTensorImpl()->bump_version(); }, {"outside InferenceMode"});
  EXPECT_NO_THROW(t.requires_grad_(false));
  EXPECT_FALSE((u * u).requires_grad());  // only inference tensors: not recorded
  EXPECT_FALSE((u * u).is_inference());
  Tensor v = t.view({6});
  EXPECT_TRUE(v.is_inference());
  EXPECT_FALSE(v.is_view());
  EXPECT_FALSE(t.clone().is_inference());
}

TEST(Inference, MixedWithNormalTensors) {
  Tensor s = leaf({2}), u;
  {
    InferenceMode guard;
    u = ones({2}, kDouble).requires_grad_();
  }
  Tensor y = s + u;
  EXPECT_TRUE(y.requires_grad());
  y.backward(ones_like(y));
  expect_near(u.grad(), {1, 1});
  expect_error([&] { s* u; }, {"mul: Inference tensors cannot be saved for backward."});
  Tensor a = s * 1;
  expect_error([&] { a.mul_(u); }, {"Inference tensors cannot be saved for backward."});
  expect_near(a, s);  // nothing was written
}

TEST(Inference, ViewsOfNormalTensorsAreNormal) {
  for (bool requires_grad : {true, false}) {
    Tensor a = leaf({2, 3}).requires_grad_(requires_grad).clone();
    Tensor v;
    {
      InferenceMode guard;
      v = a.view({6});
      EXPECT_FALSE(v.is_inference());
      EXPECT_TRUE(v.is_view());
      EXPECT_EQ(v.requires_grad(), requires_grad);
      EXPECT_TRUE(v.is_leaf());
      const int64_t before = a._version();
      v.mul_(2);
      EXPECT_GT(a._version(), before);
      EXPECT_EQ(a._version(), v._version());
    }
    {
      NoGradGuard no_grad;
      v = v.view({3, 2});
    }
    EXPECT_EQ(v.unsafeGetTensorImpl()->autograd_meta()->get_creation_meta(),
              CreationMeta::INFERENCE_MODE);
    if (requires_grad)
      expect_error([&] { v.mul_(2); }, {"created in inference mode and is being modified inplace"});
    else
      EXPECT_NO_THROW(v.mul_(2));
    a.mul_(1);
    if (requires_grad)
      expect_error([&] { v.grad_fn(); },
                   {"created in inference mode and its base or another view"});
    else
      EXPECT_EQ(v.grad_fn(), nullptr);
  }
}

TEST(Inference, WritesInsideAreSeenOutside) {
  Tensor a = leaf({2}) * 1;
  Tensor y = a * a;
  {
    InferenceMode guard;
    a.mul_(1);
    EXPECT_FALSE(a.is_inference());
    EXPECT_TRUE(a.requires_grad());
  }
  expect_error([&] { y.backward(ones_like(y)); }, {"modified by an inplace operation", "mul_"});
}

}  // namespace
}  // namespace tandem
