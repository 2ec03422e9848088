// Listing 18: a cell, traced, printed and called.
#include <iostream>

#include "tandem/tandem.h"

using namespace tandem;

namespace {

struct MyCell {
  Tensor weight = randn({4, 4}), bias = randn({4});

  Tensor linear(const Tensor& x) const { return addmm(bias, x, weight.t()); }
  std::tuple<Tensor, Tensor> operator()(const Tensor& x, const Tensor& h) const {
    Tensor new_h = (linear(x) + h).tanh();
    return {new_h, new_h};
  }
};

}  // namespace

int main() {
  manual_seed(0);
  const MyCell cell;
  const Tensor x = rand({3, 4}), h = rand({3, 4});

  Graph traced = trace([&](const Tensor& x, const Tensor& h) { return cell(x, h); }, {x, h});
  std::cout << traced << '\n';
  const std::vector<Tensor> out = traced.run({x, h});
  std::cout << "called with other values:\n" << traced.run({-x, h})[0] << '\n';

  const auto [expected, same_again] = cell(x, h);
  const bool right = out.size() == 2 && equal(out[0], expected) && equal(out[1], same_again);
  // The text is the program: read back, it only needs the tensors that it was traced with.
  const Graph read = Graph::parse(traced.str());
  std::vector<Tensor> all{x, h};
  all.insert(all.end(), traced.captured.begin(), traced.captured.end());
  const bool read_right = same(read, traced) && equal(read.run(all)[0], expected);
  std::cout << "as the cell itself: " << (right ? "yes" : "no")
            << ", read back from the text: " << (read_right ? "yes" : "no") << '\n';
  return right && read_right ? 0 : 1;
}
