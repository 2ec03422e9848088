#pragma once

#include <functional>
#include <string>
#include <vector>

/// A layer, forward and backward, of one library.
struct NormWorkload {
  std::string name;
  double bytes;  // that the passes over its tensors move at least
  std::function<void()> call;
  std::function<void()> compiled;  // empty for LibTorch
};

/// The same layers run by LibTorch.
std::vector<NormWorkload> libtorch_norm_workloads(int threads);
