// W1, W2, W5, W6 and W11: compiled against eager Tandem and, where it is installed, LibTorch,
// rounds interleaved. "of limit" is the share of a plain limit that compiled reaches: the speed of
// a 1024^3 product for what is made of products, that of a copy for chains.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <thread>

#include "bench/timing.h"
#include "tandem/base/parallel.h"
#include "tandem/jit/kernel_cache.h"
#include "tandem/tandem.h"

namespace torch = tandem;
#include "bench/compile_workloads.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kUsage =
    "compile                 W2, then the table, with one thread and with all\n"
    "compile --only ID       only the rows of that workload: W1, W2, W5, W6 or W11\n"
    "compile --first-calls   W2: the first calls in processes of their own, without and with\n"
    "                        kernels on disk\n";
// A round is short, so that whatever else the machine does hits all contestants alike.
constexpr int kRounds = 41;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The limit of what is made of products, measured in the same rounds.
struct LargeProduct {
  torch::Tensor a = torch::randn({1024, 1024}), b = torch::randn({1024, 1024});
  static constexpr double flops = 2.0 * 1024 * 1024 * 1024;
  double seconds() const {
    const auto call = [&] { torch::Tensor c = a.mm(b); };
    call();
    return ::seconds(call, 1);
  }
};

// Bytes a second of a copy of that many.
double copy_speed(double bytes) {
  const auto n = static_cast<int64_t>(bytes / 2);
  std::vector<char> from(static_cast<size_t>(n), 1), to(static_cast<size_t>(n));
  const int calls = static_cast<int>(std::max<int64_t>(1, 4000000 / n));
  return bytes / fastest([&] {
           for (int i = 0; i < calls; ++i)
             tandem::parallel_for(0, n, 262144, [&](int64_t b, int64_t e) {
               std::memcpy(to.data() + b, from.data() + b, static_cast<size_t>(e - b));
             });
         }) *
         calls;
}

std::vector<CompileWorkload> tandem_workloads() {
  std::vector<CompileWorkload> all;
  for_compile_workloads(
      [&](const char* id, std::string name, int calls, double flops, double bytes, auto program) {
        auto shared = std::make_shared<decltype(program)>(std::move(program));
        const auto compiled = tandem::compile([shared] { return (*shared)(); });
        all.push_back({id, std::move(name), calls, flops, bytes, [shared] { (*shared)(); },
                       [compiled] { compiled(); }});
      });
  return all;
}

void table(int threads, const std::string& only) {
  tandem::set_num_threads(threads);
  const auto ours = tandem_workloads();
  std::vector<CompileWorkload> theirs;
#ifdef TANDEM_BENCH_LIBTORCH
  theirs = libtorch_compile_workloads(threads);
#endif
  std::printf(
      "\n%d thread%s: us and ratios, medians of %d interleaved rounds; quartiles of the first "
      "ratio\n"
      "%-4s %-46s %9s %9s %8s %11s %9s %9s %8s\n",
      threads, threads > 1 ? "s" : "", kRounds, "", "", "compiled", "eager", "ratio", "quartiles",
      "LibTorch", "ratio", "of limit");
  const LargeProduct product;
  for (size_t i = 0; i < ours.size(); ++i) {
    const CompileWorkload& w = ours[i];
    if (!only.empty() && w.id != only) continue;
    for (int k = 0; k < 3; ++k) w.compiled();
    tandem::jit::wait_idle();
    std::vector<double> a, b, c, limit;
    // Each is called once before it is timed: what ran before it has filled the caches.
    const auto timed = [&](const std::function<void()>& call) {
      call();
      return seconds(call, w.calls);
    };
    for (int r = 0; r < kRounds; ++r) {
      a.push_back(timed(w.compiled));
      b.push_back(timed(w.call));
      if (!theirs.empty()) c.push_back(timed(theirs[i].call));
      if (w.flops > 0) limit.push_back(product.seconds());
    }
    const Ratio eager(b, a);
    std::printf("%-4s %-46s %9.2f %9.2f %7.2fx %6.2f-%4.2f", w.id.c_str(), w.name.c_str(),
                median(a) * 1e6, median(b) * 1e6, eager.median, eager.low, eager.high);
    if (theirs.empty())
      std::printf(" %9s %8s", "-", "-");
    else
      std::printf(" %9.2f %8.2fx", median(c) * 1e6, Ratio(c, a).median);
    if (w.flops > 0)
      std::printf(" %7.0f%%\n", 100 * w.flops / product.flops * Ratio(limit, a).median);
    else if (w.bytes > 0)
      std::printf(" %7.0f%%\n", 100 * w.bytes / copy_speed(w.bytes) / median(a));
    else
      std::printf(" %8s\n", "-");
    std::fflush(stdout);
  }
}

