// Listing 19: the graph is made by running the code, line by line, and drawn as it stands.
//
//   19_graph_on_the_fly [FILE]    FILE: .svg, .html, .dot or .gv; a picture in the temporary folder
//   by default
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "tandem/tandem.h"

namespace {

size_t count(const std::string& text, const std::string& what) {
  size_t n = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

int main(int argc, char** argv) {
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

  // Before backward, which forgets what was saved for it.
  const DrawOptions options{.names = {{"W_h", W_h}, {"W_x", W_x}, {"next_h", next_h}},
                            .title = "h' = tanh(W_h h + W_x x)"};
  const std::string path =
      argc > 1 ? argv[1]
               : (std::filesystem::temp_directory_path() / "graph_on_the_fly.svg").string();
  draw(next_h, path, options);
  std::cout << "drawn to " << path << "\n";
  const std::string file = read(path), dot = to_dot(next_h, options);
  // Two weights; x, h and the result of tanh, which are saved; the result; four functions.
  const bool drawn =
      count(dot, "fillcolor=\"#add8e6\"") == 2 && count(dot, "fillcolor=\"#ffc266\"") == 3 &&
      count(dot, "fillcolor=\"#b5e58b\"") == 1 && count(dot, "fillcolor=\"#e1e4e8\"") == 4 &&
      count(dot, " -> ") == 9 && count(file, "TanhBackward") > 0 && count(file, "W_h") > 0;

  next_h.backward(ones({20, 1}));

  // By hand: the gradient of tanh is 1 - tanh^2, that of a product the other factor.
  const auto inner = (1 - next_h * next_h).detach();
  const bool right = allclose(W_x.grad(), inner.mm(x), 1e-4, 1e-5) &&
                     allclose(W_h.grad(), inner.mm(prev_h), 1e-4, 1e-5) && graph.nodes.size() >= 6;
  std::cout << (right ? "both gradients are as by hand\n" : "a gradient is WRONG\n")
            << (drawn ? "all of the graph is drawn\n" : "the drawing is WRONG\n");
  return right && drawn ? 0 : 1;
}
