// Listing 19: the graph is made by running the code, line by line.
#include <iostream>

#include "tandem/tandem.h"

int main() {
  using namespace tandem;
  manual_seed(0);
  auto W_h = randn({20, 20}, requires_grad());
  auto W_x = randn({20, 10}, requires_grad());
  auto x = randn({1, 10});
  auto prev_h = randn({1, 20});

  auto i2h = W_x.mm(x.t());
  auto h2h = W_h.mm(prev_h.t());
  auto next_h = (i2h + h2h).tanh();

  const Graph graph = Graph::of({next_h});  // nodes, in the order in which they were made
  std::cout << graph;
  next_h.backward(ones({20, 1}));

  // By hand: the gradient of tanh is 1 - tanh^2, that of a product the other factor.
  const auto inner = (1 - next_h * next_h).detach();
  const bool right = allclose(W_x.grad(), inner.mm(x), 1e-4, 1e-5) &&
                     allclose(W_h.grad(), inner.mm(prev_h), 1e-4, 1e-5) && graph.nodes.size() >= 6;
  std::cout << (right ? "both gradients are as by hand\n" : "a gradient is WRONG\n");
  return right ? 0 : 1;
}
