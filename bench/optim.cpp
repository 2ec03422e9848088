// Time of an optimiser's step: eager, compiled and LibTorch, on one thread and on all, for the
// parameters of a ResNet-50 and of a small perceptron.
#include "bench/optim.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <thread>

#include "bench/timing.h"
#include "tandem/tandem.h"

namespace {

namespace optim = tandem::optim;

/// Convolutions, their norms' weights and biases, and the last layer: 161 tensors.
ParameterShapes resnet50() {
  ParameterShapes all;
  const auto conv = [&](int64_t out, int64_t in, int64_t k) {
    all.push_back({out, in, k, k});
    all.push_back({out});
    all.push_back({out});
  };
  conv(64, 3, 7);
  int64_t in = 64;
  const int blocks[] = {3, 4, 6, 3};
  for (int stage = 0; stage < 4; ++stage) {
    const int64_t width = int64_t{64} << stage;
    for (int b = 0; b < blocks[stage]; ++b) {
      conv(width, in, 1);
      conv(width, width, 3);
      conv(4 * width, width, 1);
      if (b == 0) conv(4 * width, in, 1);
      in = 4 * width;
    }
  }
  all.push_back({1000, 2048});
  all.push_back({1000});
  return all;
}

ParameterShapes many_small() { return ParameterShapes(2000, std::vector<int64_t>{32}); }

std::shared_ptr<optim::Optimizer> make(const std::string& name,
                                       const std::vector<tandem::Tensor>& params) {
  if (name == "SGD") return std::make_shared<optim::SGD>(params, optim::SGDOptions(1e-4));
  if (name == "SGD momentum")
    return std::make_shared<optim::SGD>(params, optim::SGDOptions(1e-4).momentum(0.9));
  if (name == "Adam") return std::make_shared<optim::Adam>(params, optim::AdamOptions(1e-4));
  if (name == "AdamW") return std::make_shared<optim::AdamW>(params, optim::AdamWOptions(1e-4));
  if (name == "RMSprop")
    return std::make_shared<optim::RMSprop>(params, optim::RMSpropOptions(1e-4));
  if (name == "Adagrad")
    return std::make_shared<optim::Adagrad>(params, optim::AdagradOptions(1e-4));
  return std::make_shared<optim::Lion>(params, optim::LionOptions(1e-5));
}

struct Step {
  std::vector<tandem::Tensor> params;
  std::shared_ptr<optim::Optimizer> optimizer;

  Step(const std::string& name, const ParameterShapes& shapes) {
    for (const auto& shape : shapes) {
      params.push_back(tandem::randn(shape) * 0.01);
      params.back().mutable_grad() = tandem::randn(shape) * 0.01;
    }
    optimizer = make(name, params);
  }
};

std::function<void()> eager(const std::string& name, const ParameterShapes& shapes) {
  const auto step = std::make_shared<Step>(name, shapes);
  return [step] { step->optimizer->step(); };
}

std::function<void()> compiled(const std::string& name, const ParameterShapes& shapes) {
  const auto step = std::make_shared<Step>(name, shapes);
  const auto f = tandem::compile([step](const tandem::Tensor& x) {
    step->optimizer->step();
    return x * 1;
  });
  return [f, x = tandem::ones({1})] { f(x); };
}

/// The fastest of interleaved rounds, so that a noisy neighbour hits all contestants alike.
std::vector<double> measure(const std::vector<std::function<void()>>& contestants, int rounds) {
  std::vector<int64_t> calls;
  for (const auto& fn : contestants) {
    if (fn) fn();
    const double one = fn ? std::max(seconds(fn, 2), 1e-9) : 1;
    calls.push_back(std::max<int64_t>(1, static_cast<int64_t>(1e-2 / one)));
  }
  std::vector<double> best(contestants.size(), 1e9);
  for (int round = 0; round < rounds; ++round)
    for (size_t i = 0; i < contestants.size(); ++i)
      if (contestants[i]) best[i] = std::min(best[i], seconds(contestants[i], calls[i]));
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  const bool quick = argc > 1 && !std::strcmp(argv[1], "--quick");
  const std::pair<const char*, ParameterShapes> nets[] = {
      {"ResNet-50 (161 tensors, 25.6M)", resnet50()},
      {"perceptron (4 tensors, 407k)", {{512, 784}, {512}, {10, 512}, {10}}},
      {"2000 tensors of 32", many_small()}};
  const auto cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  std::printf("Microseconds a step, the best of interleaved rounds.\n");
  for (int threads = 1; threads <= cores; threads = threads < cores ? cores : cores + 1) {
    tandem::set_num_threads(threads);
#ifdef TANDEM_BENCH_LIBTORCH
    libtorch_bench::set_threads(threads);
#endif
    for (const auto& [net, shapes] : nets) {
      std::printf("\n%s, %d thread%s\n%-14s %10s %10s %10s %8s\n", net, threads,
                  threads > 1 ? "s" : "", "", "eager", "compiled", "LibTorch", "ratio");
      for (const char* name :
           {"SGD", "SGD momentum", "Adam", "AdamW", "RMSprop", "Adagrad", "Lion"}) {
        std::function<void()> other;
#ifdef TANDEM_BENCH_LIBTORCH
        other = libtorch_bench::step(name, shapes);
#endif
        const auto t = measure({eager(name, shapes), compiled(name, shapes), other}, quick ? 3 : 9);
        std::printf("%-14s %10.1f %10.1f ", name, 1e6 * t[0], 1e6 * t[1]);
        if (other)
          std::printf("%10.1f %8.2f\n", 1e6 * t[2], t[0] / t[2]);
        else
          std::printf("%10s %8s\n", "-", "-");
      }
    }
    if (threads == cores) break;
  }
}
