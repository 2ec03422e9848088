#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "tandem/ops/ops.h"
#include "tests/helpers.h"

/// Tensors as lists of numbers, for tests that look at special values.
namespace tandem {

using Numbers = std::vector<double>;

inline Tensor make(Numbers v, std::vector<int64_t> sizes, DType t = kDouble) {
  Tensor x = empty(sizes, kDouble);
  std::copy(v.begin(), v.end(), x.data_ptr<double>());
  return x.to(t);
}
inline Numbers numbers(const Tensor& t) {
  const Tensor d = t.detach().to(kDouble).contiguous();
  return Numbers(d.data_ptr<double>(), d.data_ptr<double>() + d.numel());
}
/// The gradient of the sum of f(x) with weights 1, 2, 3, ..., which tell the places apart.
template <class F>
Numbers grad_of(const Tensor& x, const F& f) {
  const Tensor leaf = x.detach().clone().requires_grad_();
  const Tensor y = f(leaf);
  (y * arange(1, y.numel() + 1, kDouble).reshape(y.sizes())).sum().backward();
  return numbers(leaf.grad());
}
using test::error_of;
inline const double kNan = std::nan("");

}  // namespace tandem
