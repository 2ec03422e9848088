// Listing 3: the network of listing 2; autograd computes the gradients, and the losses are the
// same.
#include "two_layer.h"

int main() {
  using namespace two_layer;
  auto [x, y, w1, w2] = make_data();
  w1.requires_grad_();
  w2.requires_grad_();
  std::vector<double> losses;
  std::cout << "autograd:\n";
  for (int t = 0; t < kSteps; ++t) {
    auto y_pred = x.mm(w1).clamp_min(0).mm(w2);
    auto loss = (y_pred - y).pow(2).sum();
    losses.push_back(loss.item<double>());
    report(t, losses.back());
    loss.backward();
    tandem::NoGradGuard no_grad;
    w1 -= kLearningRate * w1.grad();
    w2 -= kLearningRate * w2.grad();
    w1.grad().zero_();
    w2.grad().zero_();
  }
  return agrees_with_hand(losses) ? 0 : 1;
}
