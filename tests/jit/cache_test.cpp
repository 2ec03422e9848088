#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tandem/jit/disk_cache.h"
#include "tandem/jit/kernel_cache.h"
#include "tests/jit/run_nest.h"

namespace tandem::jit::test {
namespace {

namespace fs = std::filesystem;

// y = x + number
LoopNest plus(double number) {
  LoopNest nest;
  nest.operands = {{kFloat, Along::unit}, {kFloat, Along::unit}};
  nest.n_inputs = 1;
  nest.outer_dims = 0;
  const int16_t x = load(nest, 0, LaneType::f32);
  ScalarInstr c{ScalarOp::constant, LaneType::f32};
  c.value = number;
  nest.stores = {apply(nest, MapFn::add, {x, kernels::record(c, nest.program)})};
  return nest;
}

float run_one(const Kernel& kernel, float x) {
  const LoopFunction f = kernel.function.load();
  if (f == nullptr) return -1;
  float in[1] = {x}, out[1] = {0};
  void* data[] = {in, out};
  const int64_t extents[] = {1}, strides[] = {1, 1};
  const LoopCall call = {data, extents, strides, nullptr};
  f(&call, 0, 1);
  return out[0];
}

// The tests below skip where the library makes no code. Whether it should is asked of the build and
// the processor here, so that they do not skip in silence.
TEST(Generator, IsThereWhereItShouldBe) {
#if TANDEM_WITH_LLVM && defined(__x86_64__)
  const bool wanted = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                      __builtin_cpu_supports("bmi2");
#else
  const bool wanted = false;
#endif
  EXPECT_EQ(can_generate(), wanted);
}

class Cache : public testing::Test {
 protected:
  void SetUp() override {
    if (!can_generate()) GTEST_SKIP() << kNoGenerator;
    char name[] = "/tmp/tandem_cache_XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
  }
  void TearDown() override {
    if (!folder_.empty()) fs::remove_all(folder_);
  }
  std::vector<fs::path> files() const {
    std::vector<fs::path> result;
    for (const auto& entry : fs::directory_iterator(folder_)) result.push_back(entry.path());
    return result;
  }
  std::string folder_;
};

TEST_F(Cache, EqualNestsShareAKernel) {
  KernelCache cache({true, folder_});
  const auto a = cache.request(plus(1)), b = cache.request(plus(1)), c = cache.request(plus(2));
  EXPECT_EQ(a, b);
  EXPECT_NE(a, c);
  cache.wait_idle();
  EXPECT_EQ(run_one(*a, 5), 6);
  EXPECT_EQ(run_one(*c, 5), 7);
  const Stats s = cache.stats();
  EXPECT_EQ(s.requested, 2);
  EXPECT_EQ(s.compiled, 2);
  EXPECT_EQ(s.loaded_from_disk, 0);
  EXPECT_EQ(s.failed, 0);
}

TEST_F(Cache, TheNextOneCompilesNothing) {
  for (const bool first : {true, false}) {
    KernelCache cache({true, folder_});
    const auto kernel = cache.request(plus(3));
    cache.wait_idle();
    EXPECT_EQ(run_one(*kernel, 1), 4);
    EXPECT_EQ(cache.stats().compiled, first ? 1 : 0);
    EXPECT_EQ(cache.stats().loaded_from_disk, first ? 0 : 1);
  }
  EXPECT_EQ(files().size(), 1u);
}

TEST_F(Cache, DamagedFilesAreReplaced) {
  {
    KernelCache cache({true, folder_});
    cache.request(plus(4));
    cache.wait_idle();
  }
  const fs::path path = files().at(0);
  const auto size = fs::file_size(path);
  // A byte changed anywhere, a file cut off anywhere, an empty one, one of nonsense.
  for (int round = 0; round < 14; ++round) {
    if (round < 8) {
      std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
      const auto at = static_cast<std::streamoff>(size * static_cast<unsigned>(round) / 8);
      file.seekg(at);
      const char c = static_cast<char>(file.get() ^ 0x40);
      file.seekp(at);
      file.put(c);
    } else if (round < 12) {
      fs::resize_file(path, size * static_cast<unsigned>(round - 8) / 4);
    } else {
      std::ofstream(path, std::ios::binary) << std::string(round == 12 ? 0 : size, 'x');
    }
    KernelCache cache({true, folder_});
    const auto kernel = cache.request(plus(4));
    cache.wait_idle();
    EXPECT_EQ(run_one(*kernel, 1), 5);
    EXPECT_EQ(cache.stats().compiled, 1) << "round " << round;
    EXPECT_EQ(fs::file_size(path), size);
  }
}

TEST_F(Cache, FilesThatOthersMayWriteAreNotRun) {
  {
    KernelCache cache({true, folder_});
    cache.request(plus(5));
    cache.wait_idle();
  }
  ASSERT_EQ(chmod(files().at(0).c_str(), 0666), 0);
  KernelCache cache({true, folder_});
  cache.request(plus(5));
  cache.wait_idle();
  EXPECT_EQ(cache.stats().compiled, 1);
}

TEST_F(Cache, UnwritableFolderLeavesItInMemory) {
  for (const std::string& folder : {std::string("/proc/nowhere"), std::string()}) {
    KernelCache cache({true, folder});
    const auto kernel = cache.request(plus(6));
    cache.wait_idle();
    EXPECT_EQ(run_one(*kernel, 1), 7);
    EXPECT_EQ(cache.stats().failed, 0);
  }
}

TEST_F(Cache, OffNeverMakesAnything) {
  KernelCache cache({false, folder_});
  const auto kernel = cache.request(plus(7));
  cache.wait_idle();
  EXPECT_EQ(kernel->function.load(), nullptr);
  EXPECT_EQ(cache.stats().requested, 1);
  EXPECT_EQ(cache.stats().compiled, 0);
  EXPECT_TRUE(files().empty());
}

TEST_F(Cache, APauseEndsByItselfAndLeavesNothingUndone) {
  KernelCache cache({true, folder_});
  cache.pause();
  const auto kernel = cache.request(plus(8));
  cache.wait_idle();
  EXPECT_EQ(run_one(*kernel, 1), 9);
  cache.resume();
  EXPECT_EQ(cache.stats().compiled, 1);
}

// The thread that makes kernels is there before the first request, and is one of those that wait
// until a processor is free when they wake up.
TEST_F(Cache, ItsThreadIsReadyAndStepsBack) {
  const auto stepping_back = [] {
    int n = 0;
    for (const auto& task : fs::directory_iterator("/proc/self/task"))
      n += sched_getscheduler(std::stoi(task.path().filename())) == SCHED_BATCH;
    return n;
  };
  const int before = stepping_back();
  {
    KernelCache off({false, folder_});
    off.prepare();
    EXPECT_EQ(stepping_back(), before);
    KernelCache cache({true, folder_});
    cache.prepare();
    cache.prepare();
    const auto kernel = cache.request(plus(1));
    cache.wait_idle();
    EXPECT_EQ(run_one(*kernel, 5), 6);
    EXPECT_EQ(stepping_back(), before + 1);
    EXPECT_EQ(cache.stats().requested, 1);
  }
  // A thread that has been joined may still be in the list for a moment.
  for (int i = 0; i < 1000 && stepping_back() != before; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(stepping_back(), before);
}

TEST_F(Cache, ProcessesShareTheFolder) {
  std::vector<pid_t> children;
  for (int c = 0; c < 4; ++c) {
    const pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      int wrong = 0;
      {
        KernelCache cache({true, folder_});
        std::vector<std::shared_ptr<Kernel>> kernels;
        for (int i = 0; i < 8; ++i) kernels.push_back(cache.request(plus(100 + i)));
        cache.wait_idle();
        for (int i = 0; i < 8; ++i)
          if (run_one(*kernels[static_cast<size_t>(i)], 1) != 101 + static_cast<float>(i)) ++wrong;
      }
      _exit(wrong);
    }
    children.push_back(pid);
  }
  for (const pid_t pid : children) {
    int status = -1;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  // Eight kernels, and no temporary file left behind.
  EXPECT_EQ(files().size(), 8u);
  KernelCache cache({true, folder_});
  for (int i = 0; i < 8; ++i) cache.request(plus(100 + i));
  cache.wait_idle();
  EXPECT_EQ(cache.stats().compiled, 0);
  EXPECT_EQ(cache.stats().loaded_from_disk, 8);
}

TEST_F(Cache, AChildGoesOnWhereItsParentWas) {
  KernelCache cache({true, ""});
  std::vector<std::shared_ptr<Kernel>> kernels;
  for (int i = 0; i < 6; ++i) kernels.push_back(cache.request(plus(200 + i)));
  // While kernels are being made, but not while the worker begins: AddressSanitizer's allocator
  // does not survive a fork during its own start of a thread.
  while (cache.stats().compiled + cache.stats().failed == 0) std::this_thread::yield();
  const pid_t pid = fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    kernels.push_back(cache.request(plus(299)));
    cache.wait_idle();
    const bool right = run_one(*kernels[5], 1) == 206 && run_one(*kernels[6], 1) == 300;
    _exit(right ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  cache.wait_idle();
  EXPECT_EQ(run_one(*kernels[0], 1), 201);
}

TEST_F(Cache, EndsWhileKernelsAreWaiting) {
  KernelCache cache({true, ""});
  for (int i = 0; i < 50; ++i) cache.request(plus(300 + i));
}

TEST(CacheDeathTest, TheProcessEndsWhileKernelsAreBeingMade) {
  if (!can_generate()) GTEST_SKIP() << kNoGenerator;
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (const int milliseconds : {0, 15, 40}) {
    EXPECT_EXIT(
        {
          setenv("TANDEM_CACHE", "", 1);
          for (int i = 0; i < 200; ++i) request(plus(500 + i));
          std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
          std::exit(7);
        },
        testing::ExitedWithCode(7), "");
  }
}

TEST_F(Cache, ManyThreadsAsk) {
  KernelCache cache({true, ""});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) cache.request(plus(400 + i % 5));
    });
  for (std::thread& t : threads) t.join();
  cache.wait_idle();
  EXPECT_EQ(cache.stats().requested, 5);
  EXPECT_EQ(cache.stats().compiled, 5);
}

TEST_F(Cache, DiskCacheKeepsKeysApart) {
  const DiskCache disk(folder_);
  EXPECT_FALSE(disk.read("a").has_value());
  disk.write("a", "blob of a");
  disk.write("b", std::string(100000, 'b'));
  EXPECT_EQ(disk.read("a").value(), "blob of a");
  EXPECT_EQ(disk.read("b").value().size(), 100000u);
  // A file that has come to lie under another key's name.
  fs::copy_file(disk.path_of("a"), disk.path_of("c"));
  EXPECT_FALSE(disk.read("c").has_value());
}

TEST(LoopNests, TextAndEqualityGoTogether) {
  EXPECT_EQ(plus(1), plus(1));
  EXPECT_EQ(plus(1).str(), plus(1).str());
  EXPECT_EQ(plus(1).hash(), plus(1).hash());
  EXPECT_FALSE(plus(0.0) == plus(-0.0));
  EXPECT_NE(plus(0.0).str(), plus(-0.0).str());
  EXPECT_NE(plus(0.1).str(), plus(0.1 + 1e-17 * 4).str());
}

TEST(ObjectLoader, RefusesDamagedObjects) {
  if (!can_generate()) GTEST_SKIP() << kNoGenerator;
  const std::string object = generate_object(plus(1));
  std::string why;
  EXPECT_EQ(load_object("", kKernelSymbol, &why), nullptr);
  EXPECT_FALSE(why.empty());
  EXPECT_EQ(load_object(object, "another_name", &why), nullptr);
  for (size_t n = 0; n < object.size(); n += 13)
    EXPECT_EQ(load_object(std::string_view(object).substr(0, n), kKernelSymbol, &why), nullptr);
}

}  // namespace
}  // namespace tandem::jit::test
