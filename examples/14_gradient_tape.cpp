// Listing 14: the two-layer network with a gradient tape; the same with an optimiser that takes the
// tape's gradients; and with a ready-made loss.
#include "two_layer.h"

namespace {

using namespace two_layer;

enum class Variant { kByHand, kOptimizer, kReadyMadeLoss };

std::vector<double> train(Variant variant) {
  auto [x, y, w1, w2] = make_data();
  tandem::optim::SGD optimizer({w1, w2}, kLearningRate);
  std::vector<double> losses;
  for (int t = 0; t < kSteps; ++t) {
    std::vector<tandem::Tensor> gradients;
    {
      tandem::GradientTape tape;
      tape.watch({w1, w2});
      auto h = x.mm(w1).clamp_min(0);
      auto y_pred = h.mm(w2);
      auto loss = variant == Variant::kReadyMadeLoss
                      ? tandem::mse_loss(y_pred, y, tandem::Reduction::Sum)
                      : (y_pred - y).pow(2).sum();
      losses.push_back(loss.item<double>());
      gradients = tape.gradient(loss, {w1, w2});
    }
    report(t, losses.back());
    if (variant == Variant::kByHand) {
      w1 -= kLearningRate * gradients[0];
      w2 -= kLearningRate * gradients[1];
    } else {
      optimizer.apply_gradients({{gradients[0], w1}, {gradients[1], w2}});
    }
  }
  return losses;
}

}  // namespace

int main() {
  std::cout << "gradient tape:\n";
  bool good = agrees_with_hand(train(Variant::kByHand));
  std::cout << "gradient tape and optimiser:\n";
  good &= agrees_with_hand(train(Variant::kOptimizer));
  std::cout << "gradient tape, optimiser and ready-made loss:\n";
  good &= agrees_with_hand(train(Variant::kReadyMadeLoss));
  return good ? 0 : 1;
}
