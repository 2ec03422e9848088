#include <torch/torch.h>

#include "bench/models_workloads.h"

void libtorch_set_threads(int threads) { torch::set_num_threads(threads); }

std::vector<ModelWorkload> libtorch_model_workloads() {
  std::vector<ModelWorkload> all;
  for_model_workloads([&](const char* id, std::string name, double flops, auto make) {
    all.push_back({id,
                   std::move(name),
                   flops,
                   [make] {
                     auto program = make();
                     return std::function<void()>([program] { program(); });
                   },
                   {}});
  });
  return all;
}
