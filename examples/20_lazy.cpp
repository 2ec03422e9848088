// Listing 20: nothing runs until a value is looked at; then everything that is pending runs at
// once.
#include <iostream>

#include "tandem/runtime/executor.h"
#include "tandem/tandem.h"

using namespace tandem;

namespace {

/// Counts the kernels that run while it exists.
struct Counter final : runtime::StepObserver {
  int kernels = 0;
  void ran(const runtime::Plan&, size_t, int64_t, int64_t) override { ++kernels; }
};

}  // namespace

int main() {
  const Tensor x = ones({2, 2});
  Counter counter;
  LazyGuard lazy;
  auto say = [&](const Tensor& t) {
    std::cout << "z is " << (is_pending(t) ? "pending" : "computed")
              << ", kernels run: " << counter.kernels << '\n';
  };

  Tensor y = x + 2;
  Tensor z = y * y;
  say(z);
  const bool nothing_ran = is_pending(y) && is_pending(z) && counter.kernels == 0;
  std::cout << z << '\n';
  say(z);
  const bool one_ran = !is_pending(z) && counter.kernels == 1;

  // The same lines with other values: the program is known.
  const int64_t programs = lazy::stats().programs;
  for (int i = 0; i < 2; ++i) {
    y = z + 2;
    z = y * y;
    eval({z});
  }
  say(z);
  const bool known = lazy::stats().programs == programs && counter.kernels == 3;
  std::cout << "programs made for that: " << lazy::stats().programs - programs << '\n';
  const bool right = equal(z, full({2, 2}, 15129.0));
  return nothing_ran && one_ran && known && right ? 0 : 1;
}
