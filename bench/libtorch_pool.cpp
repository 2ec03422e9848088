#include <torch/torch.h>

#include "bench/pool_workloads.h"

std::vector<PoolWorkload> libtorch_pool_workloads() { return make_pool_workloads(); }

void libtorch_set_threads(int threads) { torch::set_num_threads(threads); }
