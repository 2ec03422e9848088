#include <torch/torch.h>

#include "bench/jacobian_workloads.h"

std::vector<JacobianWorkload> libtorch_workloads(int threads) {
  torch::set_num_threads(threads);
  std::vector<JacobianWorkload> all;
  for (const SmallNet& net : small_nets())
    all.push_back({net.name, [net] { jacobian_by_loop(net); }});
  return all;
}
