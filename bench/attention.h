#pragma once

#include <functional>
#include <string>
#include <vector>

/// A training step with attention in it that is run eager and compiled.
struct AttentionWorkload {
  std::string name;
  double flops;  // of its matrix products
  std::function<void()> step;
  std::function<void()> compiled;  // the same, compiled; empty for LibTorch
};

/// The same steps run by LibTorch.
std::vector<AttentionWorkload> libtorch_attention_workloads(int threads);
