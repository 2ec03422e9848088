// Listing 6: the two-layer network trained by an optimiser, Adam.
#include "two_layer.h"

using namespace tandem;

int main() {
  using namespace two_layer;
  auto [x, y, w1, w2] = make_data();
  nn::Sequential model(nn::Linear(D_in, H), nn::ReLU(), nn::Linear(H, D_out));
  optim::Adam optimizer(model->parameters(), optim::AdamOptions(1e-4));
  double first = 0, last = 0;
  for (int t = 0; t < kSteps; ++t) {
    auto y_pred = model->forward(x);
    auto loss = nn::functional::mse_loss(y_pred, y);
    last = loss.item<double>();
    if (t == 0) first = last;
    report(t, last);
    loss.backward();
    optimizer.step();
    optimizer.zero_grad();
  }
  std::cout << "the loss went from " << first << " to " << last << '\n';
  return last < 0.05 * first ? 0 : 1;
}
