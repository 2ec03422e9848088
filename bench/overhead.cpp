// W6: what it costs to build a graph. Prints ns for Tandem and, where LibTorch is installed, for
// LibTorch in the same run, rounds interleaved, with the ratio of the medians and the spread.

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "tandem/tandem.h"

namespace torch = tandem;
#include "bench/overhead_workloads.h"

namespace {

double round_ns(const OverheadWorkload& w) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < w.calls; ++i) w.call();
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
  return took.count() / w.calls / w.ops;
}

struct Figure {
  double median, low, high;
};
Figure summary(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return {v[v.size() / 2], v[v.size() / 10], v[v.size() * 9 / 10]};
}

}  // namespace

int main() {
  constexpr int kRounds = 31;
  tandem::set_num_threads(1);
  const auto ours = make_workloads();
  std::vector<OverheadWorkload> theirs;
#ifdef TANDEM_BENCH_LIBTORCH
  theirs = libtorch_workloads(1);
#endif
  std::printf("%-50s %10s %21s %10s %7s\n", "ns, one thread, median of 31 rounds", "Tandem",
              "(10 % .. 90 %)", "LibTorch", "ratio");
  for (size_t i = 0; i < ours.size(); ++i) {
    std::vector<double> a, b;
    round_ns(ours[i]);
    if (!theirs.empty()) round_ns(theirs[i]);
    for (int r = 0; r < kRounds; ++r) {
      a.push_back(round_ns(ours[i]));
      if (!theirs.empty()) b.push_back(round_ns(theirs[i]));
    }
    const Figure x = summary(a);
    std::printf("%-50s %10.1f %9.1f .. %8.1f", ours[i].name.c_str(), x.median, x.low, x.high);
    if (theirs.empty()) {
      std::printf(" %10s %7s\n", "-", "-");
    } else {
      const Figure y = summary(b);
      std::printf(" %10.1f %6.1fx\n", y.median, y.median / x.median);
    }
  }
}
