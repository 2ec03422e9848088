#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

/// Shapes of all parameters of a network.
using ParameterShapes = std::vector<std::vector<int64_t>>;

#ifdef TANDEM_BENCH_LIBTORCH
namespace libtorch_bench {
void set_threads(int n);
/// A function that makes one step of that optimiser on parameters with gradients.
std::function<void()> step(const std::string& optimizer, const ParameterShapes& shapes);
}  // namespace libtorch_bench
#endif
