// Listing 24, the circuit: f = 1 / (1 + exp(-(w0 x0 + w1 x1 + w2))) and its gradients, as on paper.
#include <cmath>
#include <iostream>

#include "tandem/tandem.h"

namespace {

bool check(const char* what, const tandem::Tensor& got, std::vector<double> paper) {
  bool right = got.numel() == static_cast<int64_t>(paper.size());
  std::cout << what << ':';
  for (size_t i = 0; i < paper.size(); ++i) {
    const double value = got.view({-1})[static_cast<int64_t>(i)].item<double>();
    std::cout << ' ' << value << " (on paper " << paper[i] << ')';
    right &= std::abs(value - paper[i]) < 1e-4;
  }
  std::cout << (right ? "\n" : "  WRONG\n");
  return right;
}

}  // namespace

int main() {
  using namespace tandem;
  auto w = tensor({1.0, -2.0, 1.0}, dtype(kDouble).requires_grad(true));
  auto x = tensor({-1.0, 1.0}, dtype(kDouble).requires_grad(true));
  auto f = 1 / (1 + exp(-(w[0] * x[0] + w[1] * x[1] + w[2])));
  f.backward();
  bool right = check("f", f, {0.1192});
  right &= check("df/dw", w.grad(), {-0.1050, 0.1050, 0.1050});
  right &= check("df/dx", x.grad(), {0.1050, -0.2100});
  return right ? 0 : 1;
}
