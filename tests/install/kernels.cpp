// Prints how many kernels were made by LLVM.
#include <tandem/jit/kernel_cache.h>
#include <tandem/tandem.h>

int main() {
  const auto f = tandem::compile([](const tandem::Tensor& x) { return x.mul(x).add(1).relu(); });
  f(tandem::ones({100}));
  tandem::jit::wait_idle();
  std::cout << tandem::jit::stats().compiled << "\n";
}
