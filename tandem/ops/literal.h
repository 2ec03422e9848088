#pragma once

#include <initializer_list>
#include <iosfwd>
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem {
namespace detail {

/// The dtype of a C++ number. Unsigned types wider than a byte have none of
/// their own.
template <class T>
constexpr DType literal_dtype() {
  if constexpr (std::is_integral_v<T> && std::is_unsigned_v<T> && sizeof(T) > 1) {
    return kLong;
  } else if constexpr (std::is_same_v<T, long double>) {
    return kDouble;
  } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    constexpr DType by_size[] = {kChar, kShort, kInt, kInt, kLong};
    return std::is_unsigned_v<T> ? kByte : by_size[sizeof(T) / 2];
  } else {
    return dtype_v<T>;
  }
}
/// True iff values of T in memory can be read as values of its dtype.
template <class T>
concept HasDType = sizeof(T) == size_of(literal_dtype<T>());

/// The argument of tensor(): a number, nested braces of numbers, or a run of
/// numbers in memory.
///
/// Braces are borrowed: a container of them must not outlive the expression
/// that it is written in.
class TensorDataContainer {
 public:
  /// Empty braces.
  TensorDataContainer();
  template <class T>
  requires(std::is_arithmetic_v<T>) TensorDataContainer(T value)
      : TensorDataContainer(Scalar(value), literal_dtype<T>()) {}
  TensorDataContainer(Half value) : TensorDataContainer(Scalar(value), kHalf) {}
  TensorDataContainer(BFloat16 value) : TensorDataContainer(Scalar(value), kBFloat16) {}
  TensorDataContainer(std::initializer_list<TensorDataContainer> list);
  template <HasDType T>
  TensorDataContainer(ArrayRef<T> values)
      : TensorDataContainer(values.data(), literal_dtype<T>(), values.size()) {}
  template <HasDType T>
  requires(!std::is_same_v<T, bool>) TensorDataContainer(const std::vector<T>& values)
      : TensorDataContainer(values.data(), literal_dtype<T>(), values.size()) {}
  TensorDataContainer(const std::vector<bool>& values);

  bool is_scalar() const { return kind_ == Kind::kScalar; }
  bool is_init_list() const { return kind_ == Kind::kList; }
  bool is_tensor() const { return kind_ == Kind::kTensor; }
  const Scalar& scalar() const;
  const std::initializer_list<TensorDataContainer>& init_list() const;
  const Tensor& tensor() const;
  IntArrayRef sizes() const { return sizes_; }
  /// The dtype of the C++ values; tensor() gives whole numbers kLong and real
  /// ones the default dtype.
  DType scalar_type() const { return dtype_; }
  Tensor convert_to_tensor(const TensorOptions& o) const;
  friend std::ostream& operator<<(std::ostream& out, const TensorDataContainer& c);

 private:
  enum class Kind : uint8_t { kScalar, kList, kTensor };
  TensorDataContainer(Scalar value, DType t) : kind_(Kind::kScalar), dtype_(t), scalar_(value) {}
  TensorDataContainer(const void* values, DType t, size_t n);
  void copy_to(char*& at, DType t) const;

  Kind kind_;
  DType dtype_;
  Scalar scalar_;
  Dims sizes_;
  std::initializer_list<TensorDataContainer> list_;
  Tensor tensor_;
};

/// A 1-d tensor with a copy of n values; its dtype is t unless options say
/// another.
Tensor tensor_from(const void* values, DType t, size_t n, const TensorOptions& o);

}  // namespace detail

/// A tensor of the given values: tensor(3), tensor({1., 2.}), tensor({{1, 2},
/// {3, 4}}, kFloat), tensor(std::vector<double>{...}).
///
/// Whole numbers give kLong, real ones the default dtype, truth values kBool,
/// unless options say another.
Tensor tensor(detail::TensorDataContainer data, const TensorOptions& o = {});

}  // namespace tandem
