// Threads that build and differentiate at once, sharing leaves.
#include <thread>

#include "tests/autograd/helpers.h"

namespace tandem {
namespace {

using test::expect_near;
using test::leaf;

// Something with several ops, writes and views, from shared parameters and an input of its own.
Tensor model(const Tensor& w, const Tensor& b, const Tensor& x) {
  Tensor h = x * w + b;
  Tensor a = h * h;
  a[0].mul_(w[1]);
  for (int i = 0; i < 20; ++i) a = a * 0.5 + h * w.t().t();
  return a;
}

void in_threads(int n, const std::function<void(int)>& work) {
  std::vector<std::thread> threads;
  for (int i = 0; i < n; ++i) threads.emplace_back(work, i);
  for (std::thread& t : threads) t.join();
}

TEST(Threads, GradientsEqualSerialOnes) {
  constexpr int kThreads = 4, kRounds = 50;
  Tensor w = leaf({3, 3}), b = leaf({3, 3}, 2);
  std::vector<Tensor> serial;
  for (int i = 0; i < kThreads; ++i)
    serial.push_back(
        autograd::grad({model(w, b, leaf({3, 3}, 10 + i))}, {w, b}, {ones({3, 3}, kDouble)})[0]);
  std::vector<Tensor> parallel(kThreads);
  in_threads(kThreads, [&](int i) {
    for (int round = 0; round < kRounds; ++round) {
      Tensor y = model(w, b, leaf({3, 3}, 10 + i));
      parallel[i] = autograd::grad({y}, {w, b}, {ones({3, 3}, kDouble)})[0];
    }
  });
  for (int i = 0; i < kThreads; ++i) expect_near(parallel[i], serial[i], 0);
}

TEST(Threads, AllAddToSharedLeaves) {
  constexpr int kThreads = 4, kRounds = 50;
  Tensor w = leaf({3, 3}), b = leaf({3, 3}, 2);
  in_threads(kThreads, [&](int) {
    for (int round = 0; round < kRounds; ++round) {
      Tensor x = ones({3, 3}, kDouble) * 3;
      (x * w + b).backward(ones({3, 3}, kDouble));  // whole numbers: the order does not matter
    }
  });
  expect_near(w.grad(), std::vector<double>(9, 3.0 * kThreads * kRounds), 0);
  expect_near(b.grad(), std::vector<double>(9, 1.0 * kThreads * kRounds), 0);
}

TEST(Threads, ASharedPartOfTheRecord) {
  constexpr int kThreads = 4, kRounds = 20;
  Tensor w = leaf({3, 3});
  Tensor shared = w * w + w;  // walked by several threads at once
  Tensor expected = autograd::grad({shared * shared}, {w}, {ones({3, 3}, kDouble)}, true)[0];
  std::vector<Tensor> got(kThreads);
  in_threads(kThreads, [&](int i) {
    for (int round = 0; round < kRounds; ++round)
      got[i] =
          autograd::grad({shared * shared}, {w}, {ones({3, 3}, kDouble)}, /*retain_graph=*/true)[0];
  });
  for (const Tensor& g : got) expect_near(g, expected, 0);
}

TEST(Threads, ASharedViewThatIsStale) {
  Tensor w = leaf({3, 3});
  Tensor a = w * 1;
  Tensor row = a[1];
  for (int round = 0; round < 20; ++round) {
    a.mul_(1);  // row must be derived again, by whoever comes first
    in_threads(4, [&](int) {
      Tensor g = autograd::grad({row * 2}, {w}, {ones({3}, kDouble)}, true)[0];
      expect_near(g, {0, 0, 0, 2, 2, 2, 0, 0, 0}, 0);
    });
  }
}

TEST(Threads, ModesBelongToTheirThread) {
  Tensor w = leaf({2});
  NoGradGuard no_grad;
  in_threads(1, [&](int) {
    EXPECT_TRUE(GradMode::is_enabled());
    EXPECT_TRUE((w * 2).requires_grad());
  });
  EXPECT_FALSE((w * 2).requires_grad());
}

}  // namespace
}  // namespace tandem
