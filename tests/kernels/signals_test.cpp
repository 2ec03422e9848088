// Products while signals come in all the time, as from a profiler. oneDNN's products without
// packing let the stack pointer point to memory from malloc() meanwhile: a handler would write
// below it.
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "tandem/base/parallel.h"
#include "tandem/kernels/matmul.h"

namespace tandem::kernels {
namespace {

std::atomic<int64_t> g_signals{0};

/// Sends a signal to the thread that made it and to one of its loops' threads, again and again.
class SignalStorm {
 public:
  SignalStorm() {
    struct sigaction action = {};
    action.sa_handler = [](int) {
      // A frame of some size, as handlers have.
      volatile char frame[1024];
      for (volatile char& c : frame) c = 1;
      ++g_signals;
    };
    action.sa_flags = SA_RESTART;
    sigaction(SIGURG, &action, &before_);
    parallel_for(0, get_num_threads(), 1, [&](int64_t i, int64_t) {
      if (i < 2) targets_[i] = pthread_self();
    });
    sender_ = std::thread([this] {
      while (!done_) {
        for (const pthread_t t : targets_) pthread_kill(t, SIGURG);
        std::this_thread::sleep_for(std::chrono::microseconds(20));
      }
    });
  }
  ~SignalStorm() {
    done_ = true;
    sender_.join();
    sigaction(SIGURG, &before_, nullptr);
  }

 private:
  pthread_t targets_[2] = {pthread_self(), pthread_self()};
  struct sigaction before_;
  std::atomic<bool> done_{false};
  std::thread sender_;
};

struct SignalCase {
  int64_t m, n, k;
  bool ta, tb;
};

TEST(Signals, LeaveProductsAlone) {
  std::vector<float> a(1 << 20), b(1 << 20), want(1 << 16), got(1 << 16);
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<float>(i * 7919 % 1009) / 1009 - .5f;
    b[i] = static_cast<float>(i * 104729 % 997) / 997 - .5f;
  }
  for (const SignalCase& c :
       {SignalCase{16, 150, 5000, false, true}, SignalCase{6, 25, 39200, false, true},
        SignalCase{84, 120, 500, true, false}, SignalCase{50, 120, 400, false, true},
        SignalCase{128, 128, 600, false, false}, SignalCase{12, 300, 500, false, true},
        SignalCase{250, 250, 130, false, false}, SignalCase{48, 48, 1000, true, true}}) {
    const auto product = [&](std::vector<float>& to) {
      gemm({kFloat, c.m, c.n, c.k, a.data(), c.ta ? c.m : c.k, c.ta, b.data(), c.tb ? c.k : c.n,
            c.tb, to.data(), c.n, 1, 0});
    };
    product(want);
    const SignalStorm storm;
    const int64_t before = g_signals;
    for (int i = 0; i < 100 || (g_signals < before + 100 && i < 100000); ++i) {
      product(got);
      ASSERT_TRUE(std::equal(got.begin(), got.begin() + c.m * c.n, want.begin()))
          << c.m << " x " << c.n << " x " << c.k << ", time " << i;
    }
    EXPECT_GE(g_signals, before + 100);
  }
}

}  // namespace
}  // namespace tandem::kernels
