// W11, eager: chains of pointwise functions against the memory's bandwidth. One function moves what
// a copy of the tensor moves, so a chain of k unfused functions can at best take as long as k
// copies; the figure "of limit" is that fraction. Where LibTorch is installed it runs in the same
// rounds.

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include "bench/timing.h"
#include "tandem/base/parallel.h"
#include "tandem/tandem.h"

namespace torch = tandem;
#include "bench/pointwise_workloads.h"

namespace {

/// Time to copy n floats into memory that is already there, with as many threads.
double copy_seconds(int64_t n) {
  std::vector<float> from(static_cast<size_t>(n), 1.0f), to(static_cast<size_t>(n));
  const auto copy = [&] {
    tandem::parallel_for(0, n, 65536, [&](int64_t b, int64_t e) {
      std::memcpy(to.data() + b, from.data() + b, static_cast<size_t>(e - b) * sizeof(float));
    });
  };
  const int calls = static_cast<int>(std::max<int64_t>(1, 2000000 / n));
  std::vector<double> rounds;
  copy();
  for (int r = 0; r < 11; ++r) rounds.push_back(seconds(copy, calls));
  return median(rounds);
}

void run(int threads) {
  tandem::set_num_threads(threads);
  tandem::NoGradGuard no_grad;
  const auto ours = make_pointwise_workloads();
  std::vector<PointwiseWorkload> theirs;
#ifdef TANDEM_BENCH_LIBTORCH
  libtorch_set_threads(threads);
  theirs = libtorch_pointwise_workloads();
#endif
  std::printf("%d thread%s\n%-12s %4s %9s %10s %9s %10s %9s %7s\n", threads, threads > 1 ? "s" : "",
              "chain", "ops", "elements", "us/op", "of limit", "LibTorch", "of limit", "ratio");
  int64_t measured = 0;
  double copy = 0;
  for (size_t i = 0; i < ours.size(); ++i) {
    const PointwiseWorkload& w = ours[i];
    if (w.elements != measured) {
      copy = copy_seconds(w.elements);
      measured = w.elements;
    }
    const int calls = static_cast<int>(std::max<int64_t>(1, 1000000 / (w.elements * w.ops)));
    std::vector<double> a, b;
    seconds(w.call, 1);
    if (!theirs.empty()) seconds(theirs[i].call, 1);
    for (int r = 0; r < 7; ++r) {
      a.push_back(seconds(w.call, calls) / w.ops);
      if (!theirs.empty()) b.push_back(seconds(theirs[i].call, calls) / w.ops);
    }
    const double x = median(a);
    std::printf("%-12s %4d %9lld %10.2f %8.0f%%", w.name.c_str(), w.ops,
                static_cast<long long>(w.elements), x * 1e6, 100 * copy / x);
    if (theirs.empty()) {
      std::printf(" %10s %9s %7s\n", "-", "-", "-");
    } else {
      const double y = median(b);
      std::printf(" %10.2f %8.0f%% %6.2fx\n", y * 1e6, 100 * copy / y, y / x);
    }
  }
}

}  // namespace

int main() {
  run(1);
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  if (cores > 1) run(cores);
}
