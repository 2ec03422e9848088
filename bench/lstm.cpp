// W7: a step of a 2-layer LSTM language model (650 wide, 35 steps, batch 20, 10,000 words), eager
// and compiled, against LibTorch where it is installed, rounds interleaved. "of limit" is the share
// of the speed of a 1024^3 product. Then the peak memory of each, in processes of their own.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>

#include "tandem/jit/kernel_cache.h"
#include "tandem/tandem.h"

namespace torch = tandem;
#include "bench/lstm_workloads.h"

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

// Floating-point operations a second of a large product.
double product_speed() {
  const torch::Tensor a = torch::randn({1024, 1024}), b = torch::randn({1024, 1024});
  std::vector<double> rounds;
  for (int r = 0; r < 15; ++r) rounds.push_back(seconds([&] { torch::Tensor c = a.mm(b); }));
  return 2.0 * 1024 * 1024 * 1024 / *std::min_element(rounds.begin(), rounds.end());
}

LstmWorkload tandem_workload(int threads) {
  tandem::set_num_threads(threads);
  auto step = std::make_shared<LanguageModelStep>();
  const auto compiled = tandem::compile([step] { return (*step)(); });
  return {[step] { (*step)(); }, [compiled] { compiled(); }, LanguageModel::flops()};
}

void table(int threads, int rounds) {
  const LstmWorkload ours = tandem_workload(threads);
  LstmWorkload theirs;
#ifdef TANDEM_BENCH_LIBTORCH
  theirs = libtorch_lstm_workload(threads);
#endif
  for (int i = 0; i < 3; ++i) ours.compiled();
  tandem::jit::wait_idle();
  ours.step();
  if (theirs.step) theirs.step();
  std::vector<double> compiled, eager, peer, speed;
  for (int r = 0; r < rounds; ++r) {
    speed.push_back(product_speed());
    compiled.push_back(seconds(ours.compiled));
    eager.push_back(seconds(ours.step));
    if (theirs.step) peer.push_back(seconds(theirs.step));
  }
  const double limit = ours.flops / *std::max_element(speed.begin(), speed.end());
  std::printf(
      "\n%d thread%s, medians of %d interleaved rounds; the limit is %.1f ms (%.0f GFLOP)\n",
      threads, threads > 1 ? "s" : "", rounds, limit * 1e3, ours.flops * 1e-9);
  const auto line = [&](const char* name, const std::vector<double>& times) {
    if (times.empty()) return;
    std::printf("  %-9s %8.1f ms  (%.1f .. %.1f)  %3.0f%% of limit", name, median(times) * 1e3,
                *std::min_element(times.begin(), times.end()) * 1e3,
                *std::max_element(times.begin(), times.end()) * 1e3, 100 * limit / median(times));
    if (!peer.empty()) std::printf("  LibTorch/this %.2fx", median(peer) / median(times));
    std::printf("\n");
  };
  line("compiled", compiled);
  line("eager", eager);
  line("LibTorch", peer);
}

// Kilobytes as the system counts them: "VmHWM" or "VmRSS".
long memory_of_process(const char* what) {
  std::ifstream file("/proc/self/status");
  std::string word;
  long value = 0;
  while (file >> word)
    if (word == std::string(what) + ":") file >> value;
  return value;
}

void peak(const std::string& who, int threads) {
  const long before = memory_of_process("VmRSS");
  std::function<void()> step;
  LstmWorkload w;
#ifdef TANDEM_BENCH_LIBTORCH
  if (who == "LibTorch") w = libtorch_lstm_workload(threads);
#endif
  if (who != "LibTorch") w = tandem_workload(threads);
  step = who == "compiled" ? w.compiled : w.step;
  if (!step) return;
  for (int i = 0; i < 3; ++i) step();
  std::printf("  %-9s %6.0f MB more than at the start", who.c_str(),
              static_cast<double>(memory_of_process("VmHWM") - before) / 1024);
  if (who != "LibTorch") {
    tandem::memory::reset_peak();
    step();
    std::printf(", of which tensors %.0f MB",
                static_cast<double>(tandem::memory::stats().peak) / 1048576);
  }
  std::printf("\n");
}

void in_new_process(const char* who) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    execl("/proc/self/exe", "lstm", "--peak", who, nullptr);
    _exit(127);
  }
  waitpid(child, nullptr, 0);
}

}  // namespace

int main(int argc, char** argv) {
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  if (argc == 3 && std::strcmp(argv[1], "--peak") == 0) {
    peak(argv[2], cores);
    return 0;
  }
  std::printf("W7: step of a 2-layer LSTM language model\n");
  const int rounds = argc == 2 ? std::max(1, std::atoi(argv[1])) : 7;
  table(1, rounds);
  if (cores > 1) table(cores, rounds);
  std::printf("\npeak memory, %d threads (the parameters are 75 MB)\n", cores);
  for (const char* who : {"compiled", "eager", "LibTorch"}) in_new_process(who);
}
