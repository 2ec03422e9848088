// The workloads of W6, written once: Tandem and LibTorch compile the same text. Whoever includes
// this has made the name `torch` mean one of the two.
#include "bench/overhead.h"

namespace {

struct Add {
  torch::Tensor a = torch::ones({4}), b = torch::ones({4});
  explicit Add(bool grad) {
    if (grad) a.requires_grad_();
  }
  void operator()() { torch::Tensor c = a + b; }
};

// One hundred additions, one after the other, and back.
struct Chain {
  torch::Tensor x = torch::ones({4}).requires_grad_(), b = torch::ones({4}), g = torch::ones({4});
  void operator()() {
    torch::Tensor y = x;
    for (int i = 0; i < 100; ++i) y = y + b;
    y.backward(g);
    x.mutable_grad().reset();
  }
};

struct Cell {
  torch::Tensor w_h = torch::randn({20, 20}).requires_grad_();
  torch::Tensor w_x = torch::randn({20, 10}).requires_grad_();
  torch::Tensor x = torch::randn({1, 10}), h = torch::randn({1, 20}), g = torch::ones({20, 1});
  void operator()() {
    torch::Tensor i2h = w_x.mm(x.t());
    torch::Tensor h2h = w_h.mm(h.t());
    torch::Tensor next = (i2h + h2h).tanh();
    next.backward(g);
    w_h.mutable_grad().reset();
    w_x.mutable_grad().reset();
  }
};

struct Mlp {
  torch::Tensor x = torch::randn({8, 16}), y = torch::randn({8, 4});
  torch::Tensor w1 = torch::randn({16, 32}).requires_grad_(),
                b1 = torch::zeros({32}).requires_grad_();
  torch::Tensor w2 = torch::randn({32, 4}).requires_grad_(),
                b2 = torch::zeros({4}).requires_grad_();
  void operator()() {
    torch::Tensor hidden = torch::relu(x.mm(w1) + b1);
    torch::Tensor loss = (hidden.mm(w2) + b2 - y).pow(2).sum();
    loss.backward();
    for (const torch::Tensor& w : {w1, b1, w2, b2}) w.mutable_grad().reset();
  }
};

std::vector<OverheadWorkload> make_workloads() {
  return {
      {"add, 4 elements", 1, 20000, Add(false)},
      {"add, recorded for gradient", 1, 20000, Add(true)},
      {"chain of 100 adds, forward and backward, an op", 100, 200, Chain()},
      {"recurrent cell, forward and backward", 1, 2000, Cell()},
      {"MLP 16-32-4, batch 8, forward and backward", 1, 1000, Mlp()},
  };
}

}  // namespace
