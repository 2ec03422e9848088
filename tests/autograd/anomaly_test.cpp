#include "tests/autograd/helpers.h"

namespace tandem {
namespace {

using autograd::grad;
using test::expect_error;
using test::leaf;
using test::values;
using test::Warnings;

TEST(Anomaly, NamesTheForwardOp) {
  Tensor x = values({2}, {0, 1}).requires_grad_();
  DetectAnomalyGuard guard;
  Warnings warnings;
  Tensor y = x * 2 / (x * 3);  // 0 / 0
  expect_error([&] { y.backward(ones_like(y)); },
               {"DivBackward", "returned nan values", "div(float64 [2], float64 [2])"});
  ASSERT_EQ(warnings.messages.size(), 1u);
  EXPECT_TRUE(warnings.contain("Error detected in DivBackward"));
  EXPECT_TRUE(warnings.contain("Traceback of forward call that caused the error"));
}

TEST(Anomaly, NamesWhatInducedASecondDerivative) {
  DetectAnomalyGuard guard;
  Tensor x = values({1}, {0}).requires_grad_();
  Tensor one = values({1}, {1}).requires_grad_();
  Tensor g = grad({one / x}, {x}, {ones_like(x)}, true, true)[0];  // -1 / x^2
  Warnings warnings;
  expect_error([&] { grad({g}, {x}, {zeros_like(x)}); }, {"returned nan"});
  ASSERT_EQ(warnings.messages.size(), 2u);
  EXPECT_NE(
      warnings.messages[1].find("induced the previous calculation: div(float64 [1], float64 [1])"),
      std::string::npos)
      << warnings.messages[1];
}

TEST(Anomaly, NamesTheOpWhoseSavedTensorWasOverwritten) {
  DetectAnomalyGuard guard;
  Warnings warnings;
  Tensor x = leaf({2});
  Tensor a = x * 1;
  Tensor y = a * a;
  a.add_(1);
  expect_error([&] { y.backward(ones_like(y)); }, {"inplace"});
  EXPECT_TRUE(warnings.contain("mul(float64 [2], float64 [2])"));
}

TEST(Anomaly, CanLeaveNaNsAlone) {
  Tensor x = values({1}, {0}).requires_grad_();
  DetectAnomalyGuard outer(/*check_nan=*/false);
  EXPECT_NO_THROW((x / x).backward());
  {
    DetectAnomalyGuard inner;
    Warnings warnings;
    expect_error([&] { (x / x).backward(); }, {"returned nan"});
  }
  EXPECT_NO_THROW((x / x).backward());
  EXPECT_FALSE(autograd::AnomalyMode::should_check_nan());
}

TEST(Anomaly, IsOffByDefault) {
  Tensor x = values({1}, {0}).requires_grad_();
  EXPECT_FALSE(autograd::AnomalyMode::is_enabled());
  EXPECT_NO_THROW((x / x).backward());
}

TEST(Anomaly, HelpsWithoutForwardInformation) {
  Tensor x = values({1}, {0}).requires_grad_();
  Tensor y = x / x;
  DetectAnomalyGuard guard;
  Warnings warnings;
  expect_error([&] { y.backward(); }, {"DivBackward", "The forward op was div"});
  EXPECT_TRUE(warnings.contain("No forward pass information available"));
}

}  // namespace
}  // namespace tandem
