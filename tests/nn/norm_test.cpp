#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "tandem/autograd/autograd.h"
#include "tandem/compile/compile.h"
#include "tandem/core/apply.h"
#include "tandem/nn/nn.h"
#include "tandem/ops/norm_op.h"
#include "tandem/ops/ops.h"
#include "tests/helpers.h"
#include "tests/nn/norm_tables.h"

namespace tandem {
namespace {

namespace F = nn::functional;
using namespace norm_tables;
using test::error_of;

template <class M>
void set_norm(M& m) {
  const NoGradGuard no_grad;
  m->weight.copy_(norm_wave(m->weight.sizes().vec(), 1));
  m->bias.copy_(norm_wave(m->bias.sizes().vec(), 2));
}

TEST(BatchNorm, LibTorchsValues) {
  nn::BatchNorm1d bn(3);
  set_norm(bn);
  const Tensor x = wave_with_grad({2, 3, 4}, 0);
  const Tensor y = bn(x);
  run_backward(y);
  expect_table(y, kBatchY, "y");
  expect_table(x.grad(), kBatchGradX, "x");
  expect_table(bn->weight.grad(), kBatchGradW, "weight");
  expect_table(bn->bias.grad(), kBatchGradB, "bias");
  expect_table(bn->running_mean, kBatchRunningMean, "running_mean");
  expect_table(bn->running_var, kBatchRunningVar, "running_var");
  EXPECT_EQ(bn->num_batches_tracked.item<int64_t>(), 1);
  bn->eval();
  expect_table(bn(x), kBatchEval, "eval");
  EXPECT_EQ(bn->num_batches_tracked.item<int64_t>(), 1);
}

TEST(BatchNorm, CumulativeAverage) {
  nn::BatchNorm2d bn(nn::BatchNorm2dOptions(2).momentum(std::nullopt));
  bn(norm_wave({2, 2, 2, 2}, 0));
  bn(norm_wave({2, 2, 2, 2}, 5));
  bn(norm_wave({1, 2, 3, 2}, 1));
  expect_table(bn->running_mean, kCumulativeMean, "running_mean");
  expect_table(bn->running_var, kCumulativeVar, "running_var");
}

TEST(BatchNorm, KeepsDigitsWhereTheMeanIsLarge) {
  // Deviations of +-0.5 from 10000: squares of the values themselves would have lost all of them.
  const Tensor x = norm_wave({8, 2, 500}, 0) * 0.3 + 10000;
  const Tensor exact = batch_norm(x.to(kDouble), {}, {}, {}, {}, true, 0.1, 1e-5);
  const Tensor y = batch_norm(x, {}, {}, {}, {}, true, 0.1, 1e-5);
  EXPECT_LT((y.to(kDouble) - exact).abs().max().item<double>(), 2e-3);
}

TEST(BatchNorm, BlockedChannelsGiveTheSame) {
  // [N, C / 8, H, W, 8], as compiled programs lay out what convolutions read and write.
  const Tensor x = norm_wave({2, 16, 3, 5}, 0);
  const Tensor w = norm_wave({16}, 1), b = norm_wave({16}, 2);
  const Tensor expected = batch_norm(x, w, b, {}, {}, true, 0.1, 1e-5);
  const Tensor blocked = x.reshape({2, 2, 8, 3, 5}).permute({0, 1, 3, 4, 2}).contiguous();
  const auto [mean, rstd, var] = apply_n<3>(kChannelMoments, {blocked}, MomentsAttrs{1e-5, true});
  const Tensor y = apply(kBatchNormalize, {blocked, mean, rstd, w, b}, NormalizeAttrs{true, true});
  EXPECT_TRUE(allclose(y.permute({0, 1, 4, 2, 3}).reshape({2, 16, 3, 5}), expected, 1e-5, 1e-6));
}

TEST(LayerNorm, LibTorchsValues) {
  nn::LayerNorm ln(nn::LayerNormOptions({5}));
  set_norm(ln);
  const Tensor x = wave_with_grad({2, 5}, 0);
  const Tensor y = ln(x);
  run_backward(y);
  expect_table(y, kLayerY, "y");
  expect_table(x.grad(), kLayerGradX, "x");
  expect_table(ln->weight.grad(), kLayerGradW, "weight");
  expect_table(ln->bias.grad(), kLayerGradB, "bias");
}

TEST(GroupNorm, LibTorchsValues) {
  nn::GroupNorm gn(2, 4);
  set_norm(gn);
  const Tensor x = wave_with_grad({2, 4, 3}, 0);
  const Tensor y = gn(x);
  run_backward(y);
  expect_table(y, kGroupY, "y");
  expect_table(x.grad(), kGroupGradX, "x");
  expect_table(gn->weight.grad(), kGroupGradW, "weight");
  expect_table(gn->bias.grad(), kGroupGradB, "bias");
}

TEST(InstanceNorm, LibTorchsValues) {
  nn::InstanceNorm1d in(nn::InstanceNorm1dOptions(2).affine(true).track_running_stats(true));
  set_norm(in);
  const Tensor x = wave_with_grad({2, 2, 4}, 0);
  const Tensor y = in(x);
  run_backward(y);
  expect_table(y, kInstanceY, "y");
  expect_table(x.grad(), kInstanceGradX, "x");
  expect_table(in->weight.grad(), kInstanceGradW, "weight");
  expect_table(in->running_mean, kInstanceMean, "running_mean");
  expect_table(in->running_var, kInstanceVar, "running_var");
  in->eval();
  expect_table(in(x), kInstanceEval, "eval");
  // A single sample.
  EXPECT_TRUE(equal(in(x[0]), in(x.narrow(0, 0, 1))[0]));
}

TEST(LocalResponseNorm, LibTorchsValues) {
  const Tensor x = wave_with_grad({1, 5, 2, 1}, 0);
  const Tensor y =
      F::local_response_norm(x, F::LocalResponseNormFuncOptions(4).alpha(0.5).beta(0.8).k(2));
  run_backward(y);
  expect_table(y, kLocalY, "y");
  expect_table(x.grad(), kLocalGradX, "x");
  // Over an odd number of channels both are the same.
  EXPECT_TRUE(allclose(
      F::cross_map_lrn2d(x, F::CrossMapLRN2dFuncOptions(3).alpha(0.5).beta(0.8).k(2)),
      F::local_response_norm(x, F::LocalResponseNormFuncOptions(3).alpha(0.5).beta(0.8).k(2))));
}

TEST(Norms, MistakesNameTheLayerAndBothShapes) {
  const auto expect = [](const std::string& message, std::vector<std::string> parts) {
    for (const auto& p : parts) EXPECT_NE(message.find(p), std::string::npos) << message;
  };
  nn::BatchNorm2d bn(4);
  expect(error_of([&] { bn(zeros({2, 3, 5, 5})); }), {"BatchNorm2d", "4", "[2, 3, 5, 5]"});
  expect(error_of([&] { bn(zeros({2, 4, 5})); }), {"expected 4D input", "3D"});
  nn::LayerNorm ln(nn::LayerNormOptions({4}));
  expect(error_of([&] { ln(zeros({2, 5})); }), {"LayerNorm", "[4]", "[2, 5]"});
  nn::GroupNorm gn(2, 4);
  expect(error_of([&] { gn(zeros({2, 6, 3})); }), {"GroupNorm", "weight", "6"});
  expect(error_of([] { nn::GroupNorm(3, 4); }), {"GroupNorm", "3", "4"});
  nn::Linear fc(3, 2);
  expect(error_of([&] { fc(zeros({2, 4})); }), {"Linear(in_features=3", "[2, 4]"});
  EXPECT_THROW(F::batch_norm(zeros({1, 3}), {}, {}, F::BatchNormFuncOptions().training(true)),
               ShapeError);
  EXPECT_THROW(batch_norm(zeros({2, 3}), {}, {}, {}, {}, false, 0.1, 1e-5), Error);
  EXPECT_THROW(batch_norm(zeros({2, 3}, kLong), {}, {}, {}, {}, true, 0.1, 1e-5), TypeError);
}

TEST(Norms, Print) {
  std::ostringstream s;
  s << nn::BatchNorm2d(nn::BatchNormOptions(4).eps(0.5).affine(false)) << ' '
    << nn::LayerNorm(std::vector<int64_t>{2, 2}) << ' ' << nn::GroupNorm(2, 2) << ' '
    << nn::LocalResponseNorm(2);
  EXPECT_EQ(s.str(),
            "tandem::nn::BatchNorm2d(4, eps=0.5, momentum=0.1, affine=false, "
            "track_running_stats=true) tandem::nn::LayerNorm([2, 2], eps=1e-05, "
            "elementwise_affine=true) tandem::nn::GroupNorm(2, 2, eps=1e-05, affine=true) "
            "tandem::nn::LocalResponseNorm(2, alpha=0.0001, beta=0.75, k=1)");
}

// A step of training with everything that is kept from step to step.
struct Net {
  Net() : conv(8, 16), bn(16), cumulative(nn::BatchNormOptions(16).momentum(std::nullopt)) {
    manual_seed(5);
    for (Tensor& p : conv->parameters()) {
      const NoGradGuard no_grad;
      p.copy_(norm_wave(p.sizes().vec(), 4) * 0.1);
    }
  }
  Tensor step(const Tensor& x) {
    Tensor h = relu(bn(conv(x)));
    h = F::dropout(cumulative(h) + h, F::DropoutFuncOptions().p(0.3));
    const Tensor loss = h.square().mean();
    std::vector<Tensor> params = conv->parameters();
    for (const Tensor& p : bn->parameters()) params.push_back(p);
    const auto grads = autograd::grad({loss}, params);
    const NoGradGuard no_grad;
    for (size_t i = 0; i < params.size(); ++i) params[i].sub_(grads[i], 0.1);
    return loss.detach();
  }
  nn::Linear conv;
  nn::BatchNorm1d bn, cumulative;
};

TEST(Norms, CompiledStepsAreEagerSteps) {
  Net eager, compiled;
  manual_seed(11);
  std::vector<Tensor> losses;
  for (int i = 0; i < 5; ++i) losses.push_back(eager.step(norm_wave({6, 8}, i)));
  manual_seed(11);
  auto step = compile([&](const Tensor& x) { return compiled.step(x); });
  for (int i = 0; i < 5; ++i)
    EXPECT_TRUE(allclose(step(norm_wave({6, 8}, i)), losses[static_cast<size_t>(i)], 1e-5, 1e-6))
        << i;
  EXPECT_TRUE(allclose(eager.bn->running_mean, compiled.bn->running_mean, 1e-5, 1e-6));
  EXPECT_TRUE(allclose(eager.bn->running_var, compiled.bn->running_var, 1e-5, 1e-6));
  EXPECT_TRUE(
      allclose(eager.cumulative->running_var, compiled.cumulative->running_var, 1e-5, 1e-6));
  EXPECT_EQ(compiled.bn->num_batches_tracked.item<int64_t>(), 5);
  EXPECT_EQ(compiled.cumulative->num_batches_tracked.item<int64_t>(), 5);
}

}  // namespace
}  // namespace tandem
