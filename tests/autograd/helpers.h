#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tandem/autograd/autograd.h"
#include "tandem/ops/ops.h"
#include "tests/helpers.h"

namespace tandem::test {

/// A float64 tensor with these values.
inline Tensor values(IntArrayRef sizes, const std::vector<double>& v) {
  Tensor t = empty(sizes, kDouble);
  EXPECT_EQ(t.numel(), static_cast<int64_t>(v.size()));
  for (size_t i = 0; i < v.size(); ++i) t.data_ptr<double>()[i] = v[i];
  return t;
}

/// A float64 leaf with values between -1 and 1 that depend on the seed, none of them near 0.
inline Tensor leaf(IntArrayRef sizes, uint64_t seed = 1) {
  Tensor t = empty(sizes, kDouble);
  uint64_t state = seed * 0x9e3779b97f4a7c15ULL + 7;
  for (int64_t i = 0; i < t.numel(); ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    const double u = static_cast<double>(state >> 11) * 0x1p-53;  // 0 to 1
    t.data_ptr<double>()[i] = u < 0.5 ? -1 + 1.8 * u : 0.1 + 1.8 * (u - 0.5);
  }
  return t.requires_grad_();
}

inline std::vector<double> list(const Tensor& t) {
  return t.defined() ? values(t) : std::vector<double>();
}

inline void expect_near(const Tensor& a, const std::vector<double>& b, double tolerance = 1e-9) {
  ASSERT_TRUE(a.defined());
  const std::vector<double> x = list(a);
  ASSERT_EQ(x.size(), b.size());
  for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], b[i], tolerance) << "element " << i;
}
inline void expect_near(const Tensor& a, const Tensor& b, double tolerance = 1e-9) {
  ASSERT_TRUE(a.defined());
  ASSERT_TRUE(b.defined());
  EXPECT_EQ(a.sizes(), b.sizes());
  expect_near(a, list(b), tolerance);
}

template <class F>
void expect_error(F f, const std::vector<std::string>& parts) {
  const std::string text = error_of(f);
  for (const std::string& part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << "no \"" << part << "\" in: " << text;
}

}  // namespace tandem::test
