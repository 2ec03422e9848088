#include "tandem/base/signals_wait.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>

#include "tandem/base/parallel.h"

namespace tandem {
namespace {

std::atomic<int> g_handled{0};

/// True iff signals of the program wait on this thread.
bool signals_wait_here() {
  sigset_t now;
  pthread_sigmask(SIG_BLOCK, nullptr, &now);
  return sigismember(&now, SIGINT) == 1;
}

TEST(SignalsWait, HandlersRunAfterwards) {
  struct sigaction action = {}, before;
  action.sa_handler = [](int) { ++g_handled; };
  sigaction(SIGURG, &action, &before);
  {
    const SignalsWait outer;
    pthread_kill(pthread_self(), SIGURG);
    {
      const SignalsWait inner;
      EXPECT_EQ(g_handled, 0);
    }
    EXPECT_EQ(g_handled, 0);
  }
  EXPECT_EQ(g_handled, 1);
  EXPECT_FALSE(signals_wait_here());
  sigaction(SIGURG, &before, nullptr);
}

TEST(SignalsWait, MistakesOfTheThreadAreReported) {
  const SignalsWait none;
  EXPECT_TRUE(signals_wait_here());
  sigset_t now;
  pthread_sigmask(SIG_BLOCK, nullptr, &now);
  for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT})
    EXPECT_EQ(sigismember(&now, own), 0) << own;
}

TEST(SignalsWait, OnlyTheProgramsOwnThreadsTakeSignals) {
  const int before = get_num_threads();
  set_num_threads(3);
  const pthread_t self = pthread_self();
  std::atomic<int> own{0}, lent{0};
  parallel_for(0, 3, 1, [&](int64_t, int64_t) {
    if (pthread_equal(self, pthread_self()))
      own += !signals_wait_here();
    else
      lent += signals_wait_here();
  });
  EXPECT_EQ(own, 1);
  EXPECT_EQ(lent, 2);
  set_num_threads(before);
}

}  // namespace
}  // namespace tandem
