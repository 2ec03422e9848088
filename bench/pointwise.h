#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

/// A chain of pointwise functions on one tensor.
struct PointwiseWorkload {
  std::string name;
  int ops;
  int64_t elements;
  std::function<void()> call;
};

/// The chains run by LibTorch.
std::vector<PointwiseWorkload> libtorch_pointwise_workloads();
void libtorch_set_threads(int threads);
