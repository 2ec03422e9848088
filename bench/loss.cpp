// Losses with their gradients: compiled against eager Tandem and, where it is installed, LibTorch,
// rounds interleaved.
//
//   loss [TEXT]   the table, with one thread and with all; only lines that contain TEXT
#include <algorithm>
#include <cstdio>
#include <thread>

#include "bench/timing.h"
#include "tandem/base/parallel.h"
#include "tandem/jit/kernel_cache.h"
#include "tandem/tandem.h"

namespace torch = tandem;
#include "bench/loss_workloads.h"

namespace {

void table(int threads, const std::string& only) {
  tandem::set_num_threads(threads);
  std::vector<LossWorkload> ours, theirs;
  for_loss_workloads([&](const char* id, std::string name, int calls, auto program) {
    auto shared = std::make_shared<decltype(program)>(std::move(program));
    const auto compiled = tandem::compile([shared] { return (*shared)(); });
    ours.push_back(
        {id, std::move(name), calls, [shared] { (*shared)(); }, [compiled] { compiled(); }});
  });
#ifdef TANDEM_BENCH_LIBTORCH
  theirs = libtorch_loss_workloads(threads);
#endif
  std::printf(
      "\n%d thread%s: us, medians of 11 interleaved rounds\n%-4s %-46s %9s %9s %9s %9s %9s\n",
      threads, threads > 1 ? "s" : "", "", "", "compiled", "eager", "LibTorch", "/compiled",
      "/eager");
  for (size_t i = 0; i < ours.size(); ++i) {
    const LossWorkload& w = ours[i];
    if (w.name.find(only) == std::string::npos) continue;
    for (int k = 0; k < 3; ++k) w.compiled();
    tandem::jit::wait_idle();
    std::vector<double> a, b, c;
    for (int r = 0; r < 11; ++r) {
      a.push_back(seconds(w.compiled, w.calls));
      b.push_back(seconds(w.call, w.calls));
      if (!theirs.empty()) c.push_back(seconds(theirs[i].call, w.calls));
    }
    const double x = median(a), y = median(b);
    std::printf("%-4s %-46s %9.1f %9.1f", w.id.c_str(), w.name.c_str(), x * 1e6, y * 1e6);
    if (theirs.empty())
      std::printf(" %9s %9s %9s\n", "-", "-", "-");
    else
      std::printf(" %9.1f %8.2fx %8.2fx\n", median(c) * 1e6, median(c) / x, median(c) / y);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string only = argc > 1 ? argv[1] : "";
  table(1, only);
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  if (cores > 1) table(cores, only);
}
