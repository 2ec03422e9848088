#include <torch/torch.h>

#include "bench/pointwise_workloads.h"

std::vector<PointwiseWorkload> libtorch_pointwise_workloads() {
  auto all = make_pointwise_workloads();
  for (auto& w : all)
    w.call = [call = std::move(w.call)] {
      torch::NoGradGuard no_grad;
      call();
    };
  return all;
}

void libtorch_set_threads(int threads) { torch::set_num_threads(threads); }
