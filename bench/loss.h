#pragma once

#include <functional>
#include <string>
#include <vector>

/// A loss with its gradient, run eager and compiled.
struct LossWorkload {
  std::string id, name;
  int calls;  // in one round
  std::function<void()> call;
  std::function<void()> compiled;  // the same, compiled; empty for LibTorch
};

/// The same losses run by LibTorch.
std::vector<LossWorkload> libtorch_loss_workloads(int threads);
