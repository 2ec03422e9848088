#include <torch/torch.h>

#include "bench/loss_workloads.h"

std::vector<LossWorkload> libtorch_loss_workloads(int threads) {
  torch::set_num_threads(threads);
  std::vector<LossWorkload> all;
  for_loss_workloads([&](const char* id, std::string name, int calls, auto program) {
    all.push_back({id, std::move(name), calls, [program]() mutable { program(); }, {}});
  });
  return all;
}
