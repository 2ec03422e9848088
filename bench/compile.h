#pragma once

#include <functional>
#include <string>
#include <vector>

/// A program that is run eager and compiled.
struct CompileWorkload {
  std::string id, name;
  int calls;     // in one round
  double flops;  // of its matrix products; 0: it has none worth counting
  double bytes;  // that a single kernel for it would move; 0: it is not about memory
  std::function<void()> call;
  std::function<void()> compiled;  // the same, compiled; empty for LibTorch
};

/// The same programs run by LibTorch.
std::vector<CompileWorkload> libtorch_compile_workloads(int threads);
