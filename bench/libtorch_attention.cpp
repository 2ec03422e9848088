#include <torch/torch.h>

#include "bench/attention_workloads.h"

std::vector<AttentionWorkload> libtorch_attention_workloads(int threads) {
  torch::set_num_threads(threads);
  std::vector<AttentionWorkload> all;
  for_attention_workloads([&](std::string name, double flops, auto program) {
    all.push_back({std::move(name), flops, [program]() mutable { program(); }, {}});
  });
  return all;
}
