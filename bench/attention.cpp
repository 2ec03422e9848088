// W9: a layer of attention, forward and backward, eager and compiled, against LibTorch where it is
// installed, rounds interleaved. "of limit" is the share of the speed of a 1024^3 product that
// compiled reaches; "peak" how much memory the process needed beyond what it had before its first
// step, each measured in a process of its own.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <thread>

#include "tandem/base/parallel.h"
#include "tandem/jit/kernel_cache.h"
#include "tandem/tandem.h"

namespace torch = tandem;
#include "bench/attention_workloads.h"

namespace {

using Clock = std::chrono::steady_clock;

double seconds(const std::function<void()>& call) {
  const auto start = Clock::now();
  call();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

double product_speed() {
  const torch::Tensor a = torch::randn({1024, 1024}), b = torch::randn({1024, 1024});
  double best = 1e9;
  for (int r = 0; r < 9; ++r) best = std::min(best, seconds([&] { torch::Tensor c = a.mm(b); }));
  return 2.0 * 1024 * 1024 * 1024 / best;
}

std::vector<AttentionWorkload> tandem_workloads() {
  std::vector<AttentionWorkload> all;
  for_attention_workloads([&](std::string name, double flops, auto program) {
    auto shared = std::make_shared<decltype(program)>(std::move(program));
    const auto compiled = tandem::compile([shared] { return (*shared)(); });
    all.push_back({std::move(name), flops, [shared] { (*shared)(); }, [compiled] { compiled(); }});
  });
  return all;
}

std::vector<AttentionWorkload> libtorch_workloads([[maybe_unused]] int threads) {
#ifdef TANDEM_BENCH_LIBTORCH
  return libtorch_attention_workloads(threads);
#else
  return {};
#endif
}

void table(int threads, int rounds) {
  tandem::set_num_threads(threads);
  const auto ours = tandem_workloads(), theirs = libtorch_workloads(threads);
  std::printf("\n%d thread%s: ms, medians of %d interleaved rounds\n%-42s %9s %9s %9s %8s %9s\n",
              threads, threads > 1 ? "s" : "", rounds, "", "compiled", "eager", "LibTorch", "ratio",
              "of limit");
  for (size_t i = 0; i < ours.size(); ++i) {
    const AttentionWorkload& w = ours[i];
    for (int k = 0; k < 3; ++k) w.compiled();
    tandem::jit::wait_idle();
    w.compiled();
    w.step();
    if (!theirs.empty()) theirs[i].step();
    std::vector<double> a, b, c, limit;
    for (int r = 0; r < rounds; ++r) {
      limit.push_back(w.flops / product_speed());
      a.push_back(seconds(w.compiled));
      b.push_back(seconds(w.step));
      if (!theirs.empty()) c.push_back(seconds(theirs[i].step));
    }
    std::printf("%-42s %9.2f %9.2f", w.name.c_str(), median(a) * 1e3, median(b) * 1e3);
    if (theirs.empty())
      std::printf(" %9s %8s", "-", "-");
    else
      std::printf(" %9.2f %7.2fx", median(c) * 1e3, median(c) / median(a));
    std::printf(" %8.0f%%\n", 100 * median(limit) / median(a));
  }
}

// A line of /proc/self/status in MB.
double status_mb(const char* field) {
  std::ifstream in("/proc/self/status");
  std::string line;
  while (std::getline(in, line))
    if (line.rfind(field, 0) == 0) return std::atof(line.c_str() + std::strlen(field)) / 1024;
  return 0;
}

// The most memory that three steps of W9 need beyond what the process had before.
void memory_of(const std::string& what) {
  const int threads = static_cast<int>(std::thread::hardware_concurrency());
  tandem::set_num_threads(threads);
  const auto all = what == "LibTorch" ? libtorch_workloads(threads) : tandem_workloads();
  if (all.empty()) return;
  std::ofstream("/proc/self/clear_refs") << "5";  // the peak is what there is now
  const double before = status_mb("VmRSS:");
  for (int i = 0; i < 3; ++i) what == "compiled" ? all[0].compiled() : all[0].step();
  std::printf("%-10s %8.0f MB\n", what.c_str(), status_mb("VmHWM:") - before);
}

void in_new_process(const char* what) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    execl("/proc/self/exe", "attention", "--memory", what, nullptr);
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--memory") == 0) {
    memory_of(argv[2]);
    return 0;
  }
  const int rounds = argc == 3 && std::strcmp(argv[1], "--rounds") == 0 ? std::atoi(argv[2]) : 11;
  std::printf("W9, peak of a step\n");
  for (const char* what : {"compiled", "eager", "LibTorch"}) in_new_process(what);
  table(1, std::max(1, rounds));
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  if (cores > 1) table(cores, std::max(1, rounds));
}
