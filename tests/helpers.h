#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "tandem/base/error.h"
#include "tandem/base/warning.h"
#include "tandem/ops/ops.h"

/// What tests of every folder need.
namespace tandem::test {

/// What the error that f throws says.
template <class F>
std::string error_of(const F& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error was thrown";
}

/// Collects the warnings of its scope.
class Warnings : public WarningHandler {
 public:
  Warnings() : before_(Warning::get_warning_handler()) { Warning::set_warning_handler(this); }
  ~Warnings() override { Warning::set_warning_handler(before_); }
  void process(const SourceLocation&, const std::string& message, const bool) override {
    messages.push_back(message);
  }
  bool contain(const std::string& part) const {
    for (const std::string& m : messages)
      if (m.find(part) != std::string::npos) return true;
    return false;
  }
  std::vector<std::string> messages;

 private:
  WarningHandler* before_;
};

/// What operator<< writes.
template <class T>
std::string printed(const T& x) {
  std::ostringstream out;
  out << x;
  return out.str();
}

/// The values in row-major order.
inline std::vector<double> values(const Tensor& t) {
  const Tensor flat = t.detach().to(kDouble).contiguous();
  const double* p = flat.numel() ? flat.data_ptr<double>() : nullptr;
  return std::vector<double>(p, p + flat.numel());
}

/// sin(step * i + phase) for element i, in float64: numbers that other programs can make, too.
inline Tensor waves(IntArrayRef sizes, double step = 1.7, double phase = 0) {
  return (arange(numel_of(sizes), kDouble) * step + phase).sin().reshape(sizes);
}

/// Compares with a table of numbers; nan equals nan. The tolerance is absolute for expected values
/// up to 1 and relative beyond.
inline void expect_values(const std::vector<double>& got, const std::vector<double>& expected,
                          double tolerance) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(expected[i]) || std::isinf(expected[i]))
      EXPECT_TRUE(got[i] == expected[i] || (std::isnan(got[i]) && std::isnan(expected[i])))
          << "element " << i << " is " << got[i] << " instead of " << expected[i];
    else
      EXPECT_NEAR(got[i], expected[i], tolerance * std::max(1.0, std::abs(expected[i])))
          << "element " << i;
  }
}
inline void expect_values(const Tensor& t, const std::vector<double>& expected,
                          double tolerance = 1e-8) {
  ASSERT_TRUE(t.defined());
  expect_values(values(t), expected, tolerance);
}

}  // namespace tandem::test
