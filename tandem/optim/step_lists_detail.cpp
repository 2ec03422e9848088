#include "tandem/optim/step_lists_detail.h"

#include "tandem/ops/ops.h"

namespace tandem::optim {

bool same_tensor(const Tensor& a, const Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined();
  return a.sizes() == b.sizes() && a.dtype() == b.dtype() && equal(a, b);
}

// Written so that nan is refused too.
void check_learning_rate(double lr) { TANDEM_CHECK(lr >= 0, "Invalid learning rate: ", lr); }

void check_epsilon(double eps) { TANDEM_CHECK(eps >= 0, "Invalid epsilon value: ", eps); }

void check_betas(double beta1, double beta2) {
  TANDEM_CHECK(0 <= beta1 && beta1 < 1, "Invalid beta parameter at index 0: ", beta1);
  TANDEM_CHECK(0 <= beta2 && beta2 < 1, "Invalid beta parameter at index 1: ", beta2);
}

void check_not_negative(const char* name, double value) {
  TANDEM_CHECK(value >= 0, "Invalid ", name, " value: ", value);
}

}  // namespace tandem::optim
