// Listing 15: a network added layer by layer, compiled and fitted for 50 epochs, with its history.
#include <tandem/tandem.h>

#include <cstdio>

using namespace tandem;

int main() {
  manual_seed(0);
  const int64_t n = 64, d = 1000;
  const Tensor x = randn({n, d}), y = randn({n, d});

  Model model;
  model.add(Dense(100, "relu"));
  model.add(Dense(d));
  model.compile({.loss = "mean_squared_error", .optimizer = optim::SGDOptions(1.0)});
  const History history = model.fit(x, y, {.epochs = 50, .batch_size = n, .verbose = 0});

  const auto& losses = history["loss"];
  for (const size_t epoch : {size_t{0}, size_t{9}, size_t{24}, size_t{49}})
    std::printf("epoch %2zu  loss %.4f\n", epoch + 1, losses[epoch]);
  const bool good = losses.size() == 50 && losses.back() < 0.8 * losses.front();
  std::printf("%s\n", good ? "the loss fell" : "the loss did not fall as it should");
  return good ? 0 : 1;
}
