#include "tandem/base/parallel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tandem/base/background_work.h"
#include "tandem/base/error.h"

namespace tandem {
namespace {

// Restores the number of threads when a test ends.
struct Threads {
  explicit Threads(int n) { set_num_threads(n); }
  ~Threads() { set_num_threads(before); }
  int before = get_num_threads();
};

TEST(ParallelFor, VisitsEveryIndexOnce) {
  for (int threads : {1, 2, 3, 7}) {
    Threads scope(threads);
    for (int64_t n : {0, 1, 2, 9, 10, 11, 1000, 1001}) {
      for (int64_t grain : {1, 3, 10, 5000}) {
        std::vector<std::atomic<int>> count(n);
        parallel_for(0, n, grain, [&](int64_t b, int64_t e) {
          ASSERT_LT(b, e);
          for (int64_t i = b; i < e; ++i) count[i].fetch_add(1);
        });
        for (int64_t i = 0; i < n; ++i) {
          ASSERT_EQ(count[i].load(), 1) << "index " << i << " of " << n << ", grain " << grain;
        }
      }
    }
  }
}

TEST(ParallelFor, RangesAreCutAtWholeGrains) {
  for (int threads : {1, 2, 3, 5}) {
    Threads scope(threads);
    std::mutex mutex;
    std::set<std::pair<int64_t, int64_t>> ranges;
    parallel_for(7, 1000, 64, [&](int64_t b, int64_t e) {
      std::lock_guard lock(mutex);
      ranges.emplace(b, e);
    });
    int64_t next = 7;
    for (auto [b, e] : ranges) {
      EXPECT_EQ(b, next);
      EXPECT_EQ((b - 7) % 64, 0);
      EXPECT_TRUE(e == 1000 || (e - 7) % 64 == 0) << e;
      next = e;
    }
    EXPECT_EQ(next, 1000);
  }
}

TEST(ParallelFor, SumWithOnePartialAGrainIsTheSameForAnyThreadCount) {
  const int64_t n = 100'003, grain = 1024;
  auto sum = [&] {
    std::vector<float> partial((n + grain - 1) / grain);
    parallel_for(0, n, grain, [&](int64_t b, int64_t e) {
      for (int64_t from = b; from < e; from += grain) {
        float s = 0;
        for (int64_t i = from; i < std::min(from + grain, e); ++i) s += 1.0f / (1 + i);
        partial[from / grain] = s;
      }
    });
    float total = 0;
    for (float p : partial) total += p;
    return total;
  };
  Threads one(1);
  const float expected = sum();
  for (int threads : {2, 3, 4, 8}) {
    Threads scope(threads);
    EXPECT_EQ(sum(), expected);
  }
}

TEST(ParallelFor, UsesMoreThanOneThread) {
  Threads scope(2);
  std::mutex mutex;
  std::set<std::thread::id> ids;
  parallel_for(0, 2, 1, [&](int64_t, int64_t) {
    std::lock_guard lock(mutex);
    ids.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(ids.size(), 2u);
}

TEST(ParallelFor, LeavesProcessorsToWorkInTheBackground) {
  const int processors = static_cast<int>(std::thread::hardware_concurrency());
  Threads scope(processors + 2);
  std::mutex mutex;
  const auto threads_of_a_loop = [&] {
    std::set<std::thread::id> ids;
    std::atomic<int> visited{0};
    parallel_for(0, 64, 1, [&](int64_t b, int64_t e) {
      visited += static_cast<int>(e - b);
      std::lock_guard lock(mutex);
      ids.insert(std::this_thread::get_id());
    });
    EXPECT_EQ(visited.load(), 64);
    return static_cast<int>(ids.size());
  };
  EXPECT_GT(threads_of_a_loop(), processors);
  {
    const BackgroundWork one;
    EXPECT_LE(threads_of_a_loop(), std::max(1, processors - 1));
    std::vector<std::unique_ptr<BackgroundWork>> many;
    for (int i = 0; i < processors + 3; ++i) many.push_back(std::make_unique<BackgroundWork>());
    EXPECT_EQ(threads_of_a_loop(), 1);
    // What the program asked for is what it is told.
    EXPECT_EQ(get_num_threads(), processors + 2);
  }
  EXPECT_GT(threads_of_a_loop(), processors);
}

TEST(ParallelFor, NestedRegionRunsWhereItIs) {
  Threads scope(2);
  EXPECT_FALSE(in_parallel_region());
  std::atomic<int> visited{0};
  parallel_for(0, 4, 1, [&](int64_t b, int64_t e) {
    EXPECT_TRUE(in_parallel_region());
    const auto id = std::this_thread::get_id();
    parallel_for(0, 8, 1, [&](int64_t ib, int64_t ie) {
      EXPECT_EQ(std::this_thread::get_id(), id);
      visited += static_cast<int>((ie - ib) * (e - b));
    });
    EXPECT_TRUE(in_parallel_region());
  });
  EXPECT_EQ(visited.load(), 32);
  EXPECT_FALSE(in_parallel_region());
}

TEST(ParallelFor, ExceptionReachesTheCaller) {
  for (int threads : {1, 2}) {
    Threads scope(threads);
    for (int64_t culprit : {0, 5, 9}) {
      try {
        parallel_for(0, 10, 1, [&](int64_t b, int64_t e) {
          if (b <= culprit && culprit < e) throw IndexError("index " + std::to_string(culprit));
        });
        FAIL() << "nothing was thrown";
      } catch (const IndexError& e) {
        EXPECT_EQ(e.msg(), "index " + std::to_string(culprit));
      }
      EXPECT_FALSE(in_parallel_region());
    }
  }
}

TEST(ParallelFor, SeveralUserThreadsAtOnce) {
  Threads scope(2);
  std::vector<int64_t> sums(4);
  std::vector<std::thread> users;
  for (int u = 0; u < 4; ++u) {
    users.emplace_back([&sums, u] {
      std::atomic<int64_t> sum{0};
      for (int repeat = 0; repeat < 50; ++repeat) {
        parallel_for(0, 100, 7, [&](int64_t b, int64_t e) {
          for (int64_t i = b; i < e; ++i) sum += i;
        });
      }
      sums[u] = sum;
    });
  }
  for (auto& t : users) t.join();
  for (int64_t s : sums) EXPECT_EQ(s, 50 * 4950);
}

TEST(NumThreads, MustBePositive) {
  const int before = get_num_threads();
  EXPECT_GT(before, 0);
  for (int n : {0, -3}) {
    try {
      set_num_threads(n);
      FAIL() << "accepted " << n;
    } catch (const Error& e) {
      EXPECT_EQ(e.msg(),
                "set_num_threads: expected a positive number of threads, got " + std::to_string(n));
    }
  }
  EXPECT_EQ(get_num_threads(), before);
  EXPECT_EQ(get_num_interop_threads(), 1);
}

}  // namespace
}  // namespace tandem
