#pragma once

#include <functional>
#include <string>
#include <vector>

struct OverheadWorkload {
  std::string name;
  int ops;    // what one call is divided by
  int calls;  // in one round
  std::function<void()> call;
};

/// The workloads of W6 run by LibTorch.
std::vector<OverheadWorkload> libtorch_workloads(int threads);
