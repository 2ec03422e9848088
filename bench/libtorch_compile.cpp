#include <torch/torch.h>

#include "bench/compile_workloads.h"

std::vector<CompileWorkload> libtorch_compile_workloads(int threads) {
  torch::set_num_threads(threads);
  return make_compile_workloads();
}
