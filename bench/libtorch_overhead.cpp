#include <torch/torch.h>

#include "bench/overhead_workloads.h"

std::vector<OverheadWorkload> libtorch_workloads(int threads) {
  torch::set_num_threads(threads);
  return make_workloads();
}
