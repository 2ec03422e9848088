#include <torch/torch.h>

#include "bench/compile_workloads.h"

std::vector<CompileWorkload> libtorch_compile_workloads(int threads) {
  torch::set_num_threads(threads);
  std::vector<CompileWorkload> all;
  for_compile_workloads(
      [&](const char* id, std::string name, int calls, double flops, double bytes, auto program) {
        all.push_back(
            {id, std::move(name), calls, flops, bytes, [program]() mutable { program(); }, {}});
      });
  return all;
}
