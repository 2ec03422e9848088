// The LibTorch side of bench/optim.cpp.
#include <torch/torch.h>

#define TANDEM_BENCH_LIBTORCH 1
#include "bench/optim.h"

namespace libtorch_bench {

void set_threads(int n) { torch::set_num_threads(n); }

std::function<void()> step(const std::string& name, const ParameterShapes& shapes) {
  namespace optim = torch::optim;
  std::vector<torch::Tensor> params;
  for (const auto& shape : shapes) {
    params.push_back(torch::randn(shape) * 0.01);
    params.back().mutable_grad() = torch::randn(shape) * 0.01;
  }
  std::shared_ptr<optim::Optimizer> o;
  if (name == "SGD")
    o = std::make_shared<optim::SGD>(params, optim::SGDOptions(1e-4));
  else if (name == "SGD momentum")
    o = std::make_shared<optim::SGD>(params, optim::SGDOptions(1e-4).momentum(0.9));
  else if (name == "Adam")
    o = std::make_shared<optim::Adam>(params, optim::AdamOptions(1e-4));
  else if (name == "AdamW")
    o = std::make_shared<optim::AdamW>(params, optim::AdamWOptions(1e-4));
  else if (name == "RMSprop")
    o = std::make_shared<optim::RMSprop>(params, optim::RMSpropOptions(1e-4));
  else if (name == "Adagrad")
    o = std::make_shared<optim::Adagrad>(params, optim::AdagradOptions(1e-4));
  if (!o) return nullptr;
  return [o] { o->step(); };
}

}  // namespace libtorch_bench
