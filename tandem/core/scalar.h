#pragma once

#include <cstdint>
#include <ostream>
#include <type_traits>

#include "tandem/core/dtype.h"

namespace tandem {

/// A number given where a tensor might stand: remembers whether it was real, whole or a truth
/// value.
class Scalar {
 public:
  Scalar() : Scalar(int64_t{0}) {}
  template <class T>
  requires(std::is_floating_point_v<T>) Scalar(T v)
      : real_(static_cast<double>(v)), dtype_(kDouble) {}
  template <class T>
  requires(std::is_integral_v<T> && !std::is_same_v<T, bool>) Scalar(T v)
      : whole_(static_cast<int64_t>(v)), dtype_(kLong) {}
  template <class T>
  requires(std::is_same_v<T, bool>) Scalar(T v) : whole_(v), dtype_(kBool) {}
  Scalar(Half v) : Scalar(static_cast<float>(v)) {}
  Scalar(BFloat16 v) : Scalar(static_cast<float>(v)) {}

  DType type() const { return dtype_; }
  bool isFloatingPoint() const { return dtype_ == kDouble; }
  bool isIntegral(bool include_bool = false) const {
    return dtype_ == kLong || (include_bool && dtype_ == kBool);
  }
  bool isBoolean() const { return dtype_ == kBool; }
  bool isComplex() const { return false; }

  double toDouble() const { return isFloatingPoint() ? real_ : static_cast<double>(whole_); }
  float toFloat() const { return static_cast<float>(toDouble()); }
  int64_t toLong() const { return isFloatingPoint() ? static_cast<int64_t>(real_) : whole_; }
  int toInt() const { return static_cast<int>(toLong()); }
  bool toBool() const { return isFloatingPoint() ? real_ != 0 : whole_ != 0; }
  template <class T>
  T to() const {
    if constexpr (std::is_same_v<T, bool>)
      return toBool();
    else if constexpr (std::is_integral_v<T>)
      return static_cast<T>(toLong());
    else
      return static_cast<T>(toDouble());
  }
  Scalar operator-() const { return isFloatingPoint() ? Scalar(-real_) : Scalar(-whole_); }
  bool equal(double v) const { return toDouble() == v; }
  friend bool operator==(const Scalar& a, const Scalar& b) {
    return a.dtype_ == b.dtype_ &&
           (a.isFloatingPoint() ? a.real_ == b.real_ : a.whole_ == b.whole_);
  }
  friend std::ostream& operator<<(std::ostream& out, const Scalar& s) {
    if (s.isFloatingPoint()) return out << s.real_;
    if (s.isBoolean()) return out << (s.whole_ ? "true" : "false");
    return out << s.whole_;
  }

 private:
  union {
    double real_;
    int64_t whole_;
  };
  DType dtype_;
};

}  // namespace tandem
