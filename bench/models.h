#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

/// A training step, or an inference, of a whole model.
struct ModelWorkload {
  std::string id, name;
  double flops;  // of its products and convolutions; 0: not counted
  /// Makes the model and its data, and gives the step. It is made only when it is measured:
  /// together the models would not fit the memory of small machines.
  std::function<std::function<void()>()> eager, compiled;
};

/// The same models run by LibTorch.
std::vector<ModelWorkload> libtorch_model_workloads();
void libtorch_set_threads(int threads);
