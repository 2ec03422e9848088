// Pooling, resampling and padding, line by line, beside LibTorch where it is installed: rounds are
// interleaved, medians are printed.

#include <algorithm>
#include <cstdio>
#include <thread>

#include "bench/timing.h"
#include "tandem/tandem.h"

namespace torch = tandem;
#include "bench/pool_workloads.h"

namespace {

void compare(const std::string& name, const std::function<void()>& ours,
             const std::function<void()>& theirs) {
  seconds(ours, 1);
  if (theirs) seconds(theirs, 1);
  const int calls = std::max(1, static_cast<int>(5e-3 / std::max(seconds(ours, 1), 1e-7)));
  std::vector<double> a, b;
  for (int round = 0; round < 9; ++round) {
    a.push_back(seconds(ours, calls));
    if (theirs) b.push_back(seconds(theirs, calls));
  }
  std::printf("%-52s %9.0f", name.c_str(), median(a) * 1e6);
  if (theirs)
    std::printf(" %9.0f %6.2fx\n", median(b) * 1e6, median(b) / median(a));
  else
    std::printf(" %9s %7s\n", "-", "-");
}

void run(int threads) {
  tandem::set_num_threads(threads);
  const auto ours = make_pool_workloads();
  std::vector<PoolWorkload> theirs;
#ifdef TANDEM_BENCH_LIBTORCH
  libtorch_set_threads(threads);
  theirs = libtorch_pool_workloads();
#endif
  std::printf("%d thread%s\n%-52s %9s %9s %7s\n", threads, threads > 1 ? "s" : "", "", "us",
              "LibTorch", "ratio");
  for (size_t i = 0; i < ours.size(); ++i) {
    compare(ours[i].name, ours[i].forward, theirs.empty() ? nullptr : theirs[i].forward);
    compare("  and backward", ours[i].both, theirs.empty() ? nullptr : theirs[i].both);
  }
}

}  // namespace

int main() {
  run(1);
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  if (cores > 1) run(cores);
}
