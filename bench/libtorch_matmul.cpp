// The LibTorch side of bench/matmul.cpp.
#include <torch/torch.h>

#include <functional>

namespace libtorch_bench {

void set_threads(int n) { torch::set_num_threads(n); }

std::function<void()> matmul(bool f64, int64_t m, int64_t n, int64_t k, bool ta, bool tb) {
  const auto type = f64 ? torch::kDouble : torch::kFloat;
  torch::Tensor a = ta ? torch::rand({k, m}, type).t() : torch::rand({m, k}, type);
  torch::Tensor b = tb ? torch::rand({n, k}, type).t() : torch::rand({k, n}, type);
  return [a, b] {
    const torch::NoGradGuard guard;
    torch::mm(a, b);
  };
}

}  // namespace libtorch_bench
