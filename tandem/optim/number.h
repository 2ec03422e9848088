#pragma once

#include <concepts>
#include <ostream>

#include "tandem/core/flag.h"
#include "tandem/core/tensor.h"

namespace tandem::optim {

/// A number among the options of an optimiser, such as its learning rate. It is used like a double;
/// a compiled step reads it from a tensor that always has the same value, hence follows changes
/// between calls.
///
/// A copy is a number of its own.
class Number {
 public:
  Number(double value = 0) : value_(value), nonzero_(value != 0) {}
  Number(const Number& o) : Number(o.value_) {}
  Number& operator=(const Number& o) { return *this = o.value_; }
  Number& operator=(double value) {
    set(value);
    return *this;
  }
  Number& operator+=(double v) { return *this = value_ + v; }
  Number& operator-=(double v) { return *this = value_ - v; }
  Number& operator*=(double v) { return *this = value_ * v; }
  Number& operator/=(double v) { return *this = value_ / v; }

  operator double() const { return value_; }
  template <std::same_as<Scalar> S>
  operator S() const {
    return Scalar(value_);
  }
  friend bool operator==(const Number& a, const Number& b) { return a.value_ == b.value_; }
  template <class T>
  requires std::is_arithmetic_v<T>
  friend bool operator==(const Number& a, T b) { return a.value_ == static_cast<double>(b); }
  friend std::ostream& operator<<(std::ostream& out, const Number& n) { return out << n.value_; }

  /// The value as a float64 tensor without dimensions. To be read only.
  const Tensor& tensor() const;
  /// Whether it is other than 0. What is recorded while this is asked holds as long as the answer.
  bool nonzero() const { return nonzero_; }

 private:
  void set(double value);

  double value_;
  Flag nonzero_;
  mutable Tensor tensor_;  // made when it is asked for
};

/// How many steps a parameter has made, as an int64 tensor without dimensions that steps write.
class Counter {
 public:
  Counter(int64_t value = 0);
  Counter(const Counter& o) : Counter(o.get()) {}
  Counter& operator=(const Counter& o) {
    set(o.get());
    return *this;
  }

  int64_t get() const;
  void set(int64_t value);
  const Tensor& tensor() const { return tensor_; }

 private:
  Tensor tensor_;
};

}  // namespace tandem::optim
