#pragma once

#include <functional>
#include <string>
#include <vector>

struct JacobianWorkload {
  std::string name;
  std::function<void()> loop;  // a backward pass for each row
};

/// The nets of W3 run by LibTorch.
std::vector<JacobianWorkload> libtorch_workloads(int threads);
