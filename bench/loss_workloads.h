#pragma once

// The losses that Tandem and LibTorch run alike: forward and backward. The includer has included
// its library's header first.

#include <memory>
#include <string>
#include <vector>

#include "bench/loss.h"

// Each library has a program of its own by these names.
namespace {

/// A loss of inputs that want a gradient.
struct LossProgram {
  std::vector<torch::Tensor> inputs;
  std::function<torch::Tensor(const std::vector<torch::Tensor>&)> loss;

  torch::Tensor operator()() {
    for (torch::Tensor& t : inputs) t.mutable_grad() = torch::Tensor();
    torch::Tensor l = loss(inputs);
    l.backward();
    return l.detach();
  }
};

template <class F>
void for_loss_workloads(const F& add) {
  using Inputs = std::vector<torch::Tensor>;
  namespace nnf = torch::nn::functional;
  const auto leaf = [](std::vector<int64_t> sizes) {
    return torch::randn(sizes).set_requires_grad(true);
  };
  const auto cross_entropy = [&](const char* id, int64_t rows, int64_t classes, int calls) {
    const torch::Tensor t = torch::randint(classes, {rows}, torch::kLong);
    add(id, "cross entropy [" + std::to_string(rows) + ", " + std::to_string(classes) + "]", calls,
        LossProgram{{leaf({rows, classes})},
                    [t](const Inputs& x) { return nnf::cross_entropy(x[0], t); }});
  };
  cross_entropy("", 128, 10, 200);
  cross_entropy("W7", 700, 10000, 2);
  cross_entropy("W9", 2048, 512, 5);
  {
    const torch::Tensor t = torch::randint(10000, {700}, torch::kLong);
    add("", "log_softmax, nll_loss [700, 10000]", 2,
        LossProgram{{leaf({700, 10000})}, [t](const Inputs& x) {
                      return nnf::nll_loss(torch::log_softmax(x[0], 1), t);
                    }});
    const torch::Tensor pixels = torch::randint(21, {4, 64, 64}, torch::kLong);
    add("", "cross entropy [4, 21, 64, 64]", 5,
        LossProgram{{leaf({4, 21, 64, 64})},
                    [pixels](const Inputs& x) { return nnf::cross_entropy(x[0], pixels); }});
  }
  {
    std::vector<int64_t> in(16, 50), of;
    for (int64_t i = 0; i < 16; ++i) of.push_back(10 + i * 20 / 15);
    const torch::Tensor targets = torch::randint(1, 21, {16, 30}, torch::kLong);
    const torch::Tensor input_lengths = torch::tensor(in, torch::kLong);
    const torch::Tensor target_lengths = torch::tensor(of, torch::kLong);
    add("W10", "CTC, 50 steps, batch 16, 20 labels", 10,
        LossProgram{{leaf({50, 16, 21})}, [=](const Inputs& x) {
                      return nnf::ctc_loss(torch::log_softmax(x[0], 2), targets, input_lengths,
                                           target_lengths);
                    }});
  }
  {
    const torch::Tensor y = torch::randn({128, 1000}), p = torch::sigmoid(y);
    add("", "mse_loss [128, 1000]", 20,
        LossProgram{{leaf({128, 1000})}, [y](const Inputs& x) { return nnf::mse_loss(x[0], y); }});
    add("", "smooth_l1_loss [128, 1000]", 20,
        LossProgram{{leaf({128, 1000})},
                    [y](const Inputs& x) { return nnf::smooth_l1_loss(x[0], y); }});
    add("", "binary_cross_entropy [128, 1000]", 20,
        LossProgram{{torch::sigmoid(torch::randn({128, 1000})).set_requires_grad(true)},
                    [p](const Inputs& x) { return nnf::binary_cross_entropy(x[0], p); }});
    add("", "binary_cross_entropy_with_logits [128, 1000]", 20,
        LossProgram{{leaf({128, 1000})}, [p](const Inputs& x) {
                      return nnf::binary_cross_entropy_with_logits(x[0], p);
                    }});
    add("", "multi_margin_loss [128, 1000]", 20,
        LossProgram{{leaf({128, 1000})},
                    [t = torch::randint(1000, {128}, torch::kLong)](const Inputs& x) {
                      return nnf::multi_margin_loss(x[0], t);
                    }});
    add("", "cdist [256, 64] x [256, 64]", 5,
        LossProgram{{leaf({256, 64}), leaf({256, 64})},
                    [](const Inputs& x) { return torch::cdist(x[0], x[1]).sum(); }});
    add("", "cdist p 1 [256, 64] x [256, 64]", 2,
        LossProgram{{leaf({256, 64}), leaf({256, 64})},
                    [](const Inputs& x) { return torch::cdist(x[0], x[1], 1).sum(); }});
  }
}

}  // namespace
