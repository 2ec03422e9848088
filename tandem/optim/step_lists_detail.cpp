#include "tandem/optim/step_lists_detail.h"

#include "tandem/ops/ops.h"

namespace tandem::optim {

bool same_tensor(const Tensor& a, const Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined();
  return a.sizes() == b.sizes() && a.dtype() == b.dtype() && equal(a, b);
}

}  // namespace tandem::optim
