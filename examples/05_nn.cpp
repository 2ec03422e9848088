// Listing 5: the two-layer network from modules, its parameters updated by hand.
#include "two_layer.h"

using namespace tandem;

int main() {
  using namespace two_layer;
  auto [x, y, w1, w2] = make_data();
  nn::Sequential model(nn::Linear(D_in, H), nn::ReLU(), nn::Linear(H, D_out));
  std::cout << model << '\n';

  // The same network from tensors alone, with the same first values, for comparison.
  std::vector<Tensor> by_hand;
  for (const Tensor& p : model->parameters())
    by_hand.push_back(p.detach().clone().set_requires_grad(true));

  const double learning_rate = 1e-2;
  double first = 0, last = 0, worst = 0;
  for (int t = 0; t < kSteps; ++t) {
    auto y_pred = model->forward(x);
    auto loss = nn::functional::mse_loss(y_pred, y);
    last = loss.item<double>();
    if (t == 0) first = last;
    report(t, last);
    loss.backward();
    {
      NoGradGuard no_grad;
      for (auto& param : model->parameters()) param -= learning_rate * param.grad();
    }
    model->zero_grad();

    auto h = (x.mm(by_hand[0].t()) + by_hand[1]).clamp_min(0);
    auto same = (h.mm(by_hand[2].t()) + by_hand[3] - y).pow(2).mean();
    worst = std::max(worst, std::abs(same.item<double>() - last) / last);
    same.backward();
    NoGradGuard no_grad;
    for (auto& w : by_hand) {
      w -= learning_rate * w.grad();
      w.grad().zero_();
    }
  }
  std::cout << "largest relative difference from the same network without modules: " << worst
            << '\n';
  return worst < 1e-4 && last < 0.5 * first ? 0 : 1;
}
