#pragma once

#include <functional>
#include <string>
#include <vector>

/// Pooling or resampling of one image tensor: forward alone, and forward with backward.
struct PoolWorkload {
  std::string name;
  std::function<void()> forward, both;
};

/// The same run by LibTorch.
std::vector<PoolWorkload> libtorch_pool_workloads();
void libtorch_set_threads(int threads);
