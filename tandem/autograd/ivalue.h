#pragma once

#include <string>
#include <variant>
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem {

/// A value of one of a few types, kept under a name by a custom function:
///   ctx->saved_data["ratio"] = 0.5;  ...  ctx->saved_data["ratio"].toDouble()
/// Reading it as another type than it was stored as is an error.
class IValue {
 public:
  IValue() = default;
  IValue(bool v) : value_(v) {}
  template <class T>
  requires(std::is_integral_v<T> && !std::is_same_v<T, bool>) IValue(T v)
      : value_(static_cast<int64_t>(v)) {}
  template <class T>
  requires(std::is_floating_point_v<T>) IValue(T v) : value_(static_cast<double>(v)) {}
  IValue(const char* v) : value_(std::string(v)) {}
  IValue(std::string v) : value_(std::move(v)) {}
  IValue(Tensor v) : value_(std::move(v)) {}
  IValue(const Scalar& v);
  IValue(IntArrayRef v) : value_(v.vec()) {}
  IValue(std::vector<int64_t> v) : value_(std::move(v)) {}
  IValue(std::vector<double> v) : value_(std::move(v)) {}
  IValue(std::vector<Tensor> v) : value_(std::move(v)) {}
  template <class T>
  IValue(const std::optional<T>& v) : IValue(v ? IValue(*v) : IValue()) {}

  bool isNone() const { return is<std::monostate>(); }
  bool isBool() const { return is<bool>(); }
  bool isInt() const { return is<int64_t>(); }
  bool isDouble() const { return is<double>(); }
  bool isScalar() const { return isInt() || isDouble() || isBool(); }
  bool isString() const { return is<std::string>(); }
  bool isTensor() const { return is<Tensor>(); }
  bool isIntList() const { return is<std::vector<int64_t>>(); }
  bool isDoubleList() const { return is<std::vector<double>>(); }
  bool isTensorList() const { return is<std::vector<Tensor>>(); }

  bool toBool() const { return as<bool>(); }
  int64_t toInt() const { return as<int64_t>(); }
  double toDouble() const { return as<double>(); }
  Scalar toScalar() const;
  const std::string& toStringRef() const { return as<std::string>(); }
  const Tensor& toTensor() const& { return as<Tensor>(); }
  Tensor toTensor() && { return as<Tensor>(); }
  const std::vector<int64_t>& toIntVector() const { return as<std::vector<int64_t>>(); }
  const std::vector<double>& toDoubleVector() const { return as<std::vector<double>>(); }
  const std::vector<Tensor>& toTensorVector() const { return as<std::vector<Tensor>>(); }
  const std::vector<int64_t>& toIntList() const { return toIntVector(); }
  const std::vector<double>& toDoubleList() const { return toDoubleVector(); }
  const std::vector<Tensor>& toTensorList() const { return toTensorVector(); }
  /// "Int", "Tensor" and so on.
  const char* tagKind() const;

 private:
  using Value = std::variant<std::monostate, bool, int64_t, double, std::string, Tensor,
                             std::vector<int64_t>, std::vector<double>, std::vector<Tensor>>;
  static const char* kind(const Value& v);
  template <class T>
  bool is() const {
    return std::holds_alternative<T>(value_);
  }
  template <class T>
  const T& as() const {
    TANDEM_CHECK_TYPE(is<T>(), "IValue: Expected ", kind(Value(std::in_place_type<T>)), " but got ",
                      kind(value_));
    return std::get<T>(value_);
  }

  Value value_;
};

}  // namespace tandem
