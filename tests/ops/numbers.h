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
using test::error_of;
inline const double kNan = std::nan("");

}  // namespace tandem
