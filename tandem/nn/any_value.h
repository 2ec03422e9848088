#pragma once

#include <any>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "tandem/base/error.h"

namespace tandem::nn {

namespace detail {
/// A type as a person would write it.
std::string demangle(const char* mangled);
}  // namespace detail

/// A value of any type: what AnyModule passes from one module to the next.
class AnyValue {
 public:
  AnyValue(AnyValue&&) = default;
  AnyValue& operator=(AnyValue&&) = default;
  AnyValue(const AnyValue&) = default;
  AnyValue& operator=(const AnyValue&) = default;

  template <class T>
  requires(!std::is_same_v<std::decay_t<T>, AnyValue>) explicit AnyValue(T&& value)
      : value_(std::in_place_type<std::decay_t<T>>, std::forward<T>(value)) {}

  /// The value if it is a T exactly, otherwise null.
  template <class T>
  T* try_get() {
    static_assert(!std::is_reference_v<T>,
                  "AnyValue stores decayed types, you cannot cast it to a reference type");
    static_assert(!std::is_array_v<T>, "AnyValue stores decayed types, you must cast it to T*");
    return std::any_cast<std::remove_const_t<T>>(&value_);
  }
  /// The value, which must be a T exactly.
  template <class T>
  T get() {
    T* value = try_get<T>();
    TANDEM_CHECK_TYPE(value, "Attempted to cast AnyValue to ", detail::demangle(typeid(T).name()),
                      ", but its actual type is ", detail::demangle(type_info().name()));
    return *value;
  }
  const std::type_info& type_info() const noexcept { return value_.type(); }

 private:
  std::any value_;
};

}  // namespace tandem::nn
