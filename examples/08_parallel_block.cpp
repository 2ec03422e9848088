// Listing 8: a block of one's own, two linear layers side by side, stacked in a Sequential.
#include "two_layer.h"

using namespace tandem;

struct ParallelBlockImpl : nn::Module {
  ParallelBlockImpl(int64_t D_in, int64_t D_out)
      : linear1(register_module("linear1", nn::Linear(D_in, D_out))),
        linear2(register_module("linear2", nn::Linear(D_in, D_out))) {}
  Tensor forward(const Tensor& x) { return (linear1(x) * linear2(x)).clamp_min(0); }
  nn::Linear linear1, linear2;
};
TANDEM_MODULE(ParallelBlock);

int main() {
  using namespace two_layer;
  auto [x, y, w1, w2] = make_data();
  nn::Sequential model(ParallelBlock(D_in, H), ParallelBlock(H, H), nn::Linear(H, D_out));
  std::cout << model << '\n';
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
  return model->parameters().size() == 10 && last < 0.5 * first ? 0 : 1;
}
