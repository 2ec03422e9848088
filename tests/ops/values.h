#pragma once

#include <initializer_list>
#include <vector>

#include "tandem/core/tensor.h"
#include "tandem/ops/ops.h"
#include "tests/helpers.h"

// Small helpers of the tests of ops: tensors as plain vectors.
namespace tandem::test {

using Shape = std::vector<int64_t>;

inline Tensor from_values(const std::vector<double>& v, const Shape& sizes, DType t = kDouble) {
  return tensor(v, kDouble).to(t).reshape(sizes).clone();  // not a view
}

/// 0, 1, 2, ... in row-major order.
inline Tensor counting(const Shape& sizes, DType t = kDouble) {
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  std::vector<double> v(static_cast<size_t>(n));
  for (size_t i = 0; i < v.size(); ++i) v[i] = static_cast<double>(i);
  return from_values(v, sizes, t);
}

/// A fixed stream of numbers in [-1, 1).
class Numbers {
 public:
  explicit Numbers(uint64_t seed = 1) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}
  double next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<double>(state_ >> 11) * 0x1p-52 - 1;
  }
  int64_t below(int64_t n) {
    return static_cast<int64_t>((next() + 1) / 2 * static_cast<double>(n));
  }
  Tensor tensor_of(const Shape& sizes, DType t = kDouble) {
    std::vector<double> v(static_cast<size_t>(numel_of(sizes)));
    for (double& x : v) x = next();
    return from_values(v, sizes, t);
  }

 private:
  uint64_t state_;
};

inline Shape unravel(int64_t i, const Shape& s) {
  Shape at(s.size());
  for (size_t d = s.size(); d-- > 0;) {
    at[d] = i % s[d];
    i /= s[d];
  }
  return at;
}

inline int64_t ravel(const Shape& at, const Shape& s) {
  int64_t i = 0;
  for (size_t d = 0; d < s.size(); ++d) i = i * s[d] + at[d];
  return i;
}

}  // namespace tandem::test
