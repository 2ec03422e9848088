#include "tandem/base/memory.h"

#include <gtest/gtest.h>

#include <thread>

#include "tandem/ops/ops.h"

namespace tandem {
namespace {

TEST(Memory, CountsWhatTensorsHold) {
  const memory::Stats before = memory::stats();
  {
    const Tensor small = zeros({10}), large = zeros({1000, 1000});
    const memory::Stats during = memory::stats();
    EXPECT_EQ(during.current - before.current, 40 + 4000000);
    EXPECT_EQ(during.allocations - before.allocations, 2);
    EXPECT_GT(during.objects, before.objects);
    const Tensor view = large[3];
    EXPECT_EQ(memory::stats().current, during.current) << "a view holds no memory of its own";
  }
  const memory::Stats after = memory::stats();
  EXPECT_EQ(after.current, before.current);
  EXPECT_EQ(after.objects, before.objects);
}

TEST(Memory, PeakIsTheMostSinceReset) {
  memory::reset_peak();
  const int64_t start = memory::stats().current;
  { const Tensor x = zeros({500000}); }
  { const Tensor x = zeros({100000}); }
  EXPECT_EQ(memory::stats().peak, start + 2000000);
  memory::reset_peak();
  EXPECT_EQ(memory::stats().peak, start);
}

TEST(Memory, FreedBlocksAreReusedAndTrimGivesThemBack) {
  memory::trim();
  const int64_t cached = memory::stats().cached;
  if (TANDEM_PLAIN_MALLOC) {  // under sanitizers every block goes back at once
    zeros({1000000});
    EXPECT_EQ(memory::stats().cached, 0);
    return;
  }
  void* first;
  {
    const Tensor x = zeros({1000000});
    first = x.data_ptr();
  }
  EXPECT_GE(memory::stats().cached - cached, 4000000);
  {
    const Tensor y = zeros({1000000});
    EXPECT_EQ(y.data_ptr(), first) << "the block just freed serves again";
  }
  memory::trim();
  EXPECT_LE(memory::stats().cached, cached);
}

TEST(Memory, MetaTensorsHoldNothing) {
  const int64_t before = memory::stats().current;
  const Tensor x = zeros({1 << 20, 1 << 20}, device(kMeta));
  EXPECT_EQ(memory::stats().current, before);
  EXPECT_EQ((x * 2).numel(), INT64_C(1) << 40);
}

TEST(Memory, ForeignMemoryIsNotCounted) {
  std::vector<float> v(1000);
  const int64_t before = memory::stats().current;
  const Tensor x = from_blob(v.data(), {1000}, kFloat);
  EXPECT_EQ(memory::stats().current, before);
}

TEST(Memory, BlocksAreAligned) {
  for (int64_t n : {1, 3, 100, 1000, 5000, 100000, 3000000}) {
    const Tensor x = empty({n});
    EXPECT_EQ(reinterpret_cast<uintptr_t>(x.data_ptr()) % 64, 0u) << n;
  }
}

// Graphs, views and gradients included: a loop ends with the memory it began with.
TEST(Memory, ALoopOfStepsLeavesNothingBehind) {
  Tensor w = ones({16}).requires_grad_();
  const Tensor x = ones({4, 16});
  const auto step = [&] {
    Tensor y = (x * w).sum_to_size({4, 1});
    y = y * y - 1;
    y.view({2, 2})[0].mul_(2);
    y.backward(ones({4, 1}));
    NoGradGuard guard;
    w.sub_(w.grad(), 1e-3);
    w.mutable_grad().zero_();
  };
  for (int i = 0; i < 10; ++i) step();
  const memory::Stats before = memory::stats();
  for (int i = 0; i < 10000; ++i) step();
  const memory::Stats after = memory::stats();
  EXPECT_EQ(after.current, before.current);
  EXPECT_EQ(after.objects, before.objects);
  EXPECT_LE(after.cached, before.cached + (1 << 20));
}

TEST(Memory, TensorsMayDieOnAnotherThread) {
  const memory::Stats before = memory::stats();
  for (int i = 0; i < 20; ++i) {
    Tensor small = ones({8}), large = ones({300000});
    std::thread([a = std::move(small), b = std::move(large)]() mutable {
      a = a + 1;
      b = b + 1;
      EXPECT_EQ(b[299999].item<float>(), 2);
    }).join();
  }
  const memory::Stats after = memory::stats();
  EXPECT_EQ(after.current, before.current);
  EXPECT_EQ(after.objects, before.objects);
}

// The thread's variable is there before its first tensor, and therefore destroyed after everything
// that was set up with that.
TEST(Memory, ThreadsMayKeepTensorsToTheirEnd) {
  const memory::Stats before = memory::stats();
  for (int i = 0; i < 20; ++i) {
    std::thread([] {
      thread_local Tensor kept;
      Tensor& t = kept;
      t = ones({100000});
    }).join();
    EXPECT_EQ(memory::stats().current, before.current);
    EXPECT_EQ(memory::stats().objects, before.objects);
  }
  memory::reset_peak();
}

}  // namespace
}  // namespace tandem
