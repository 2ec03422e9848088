// W1, W5, W6 and W11 as programs without arguments, written once: Tandem and LibTorch compile the
// same text. Whoever includes this has made the name `torch` mean one of the two.
#pragma once

#include "bench/compile.h"
#include "bench/pointwise_workloads.h"

namespace {

// The perceptrons of W1: a whole step with the loss norm(y - pred) and plain gradient descent.
struct PerceptronStep {
  torch::Tensor x, y;
  std::vector<torch::Tensor> parameters;
  double flops = 0;

  PerceptronStep(int64_t batch, std::vector<int64_t> widths) {
    x = torch::randn({batch, widths.front()});
    y = torch::randn({batch, widths.back()});
    for (size_t i = 0; i + 1 < widths.size(); ++i) {
      parameters.push_back((torch::randn({widths[i], widths[i + 1]}) * 0.05).requires_grad_());
      parameters.push_back(torch::zeros({widths[i + 1]}).requires_grad_());
      // Forward, gradient by the weights, and by the input except for the first layer.
      flops += 2.0 * static_cast<double>(batch * widths[i] * widths[i + 1]) * (i == 0 ? 2 : 3);
    }
  }
  torch::Tensor operator()() {
    for (const torch::Tensor& p : parameters) p.mutable_grad().reset();
    torch::Tensor h = x;
    for (size_t i = 0; i < parameters.size(); i += 2)
      h = torch::relu(h.mm(parameters[i]) + parameters[i + 1]);
    torch::Tensor loss = (y - h).norm();
    loss.backward();
    torch::NoGradGuard no_grad;
    for (const torch::Tensor& p : parameters) p.sub_(p.grad(), 1e-3);
    return loss;
  }
};

// The network of W5, forward only.
struct ForwardPass {
  torch::Tensor x = torch::randn({64, 1000}), w1 = torch::randn({1000, 100}),
                w2 = torch::randn({100, 1000});
  // Whoever has the pointer may write: x counts as another one in every call.
  float* data = x.data_ptr<float>();
  torch::Tensor operator()() {
    torch::NoGradGuard no_grad;
    return x.mm(w1).clamp_min(0).mm(w2);
  }
};

struct RecurrentCell {
  torch::Tensor w_h = torch::randn({20, 20}).requires_grad_();
  torch::Tensor w_x = torch::randn({20, 10}).requires_grad_();
  torch::Tensor x = torch::randn({1, 10}), h = torch::randn({1, 20}), g = torch::ones({20, 1});
  torch::Tensor operator()() {
    w_h.mutable_grad().reset();
    w_x.mutable_grad().reset();
    torch::Tensor next = (w_x.mm(x.t()) + w_h.mm(h.t())).tanh();
    next.backward(g);
    return next;
  }
};

struct TinyPerceptron {
  torch::Tensor x = torch::randn({8, 16}), y = torch::randn({8, 4});
  torch::Tensor w1 = torch::randn({16, 32}).requires_grad_(),
                b1 = torch::zeros({32}).requires_grad_();
  torch::Tensor w2 = torch::randn({32, 4}).requires_grad_(),
                b2 = torch::zeros({4}).requires_grad_();
  torch::Tensor operator()() {
    for (const torch::Tensor& w : {w1, b1, w2, b2}) w.mutable_grad().reset();
    torch::Tensor hidden = torch::relu(x.mm(w1) + b1);
    torch::Tensor loss = (hidden.mm(w2) + b2 - y).pow(2).sum();
    loss.backward();
    return loss;
  }
};

// add(id, name, calls, flops, bytes, program) is called for each.
template <class Add>
void for_compile_workloads(const Add& add) {
  for (const auto& [name, hidden] :
       {std::pair<const char*, std::vector<int64_t>>{"784-512-10", {512}},
        {"784-354-354-10", {354, 354}},
        {"784-294-294-294-10", {294, 294, 294}}}) {
    std::vector<int64_t> widths{784};
    widths.insert(widths.end(), hidden.begin(), hidden.end());
    widths.push_back(10);
    const PerceptronStep step(128, widths);
    add("W1", std::string("step of the MLP ") + name + ", batch 128", 4, step.flops, 0.0, step);
  }
  add("W5", std::string("forward of 64 x 1000 -> 100 -> 1000"), 12, 2.0 * 64 * 1000 * 100 * 2, 0.0,
      ForwardPass());
  add("W6", std::string("recurrent cell, forward and backward"), 500, 0.0, 0.0, RecurrentCell());
  add("W6", std::string("MLP 16-32-4, batch 8, forward and backward"), 250, 0.0, 0.0,
      TinyPerceptron());
  for (const int64_t n : {1000, 100000, 10000000}) {
    const torch::Tensor x = torch::ones({n}) * 0.5;
    const int calls = static_cast<int>(n < 1000000 ? 60000 / (n / 100 + 100) : 1);
    const double bytes = 2.0 * sizeof(float) * static_cast<double>(n);
    for (const int ops : {2, 5, 20}) {
      const auto name = [&](const char* kind) {
        return std::string("chain of ") + std::to_string(ops) + " " + kind + ", " +
               std::to_string(n) + " elements";
      };
      add("W11", name("arithmetic"), calls, 0.0, bytes, [=] {
        torch::NoGradGuard no_grad;
        return arithmetic_chain(x, ops);
      });
      add("W11", name("activations"), calls, 0.0, bytes, [=] {
        torch::NoGradGuard no_grad;
        return activation_chain(x, ops);
      });
    }
  }
}

}  // namespace
