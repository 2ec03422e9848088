#include "tandem/base/env.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "tandem/base/parallel.h"

namespace tandem {
namespace {

// A variable is read once in a process: each case therefore runs in a process of its own, which
// prints what it read.
struct EnvDeathTest : ::testing::Test {
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  static void print(const char* name, const char* value, std::string (*read)()) {
    if (value) {
      setenv(name, value, 1);
    } else {
      unsetenv(name);
    }
    std::fprintf(stderr, "read %s.", read().c_str());
    std::exit(0);
  }
  static std::string threads() { return std::to_string(env::num_threads()); }
};

TEST_F(EnvDeathTest, NumThreads) {
  const auto ok = ::testing::ExitedWithCode(0);
  EXPECT_EXIT(print("TANDEM_NUM_THREADS", nullptr, threads), ok, "read 0\\.");
  EXPECT_EXIT(print("TANDEM_NUM_THREADS", "3", threads), ok, "read 3\\.");
  EXPECT_EXIT(print("TANDEM_NUM_THREADS", "", threads), ok, "read 0\\.");
  EXPECT_EXIT(print("TANDEM_NUM_THREADS", "many", threads), ok, "read 0\\.");
  EXPECT_EXIT(print("TANDEM_NUM_THREADS", "3x", threads), ok, "read 0\\.");
}

TEST_F(EnvDeathTest, NumThreadsReachesTheLoops) {
  EXPECT_EXIT(print("TANDEM_NUM_THREADS", "5", [] { return std::to_string(get_num_threads()); }),
              ::testing::ExitedWithCode(0), "read 5\\.");
}

TEST_F(EnvDeathTest, ChangingItLaterHasNoEffect) {
  EXPECT_EXIT(print("TANDEM_NUM_THREADS", "2",
                    [] {
                      const std::string before = threads();
                      setenv("TANDEM_NUM_THREADS", "4", 1);
                      return before + " and " + threads();
                    }),
              ::testing::ExitedWithCode(0), "read 2 and 2\\.");
}

TEST_F(EnvDeathTest, Texts) {
  const auto ok = ::testing::ExitedWithCode(0);
  EXPECT_EXIT(print("TANDEM_LOG", nullptr, [] { return env::log_topics(); }), ok, "read \\.");
  EXPECT_EXIT(print("TANDEM_LOG", "passes,jit", [] { return env::log_topics(); }), ok,
              "read passes,jit\\.");
  EXPECT_EXIT(print("TANDEM_FASHION_MNIST", nullptr, [] { return env::fashion_mnist_dir(); }), ok,
              "read /usr/share/datasets/fashion-mnist\\.");
  EXPECT_EXIT(print("TANDEM_FASHION_MNIST", "/data", [] { return env::fashion_mnist_dir(); }), ok,
              "read /data\\.");
}

}  // namespace
}  // namespace tandem
