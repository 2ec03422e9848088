// Listing 16: the same model called dynamically and compiled, 10 and 1000 times.
#include <chrono>
#include <cmath>
#include <cstdio>

#include "tandem/tandem.h"

using namespace tandem;

namespace {

/// Three layers, the activation written out: many small ops, as models have them.
struct TwoLayers {
  Tensor w1 = randn({32, 64}) / 6, b1 = zeros({64}), w2 = randn({64, 64}) / 8, b2 = zeros({64}),
         w3 = randn({64, 10}) / 8;

  static Tensor gelu(const Tensor& x) {
    return 0.5 * x * (1 + (0.7978845608 * (x + 0.044715 * x * x * x)).tanh());
  }
  Tensor operator()(const Tensor& x) const {
    return gelu(gelu(x.mm(w1) + b1).mm(w2) + b2).mm(w3).softmax(-1);
  }
};

template <class F>
double seconds(int calls, const F& f, const Tensor& x) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) f(x);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

int main() {
  manual_seed(0);
  const TwoLayers model;
  const auto compiled = compile(model);
  const Tensor x = randn({16, 32});

  std::printf("calls     dynamic      compiled\n");
  for (const int calls : {10, 1000}) {
    const double dynamic = seconds(calls, model, x), fast = seconds(calls, compiled, x);
    std::printf("%5d  %8.3f ms   %8.3f ms%s\n", calls, 1e3 * dynamic, 1e3 * fast,
                calls == 10 ? "   (records and plans in the first call)" : "");
  }
  const double difference = (compiled(x) - model(x)).abs().max().item<double>();
  std::printf("largest difference of the results: %g\n", difference);

  // Another shape is another graph; the ones there are stay.
  const double other =
      (compiled(x.narrow(0, 0, 3)) - model(x.narrow(0, 0, 3))).abs().max().item<double>();
  std::printf("graphs after a call with another batch size: %zu\n", compiled.graph_count());
  compiled(x);
  return difference < 1e-6 && other < 1e-6 && compiled.graph_count() == 2 ? 0 : 1;
}
