#include <tandem/tandem.h>

int main() {
  using namespace tandem;
  Tensor x = full({3}, 2.0, requires_grad());
  Tensor y = x.mul(x).add(1);
  y.backward(ones({3}));
  const Tensor w = ones({1, 3}).mm(x.grad().unsqueeze(1));
  std::cout << w.item<float>() << "\n";
  return y[0].item<float>() == 5 ? 0 : 1;
}
