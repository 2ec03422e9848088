#include <torch/torch.h>

#include "bench/norm_workloads.h"

std::vector<NormWorkload> libtorch_norm_workloads(int threads) {
  torch::set_num_threads(threads);
  std::vector<NormWorkload> all;
  for_norm_workloads([&](std::string name, double bytes, auto program) {
    all.push_back({std::move(name), bytes, [program]() mutable { program(); }, {}});
  });
  return all;
}
