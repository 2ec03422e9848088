// Listing 13: a running sum as a scan, declared and run in a session, and differentiated.
#include <iostream>

#include "tandem/tandem.h"

int main() {
  using namespace tandem;
  auto running_sum = [](const Tensor& xs) {
    return scan(
        [](Tensor sum, Tensor x) {
          Tensor next = sum + x;
          return std::pair{next, next};
        },
        zeros({}), xs);
  };

  graph::Builder b;
  auto xs = b.placeholder({4});
  auto [last, sums] = running_sum(xs);
  auto [gradient] = b.gradients<1>(sums.sum(), {xs});
  graph::Session session(b);
  auto values = tensor({1, 2, 2, 2}, kFloat);
  auto out = session.run({sums, last, gradient}, {{xs, values}});
  std::cout << "running sum:\n" << out[0] << "\nlast: " << out[1].item<float>() << '\n';
  std::cout << "gradient of their sum:\n" << out[2] << '\n';

  // Without a graph the same lines are a plain loop.
  auto eager = running_sum(values).second;
  const bool right = equal(out[0], tensor({1, 3, 5, 7}, kFloat)) && out[1].item<float>() == 7 &&
                     equal(out[2], tensor({4, 3, 2, 1}, kFloat)) && equal(eager, out[0]);
  std::cout << (right ? "as expected" : "wrong") << '\n';
  return right ? 0 : 1;
}
