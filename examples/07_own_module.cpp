// Listing 7: a module of one's own.
#include "two_layer.h"

using namespace tandem;

struct TwoLayerNetImpl : nn::Module {
  TwoLayerNetImpl(int64_t D_in, int64_t H, int64_t D_out)
      : linear1(register_module("linear1", nn::Linear(D_in, H))),
        linear2(register_module("linear2", nn::Linear(H, D_out))) {}
  Tensor forward(const Tensor& x) {
    auto h_relu = linear1(x).clamp_min(0);
    return linear2(h_relu);
  }
  nn::Linear linear1, linear2;
};
TANDEM_MODULE(TwoLayerNet);

int main() {
  using namespace two_layer;
  auto [x, y, w1, w2] = make_data();
  TwoLayerNet model(D_in, H, D_out);
  std::cout << model << '\n';
  for (const auto& p : model->named_parameters())
    std::cout << p.key() << ' ' << p.value().sizes() << '\n';
  optim::SGD optimizer(model->parameters(), optim::SGDOptions(1e-1));
  double first = 0, last = 0;
  for (int t = 0; t < kSteps; ++t) {
    auto loss = nn::functional::mse_loss(model(x), y);
    last = loss.item<double>();
    if (t == 0) first = last;
    report(t, last);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
  }
  // A batch that does not fit is refused with the layer's name.
  std::string message;
  try {
    model(x.t());
  } catch (const ShapeError& e) {
    message = e.what();
  }
  std::cout << message << '\n';
  const bool named = message.find("TwoLayerNet -> linear1: Linear(") != std::string::npos;
  return named && model->parameters().size() == 4 && last < 0.05 * first ? 0 : 1;
}