// What a new process sees: each of its first calls, and when the last kernel was in place.
void first_calls(const char* what) {
  tandem::set_num_threads(static_cast<int>(std::thread::hardware_concurrency()));
  PerceptronStep step(128, {784, 512, 10});
  step();
  std::vector<double> eager;
  for (int i = 0; i < 9; ++i) eager.push_back(seconds(step, 1));
  const auto compiled = tandem::compile([&] { return step(); });
  const auto start = Clock::now();
  std::vector<double> calls;
  double ready = 0;
  for (int i = 0; i < 20; ++i) {
    calls.push_back(seconds([&] { compiled(); }, 1));
    const auto s = tandem::jit::stats();
    if (ready == 0 && s.requested == s.compiled + s.loaded_from_disk + s.failed)
      ready = since(start);
  }
  tandem::jit::wait_idle();
  if (ready == 0) ready = since(start);
  const auto s = tandem::jit::stats();
  std::printf("%s: eager %.2f ms; calls 1..20 in ms:", what, median(eager) * 1e3);
  for (const double c : calls) std::printf(" %.2f", c * 1e3);
  std::printf(
      "\n  first call %.1f times an eager one; all %d kernels in place after %.1f ms (%d made, %d "
      "from disk)\n",
      calls[0] / median(eager), static_cast<int>(s.requested), ready * 1e3,
      static_cast<int>(s.compiled), static_cast<int>(s.loaded_from_disk));
}

int in_new_process(const char* program, const char* what) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    execl(program, program, "--in-process", what, nullptr);
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--in-process") == 0) {
    first_calls(argv[2]);
    return 0;
  }
  const std::string only = argc == 3 && std::strcmp(argv[1], "--only") == 0 ? argv[2] : "";
  const bool first_only = argc == 2 && std::strcmp(argv[1], "--first-calls") == 0;
  constexpr std::string_view kIds[] = {"W1", "W2", "W5", "W6", "W11"};
  const bool known = std::find(std::begin(kIds), std::end(kIds), only) != std::end(kIds);
  if (argc > 1 && !known && !first_only) {
    const bool asked = argc == 2 && std::strcmp(argv[1], "--help") == 0;
    std::fputs(kUsage, asked ? stdout : stderr);
    return asked ? 0 : 2;
  }
  // W2, with a folder for kernels that is empty at first.
  const auto folder =
      std::filesystem::temp_directory_path() / ("tandem-bench-" + std::to_string(getpid()));
  setenv("TANDEM_CACHE", folder.c_str(), 1);
  int status = 0;
  if (only.empty() || only == "W2") {
    std::printf("W2: the first calls of the step of the MLP 784-512-10\n");
    status |= in_new_process("/proc/self/exe", "cold");
    status |= in_new_process("/proc/self/exe", "warm");
  }
  std::filesystem::remove_all(folder);
  if (status != 0 || first_only || only == "W2") return status;
  unsetenv("TANDEM_CACHE");
  table(1, only);
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  if (cores > 1) table(cores, only);
}
