#pragma once

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <type_traits>

#include "tandem/base/error.h"
#include "tandem/core/half.h"

namespace tandem {

/// Element types. Order and names are LibTorch's; the numbers are not part of any file format.
enum class ScalarType : uint8_t {
  Byte,
  Char,
  Short,
  Int,
  Long,
  Half,
  Float,
  Double,
  Bool,
  BFloat16,
  Undefined,
};
using DType = ScalarType;
using Dtype = ScalarType;
inline constexpr int kNumDTypes = 10;

inline constexpr DType kByte = DType::Byte, kUInt8 = kByte;
inline constexpr DType kChar = DType::Char, kInt8 = kChar;
inline constexpr DType kShort = DType::Short, kInt16 = kShort;
inline constexpr DType kInt = DType::Int, kInt32 = kInt;
inline constexpr DType kLong = DType::Long, kInt64 = kLong;
inline constexpr DType kHalf = DType::Half, kFloat16 = kHalf;
inline constexpr DType kFloat = DType::Float, kFloat32 = kFloat;
inline constexpr DType kDouble = DType::Double, kFloat64 = kDouble;
inline constexpr DType kBool = DType::Bool;
inline constexpr DType kBFloat16 = DType::BFloat16;

namespace detail {
struct DTypeInfo {
  const char* name;        // as Tandem writes it: float32
  const char* torch_name;  // as LibTorch's ScalarType prints: Float
  uint8_t size;
};
inline constexpr DTypeInfo kDTypeInfo[kNumDTypes + 1] = {
    {"uint8", "Byte", 1},        {"int8", "Char", 1},           {"int16", "Short", 2},
    {"int32", "Int", 4},         {"int64", "Long", 8},          {"float16", "Half", 2},
    {"float32", "Float", 4},     {"float64", "Double", 8},      {"bool", "Bool", 1},
    {"bfloat16", "BFloat16", 2}, {"undefined", "Undefined", 0},
};
}  // namespace detail

constexpr size_t size_of(DType t) { return detail::kDTypeInfo[static_cast<int>(t)].size; }
constexpr size_t elementSize(DType t) { return size_of(t); }
/// The short name: "float32".
constexpr const char* name_of(DType t) { return detail::kDTypeInfo[static_cast<int>(t)].name; }
/// LibTorch's name: "Float".
constexpr const char* toString(DType t) {
  return detail::kDTypeInfo[static_cast<int>(t)].torch_name;
}
inline std::ostream& operator<<(std::ostream& out, DType t) { return out << toString(t); }

constexpr bool is_floating(DType t) {
  return t == kHalf || t == kFloat || t == kDouble || t == kBFloat16;
}
constexpr bool isFloatingType(DType t) { return is_floating(t); }
/// True for integers; bool counts as one only when asked for.
constexpr bool isIntegralType(DType t, bool include_bool = false) {
  return t <= DType::Long || (include_bool && t == kBool);
}
constexpr bool isComplexType(DType) { return false; }

/// The C++ type of a dtype and back.
template <class T>
struct dtype_of_type;
template <DType t>
struct type_of_dtype;
#define TANDEM_FOR_EACH_DTYPE(_) \
  _(uint8_t, Byte)               \
  _(int8_t, Char)                \
  _(int16_t, Short)              \
  _(int32_t, Int)                \
  _(int64_t, Long)               \
  _(::tandem::Half, Half)        \
  _(float, Float)                \
  _(double, Double)              \
  _(bool, Bool)                  \
  _(::tandem::BFloat16, BFloat16)
#define TANDEM_TYPE_TRAITS(T, name)             \
  template <>                                   \
  struct dtype_of_type<T> {                     \
    static constexpr DType value = DType::name; \
  };                                            \
  template <>                                   \
  struct type_of_dtype<DType::name> {           \
    using type = T;                             \
  };
TANDEM_FOR_EACH_DTYPE(TANDEM_TYPE_TRAITS)
#undef TANDEM_TYPE_TRAITS
template <>
struct dtype_of_type<long long> {
  static constexpr DType value = DType::Long;
};
template <class T>
inline constexpr DType dtype_v = dtype_of_type<std::remove_cv_t<T>>::value;
template <class T>
constexpr DType dtype_of() {
  return dtype_v<T>;
}

/// Calls fn with a value of the C++ type of `t`: dispatch(t, [&]<class T>(T) { ... }).
template <class F>
decltype(auto) dispatch(DType t, F&& fn) {
  switch (t) {
#define TANDEM_CASE(T, name) \
  case DType::name:          \
    return fn(T());
    TANDEM_FOR_EACH_DTYPE(TANDEM_CASE)
#undef TANDEM_CASE
    default:
      break;
  }
  TANDEM_CHECK_TYPE(false, "the tensor has no dtype");
  return fn(float());
}

/// The smallest type that both convert to, as LibTorch promotes tensors of equal rank.
DType promote_types(DType a, DType b);
inline DType promoteTypes(DType a, DType b) { return promote_types(a, b); }
/// True if a value of `from` may be written into a tensor of `to` by an in-place op.
bool can_cast(DType from, DType to);

/// The dtype of tensors made from real numbers without one being named; float32 at first.
DType get_default_dtype();
void set_default_dtype(DType t);
/// The dtype of real results made from whole numbers: the default one, or float32 if that is not real.
inline DType default_real_dtype() {
  const DType t = get_default_dtype();
  return is_floating(t) ? t : kFloat;
}

}  // namespace tandem
