#pragma once

// Written once for both libraries: `torch` is LibTorch, or an alias of tandem. Sizes are those of
// ResNet-50 with a batch of 4 and of a transformer of width 512 with 8 times 256 tokens.
#include "bench/norm.h"

// Both libraries' programs have classes of these names.
namespace {

/// A module applied to x, and the gradients by x and its parameters.
template <class M>
struct LayerStep {
  std::vector<torch::Tensor> operator()() {
    torch::Tensor y = module->forward(x);
    std::vector<torch::Tensor> inputs = module->parameters();
    if (x.requires_grad()) inputs.push_back(x);
    return torch::autograd::grad({y}, inputs, {g});
  }
  M module;
  torch::Tensor x, g;
};
/// A batch norm with the activation behind it.
struct NormReluStep {
  std::vector<torch::Tensor> operator()() {
    torch::Tensor y = torch::relu(norm->forward(x));
    return torch::autograd::grad({y}, {x, norm->weight, norm->bias}, {g});
  }
  torch::nn::BatchNorm2d norm;
  torch::Tensor x, g;
};

/// add(name, bytes, program) for each workload.
template <class F>
void for_norm_workloads(const F& add) {
  const auto real = [](std::vector<int64_t> sizes) {
    return torch::randn(sizes).set_requires_grad(true);
  };
  const struct {
    int64_t channels, side;
  } kMaps[] = {{64, 112}, {256, 56}, {512, 28}, {1024, 14}, {2048, 7}};
  for (const auto& m : kMaps) {
    const std::vector<int64_t> sizes{4, m.channels, m.side, m.side};
    const double n = 4.0 * 4 * static_cast<double>(m.channels * m.side * m.side);
    const std::string shape = "4x" + std::to_string(m.channels) + "x" + std::to_string(m.side) +
                              "x" + std::to_string(m.side);
    // Moments and normalising: 3 passes; backward: 2 and 3.
    add("batch norm " + shape, 8 * n,
        LayerStep<torch::nn::BatchNorm2d>{torch::nn::BatchNorm2d(m.channels), real(sizes),
                                          torch::randn(sizes)});
    add("batch norm, relu " + shape, 8 * n,
        NormReluStep{torch::nn::BatchNorm2d(m.channels), real(sizes), torch::randn(sizes)});
  }
  {
    const double n = 4.0 * 8 * 256 * 512;
    // Forward: 2 passes; backward by the input 3, by the parameters 2.
    add("layer norm 8x256x512", 7 * n,
        LayerStep<torch::nn::LayerNorm>{torch::nn::LayerNorm(std::vector<int64_t>{512}),
                                        real({8, 256, 512}), torch::randn({8, 256, 512})});
    add("group norm 8x256x28x28, 32 groups", 8 * 4.0 * 8 * 256 * 28 * 28,
        LayerStep<torch::nn::GroupNorm>{torch::nn::GroupNorm(32, 256), real({8, 256, 28, 28}),
                                        torch::randn({8, 256, 28, 28})});
    // 2 passes each way, and a byte an element for the mask.
    add("dropout 8x256x512", 4.5 * n,
        LayerStep<torch::nn::Dropout>{torch::nn::Dropout(0.1), real({8, 256, 512}),
                                      torch::randn({8, 256, 512})});
  }
  {
    // 2048 tokens of 10000, width 512: rows read and written, and a table of gradients.
    const double n = 4.0 * 512;
    add("embedding 10000x512, 8x256 tokens", n * (2 * 2048 + 2048 + 10000),
        LayerStep<torch::nn::Embedding>{torch::nn::Embedding(10000, 512),
                                        torch::randint(0, 10000, {8, 256}),
                                        torch::randn({8, 256, 512})});
  }
}

}  // namespace
