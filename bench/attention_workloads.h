// W9 and what is near it, as programs without arguments, written once: Tandem and LibTorch compile
// the same text. Whoever includes this has made the name `torch` mean one of the two.
#pragma once

#include "bench/attention.h"

namespace {

// A layer of self-attention with cross entropy behind it, forward and backward, by its input too.
struct SelfAttention {
  int64_t length, batch, width, heads;
  torch::nn::MultiheadAttention layer;
  torch::Tensor x, target;

  SelfAttention(int64_t length, int64_t batch, int64_t width, int64_t heads)
      : length(length), batch(batch), width(width), heads(heads), layer(width, heads) {
    x = torch::randn({length, batch, width}).requires_grad_();
    target = torch::randint(0, width, {length * batch}, torch::kLong);
  }
  torch::Tensor operator()() {
    for (const torch::Tensor& p : layer->parameters()) p.mutable_grad().reset();
    x.mutable_grad().reset();
    const torch::Tensor out =
        std::get<0>(layer->forward(x, x, x, torch::Tensor(), /*need_weights=*/false));
    const torch::Tensor loss =
        torch::nn::functional::cross_entropy(out.reshape({length * batch, width}), target);
    loss.backward();
    return loss;
  }
  // Projections: 4 products forward, twice as many backward; attention: 2 forward, 5 backward, of
  // which one makes the scores again and is not counted.
  double flops() const {
    const double tokens = static_cast<double>(length * batch), w = static_cast<double>(width);
    return 3 * 4 * 2 * tokens * w * w + 3 * 2 * 2 * tokens * static_cast<double>(length) * w;
  }
};

// add(name, flops, program) is called for each.
template <class Add>
void for_attention_workloads(const Add& add) {
  const auto one = [&](const char* name, int64_t length, int64_t batch, int64_t width,
                       int64_t heads) {
    SelfAttention s(length, batch, width, heads);
    add(std::string(name), s.flops(), s);
  };
  one("W9: 8 x 256 tokens, 512 wide, 8 heads", 256, 8, 512, 8);
  one("2 x 1024 tokens, 256 wide, 4 heads", 1024, 2, 256, 4);
  one("32 x 64 tokens, 256 wide, 4 heads", 64, 32, 256, 4);
}

}  // namespace
