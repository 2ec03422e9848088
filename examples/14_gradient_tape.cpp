// Listing 14: the two-layer network with a gradient tape.
#include "two_layer.h"

int main() {
  using namespace two_layer;
  auto [x, y, w1, w2] = make_data();
  std::vector<double> losses;
  std::cout << "gradient tape:\n";
  for (int t = 0; t < kSteps; ++t) {
    std::vector<tandem::Tensor> gradients;
    {
      tandem::GradientTape tape;
      tape.watch({w1, w2});
      auto h = x.mm(w1).clamp_min(0);
      auto y_pred = h.mm(w2);
      auto loss = (y_pred - y).pow(2).sum();
      losses.push_back(loss.item<double>());
      gradients = tape.gradient(loss, {w1, w2});
    }
    report(t, losses.back());
    w1 -= kLearningRate * gradients[0];
    w2 -= kLearningRate * gradients[1];
  }
  return agrees_with_hand(losses) ? 0 : 1;
}
