// W3: the Jacobian of a small net's results by all its parameters. Tandem takes all rows in one
// batched backward pass, eager and compiled; a loop of backward passes, which is what LibTorch has
// in C++, stands beside it. Rounds are interleaved.
//
//   jacobian                with one thread and with all
//   jacobian --threads N    only with N threads
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "bench/timing.h"
#include "tandem/base/parallel.h"
#include "tandem/jit/kernel_cache.h"
#include "tandem/tandem.h"

namespace torch = tandem;
#include "bench/jacobian_workloads.h"

#ifndef TANDEM_BENCH_LIBTORCH
std::vector<JacobianWorkload> libtorch_workloads(int) { return {}; }
#endif

namespace {

Tensors batched(const SmallNet& net) { return torch::jacobian(net.forward, net.parameters); }

// The largest difference to the loop: what is timed has to be right.
double error_of(const SmallNet& net, const Tensors& got) {
  const Tensors want = jacobian_by_loop(net);
  double most = 0;
  for (size_t k = 0; k < want.size(); ++k)
    most = std::max(
        most, (got[k].reshape(want[k].sizes()) - want[k]).abs().max().template item<double>());
  return most;
}

void table(int threads) {
  tandem::set_num_threads(threads);
  const auto theirs = libtorch_workloads(threads);
  std::printf(
      "\n%d thread%s: us, medians of 15 interleaved rounds\n%-54s %10s %10s %10s %10s %10s\n",
      threads, threads > 1 ? "s" : "", "", "compiled", "eager", "loop", "LibTorch", "LibTorch /");
  const std::vector<SmallNet> nets = small_nets();
  for (size_t i = 0; i < nets.size(); ++i) {
    const SmallNet& net = nets[i];
    const auto compiled = torch::compile([&net] { return batched(net); });
    for (int k = 0; k < 3; ++k) compiled();
    tandem::jit::wait_idle();
    const double error = std::max(error_of(net, compiled()), error_of(net, batched(net)));
    if (!(error < 1e-4)) {
      std::printf("%s: WRONG, differs from the loop by %g\n", net.name.c_str(), error);
      std::exit(1);
    }
    std::vector<double> a, b, c, d;
    for (int r = 0; r < 15; ++r) {
      a.push_back(seconds([&] { compiled(); }, 10));
      b.push_back(seconds([&] { batched(net); }, 10));
      c.push_back(seconds([&] { jacobian_by_loop(net); }, 1));
      if (!theirs.empty()) d.push_back(seconds(theirs[i].loop, 1));
    }
    std::printf("%-54s %10.1f %10.1f %10.1f", net.name.c_str(), 1e6 * median(a), 1e6 * median(b),
                1e6 * median(c));
    if (theirs.empty())
      std::printf(" %10s %10s\n", "-", "-");
    else
      std::printf(" %10.1f %9.1fx\n", 1e6 * median(d), median(d) / median(a));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--threads") == 0) {
    table(std::max(1, std::atoi(argv[2])));
    return 0;
  }
  table(1);
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  if (cores > 1) table(cores);
}
