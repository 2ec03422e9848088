// Listing 4: a function with a gradient of one's own, in the loop of listing 3.
#include "two_layer.h"

struct MyReLU : tandem::autograd::Function<MyReLU> {
  static tandem::Tensor forward(tandem::autograd::AutogradContext* ctx, const tandem::Tensor& x) {
    ctx->save_for_backward({x});
    return x.clamp(0);
  }
  static tandem::variable_list backward(tandem::autograd::AutogradContext* ctx,
                                        tandem::variable_list grad_y) {
    auto x = ctx->get_saved_variables()[0];
    return {grad_y[0] * (x >= 0)};
  }
};

int main() {
  using namespace two_layer;
  auto [x, y, w1, w2] = make_data();
  w1.requires_grad_();
  w2.requires_grad_();
  std::vector<double> losses;
  std::cout << "MyReLU:\n";
  for (int t = 0; t < kSteps; ++t) {
    auto y_pred = MyReLU::apply(x.mm(w1)).mm(w2);
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
