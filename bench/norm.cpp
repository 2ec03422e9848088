// Norms, dropout and embeddings, forward and backward, at the sizes of ResNet-50 and of a
// transformer: compiled against eager Tandem and, where it is installed, LibTorch, rounds
// interleaved. "of copy" is the share of a plain copy's speed that eager Tandem reaches.
#include <cstdio>
#include <cstring>
#include <thread>

#include "bench/timing.h"
#include "tandem/base/parallel.h"
#include "tandem/jit/kernel_cache.h"
#include "tandem/tandem.h"

namespace torch = tandem;
#include "bench/norm_workloads.h"

namespace {

// Bytes a second of a copy of 64 MiB.
double copy_speed() {
  const int64_t n = 32 << 20;
  std::vector<char> from(static_cast<size_t>(n), 1), to(static_cast<size_t>(n));
  return 2.0 * static_cast<double>(n) / fastest([&] {
           tandem::parallel_for(0, n, 262144, [&](int64_t b, int64_t e) {
             std::memcpy(to.data() + b, from.data() + b, static_cast<size_t>(e - b));
           });
         });
}

void table(int threads) {
  tandem::set_num_threads(threads);
  std::vector<NormWorkload> ours, theirs;
  for_norm_workloads([&](std::string name, double bytes, auto program) {
    auto shared = std::make_shared<decltype(program)>(std::move(program));
    const auto compiled = tandem::compile([shared] { return (*shared)(); });
    ours.push_back({std::move(name), bytes, [shared] { (*shared)(); }, [compiled] { compiled(); }});
  });
#ifdef TANDEM_BENCH_LIBTORCH
  theirs = libtorch_norm_workloads(threads);
#endif
  std::printf("\n%d thread%s: us, medians of 7 interleaved rounds\n%-40s %9s %9s %9s %8s %8s %8s\n",
              threads, threads > 1 ? "s" : "", "", "eager", "compiled", "LibTorch", "/eager",
              "/compiled", "of copy");
  const double copies = copy_speed();
  for (size_t i = 0; i < ours.size(); ++i) {
    const NormWorkload& w = ours[i];
    for (int k = 0; k < 3; ++k) w.compiled();
    tandem::jit::wait_idle();
    std::vector<double> a, b, c;
    for (int r = 0; r < 7; ++r) {
      a.push_back(seconds(w.call, 3));
      b.push_back(seconds(w.compiled, 3));
      if (!theirs.empty()) c.push_back(seconds(theirs[i].call, 3));
    }
    const double x = median(a), y = median(b);
    std::printf("%-40s %9.1f %9.1f", w.name.c_str(), x * 1e6, y * 1e6);
    if (theirs.empty())
      std::printf(" %9s %8s %8s", "-", "-", "-");
    else
      std::printf(" %9.1f %7.2fx %7.2fx", median(c) * 1e6, median(c) / x, median(c) / y);
    std::printf(" %7.0f%%\n", 100 * w.bytes / copies / x);
  }
}

}  // namespace

int main() {
  table(1);
  const int all = static_cast<int>(std::thread::hardware_concurrency());
  if (all > 1) table(all);
}
