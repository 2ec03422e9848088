// Listing 22: the 28x28 convolutional classifier, trained in one process.
#include <iostream>

#include "examples/common/classifier.h"

int main() {
  const classifier::Data train = classifier::make_data(1280, 1),
                         test = classifier::make_data(400, 2);
  auto net = classifier::make_network();
  std::cout << net << '\n';
  const double before = classifier::accuracy(net, test);
  const std::vector<double> losses = classifier::train_in_one_process(net, train);
  for (size_t i = 0; i < losses.size(); i += 10)
    std::cout << "step " << i << "  loss " << losses[i] << '\n';
  const double after = classifier::accuracy(net, test);
  std::cout << "accuracy on unseen digits: " << before << " before, " << after << " after\n";

  // The same again gives the same, bit for bit: what other ways of training are compared with.
  auto again = classifier::make_network();
  const bool same = classifier::train_in_one_process(again, train) == losses;
  std::cout << "a second run gives " << (same ? "the same" : "other") << " losses\n";
  return after > 0.7 && losses.back() < 0.6 * losses.front() && same ? 0 : 1;
}
