// The nets of W3, written once: Tandem and LibTorch compile the same text. Whoever includes this
// has made the name `torch` mean one of the two.
#pragma once

#include "bench/jacobian.h"

namespace {

using Tensors = std::vector<torch::Tensor>;

struct SmallNet {
  std::string name;
  Tensors parameters;
  std::function<torch::Tensor(const Tensors&)> forward;  // of the parameters
};

inline std::vector<SmallNet> small_nets() {
  torch::manual_seed(0);
  const auto weight = [](std::vector<int64_t> sizes) {
    return (torch::randn(sizes) * 0.3).requires_grad_();
  };
  std::vector<SmallNet> nets;
  const torch::Tensor rows = torch::randn({8, 16}), image = torch::randn({1, 1, 16, 16}),
                      steps = torch::randn({10, 1, 8}), state = torch::zeros({1, 1, 16});
  nets.push_back({"fully connected 16-32-32-10, batch 8",
                  {weight({32, 16}), weight({32}), weight({32, 32}), weight({32}), weight({10, 32}),
                   weight({10})},
                  [=](const Tensors& p) {
                    torch::Tensor h = torch::linear(rows, p[0], p[1]).tanh();
                    h = torch::linear(h, p[2], p[3]).tanh();
                    return torch::linear(h, p[4], p[5]);
                  }});
  nets.push_back({"convolutional 16 x 16, 8 filters, pooling, 10 scores",
                  {weight({8, 1, 3, 3}), weight({8}), weight({10, 8 * 7 * 7}), weight({10})},
                  [=](const Tensors& p) {
                    torch::Tensor h = torch::relu(torch::conv2d(image, p[0], p[1]));
                    h = torch::max_pool2d(h, {2, 2});
                    return torch::linear(h.flatten(1), p[2], p[3]);
                  }});
  nets.push_back({"LSTM layer of 16, 10 steps of 8 numbers",
                  {weight({64, 8}), weight({64, 16}), weight({64}), weight({64})},
                  [=](const Tensors& p) {
                    return std::get<0>(
                        torch::lstm(steps, {state, state}, p, true, 1, 0.0, false, false, false));
                  }});
  return nets;
}

// All derivatives of all results by all parameters, one result after the other.
inline Tensors jacobian_by_loop(const SmallNet& net) {
  const torch::Tensor y = net.forward(net.parameters).flatten();
  std::vector<Tensors> rows(net.parameters.size());
  for (int64_t i = 0; i < y.numel(); ++i) {
    const auto grads = torch::autograd::grad({y[i]}, net.parameters, {}, /*retain_graph=*/true,
                                             /*create_graph=*/false, /*allow_unused=*/true);
    for (size_t k = 0; k < rows.size(); ++k)
      rows[k].push_back(grads[k].defined() ? grads[k] : torch::zeros_like(net.parameters[k]));
  }
  Tensors result;
  for (const Tensors& r : rows) result.push_back(torch::stack(r));
  return result;
}

}  // namespace
