// Listing 11: a two-layer network declared first, with its gradients, and run in a session later.
#include <iostream>

#include "tandem/tandem.h"

int main() {
  using namespace tandem;
  constexpr int64_t N = 64, D = 1000, H = 100;

  // The graph: shapes and dtypes, no values yet.
  graph::Builder b;
  auto x = b.placeholder({N, D}), y = b.placeholder({N, D});
  auto w1 = b.placeholder({D, H}), w2 = b.placeholder({H, D});
  auto h = x.mm(w1).clamp_min(0);
  auto y_pred = h.mm(w2);
  auto loss = (y_pred - y).pow(2).sum(1).mean();
  auto [grad_w1, grad_w2] = b.gradients<2>(loss, {w1, w2});
  std::cout << "declared: loss " << loss.type_of() << ", grad_w1 " << grad_w1.type_of() << '\n';

  // The values, and one run.
  manual_seed(0);
  auto x_values = randn({N, D}), y_values = randn({N, D});
  auto w1_values = randn({D, H}), w2_values = randn({H, D});
  graph::Session session(b);
  auto out = session.run({loss, grad_w1, grad_w2},
                         {{x, x_values}, {y, y_values}, {w1, w1_values}, {w2, w2_values}});
  std::cout << "loss " << out[0].item<float>() << ", |grad_w1| " << out[1].norm().item<float>()
            << ", |grad_w2| " << out[2].norm().item<float>() << '\n';

  // The same line by line.
  w1_values.requires_grad_();
  w2_values.requires_grad_();
  auto expected =
      (x_values.mm(w1_values).clamp_min(0).mm(w2_values) - y_values).pow(2).sum(1).mean();
  expected.backward();
  const bool same = allclose(out[0], expected.detach()) &&
                    allclose(out[1], w1_values.grad(), 1e-4, 1e-2) &&
                    allclose(out[2], w2_values.grad(), 1e-4, 1e-2);
  std::cout << "as when run line by line: " << (same ? "yes" : "no") << '\n';

  // Steps of gradient descent, with the weights fed anew each time.
  const float first = out[0].item<float>();
  for (int step = 0; step < 20; ++step) {
    NoGradGuard no_grad;
    w1_values -= 1e-5 * out[1];
    w2_values -= 1e-5 * out[2];
    out = session.run({loss, grad_w1, grad_w2},
                      {{x, x_values}, {y, y_values}, {w1, w1_values}, {w2, w2_values}});
  }
  std::cout << "loss after 20 steps " << out[0].item<float>() << '\n';
  return same && out[0].item<float>() < 0.5f * first ? 0 : 1;
}
