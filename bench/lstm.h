#pragma once

#include <functional>
#include <memory>

/// A step of training, and the floating-point operations of its matrix products.
struct LstmWorkload {
  std::function<void()> step;
  std::function<void()> compiled;  // the same, compiled; empty for LibTorch
  double flops = 0;
};

/// The same step run by LibTorch.
LstmWorkload libtorch_lstm_workload(int threads);
