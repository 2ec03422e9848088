#pragma once

#include "tandem/nn/nn.h"
#include "tandem/ops/ops.h"
#include "tandem/optim/optim.h"
#include "tandem/train/train.h"

/// A small task, and what learns it.
namespace tandem {

/// Points around the corners of a square; opposite corners are one class.
struct Corners {
  Tensor x, y;
  explicit Corners(int64_t n) {
    const Tensor bits = randint(2, {n, 2});
    x = bits.to(kFloat) * 2 - 1 + randn({n, 2}) * 0.2;
    y = bits.select(1, 0).ne(bits.select(1, 1)).to(kLong);
  }
};

inline nn::Sequential small_net() {
  return nn::Sequential(nn::Linear(2, 16), nn::Tanh(), nn::Dropout(0.1), nn::Linear(16, 2));
}

inline ModelOptions classifier(bool compiled = true) {
  return {.loss = "cross_entropy",
          .optimizer = optim::AdamOptions(0.02),
          .metrics = {"accuracy"},
          .compiled = compiled};
}

struct Rows : data::datasets::Dataset<Rows> {
  explicit Rows(Corners c) : c(std::move(c)) {}
  data::Example<> get(size_t i) override {
    return {c.x[static_cast<int64_t>(i)], c.y[static_cast<int64_t>(i)]};
  }
  std::optional<size_t> size() const override { return static_cast<size_t>(c.x.size(0)); }
  Corners c;
};

}  // namespace tandem
