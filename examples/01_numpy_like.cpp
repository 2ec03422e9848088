// Listing 1: tensors behave like NumPy arrays, and remember how they were made.
#include <iostream>

#include "tandem/tandem.h"

int main() {
  using namespace tandem;
  manual_seed(0);
  auto x = randn({3, 4}, requires_grad());
  auto y = randn({3, 4}, requires_grad());
  auto z = randn({3, 4}, requires_grad());

  auto a = x * y;
  auto b = a + z;
  auto c = b.sum();
  c.backward();

  std::cout << "c = " << c.item<float>() << "\nx.grad =\n" << x.grad() << '\n';
  const bool right = equal(x.grad(), y) && equal(y.grad(), x) && equal(z.grad(), ones({3, 4}));
  std::cout << (right ? "x.grad equals y, y.grad equals x, z.grad is 1\n"
                      : "a gradient is WRONG\n");
  return right ? 0 : 1;
}
