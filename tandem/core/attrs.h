#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <new>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "tandem/base/small_vector.h"
#include "tandem/core/attr_reader.h"
#include "tandem/core/device.h"
#include "tandem/core/scalar.h"

namespace tandem {

/// Lists the fields of an attribute struct, once. Printing, hashing, equality and saving are
/// derived.
///
///   struct ReduceAttrs {
///     Dims dims;
///     bool keepdim = false;
///     TANDEM_FIELDS(dims, keepdim)
///   };
#define TANDEM_FIELDS(...)                                            \
  static constexpr const char* field_names() { return #__VA_ARGS__; } \
  auto fields() const { return std::tie(__VA_ARGS__); }               \
  auto fields() { return std::tie(__VA_ARGS__); }

/// What the rest of the system can do with an attribute struct without knowing its type.
struct AttrType {
  uint32_t size;
  uint32_t align;
  void (*copy)(void* to, const void* from);
  void (*destroy)(void* p);
  bool (*equal)(const void* a, const void* b);
  size_t (*hash)(const void* p);
  void (*print)(std::ostream& out, const void* p);  // "dims=[0, 1], keepdim=true"
  /// Makes one at `to` from what print wrote; throws an Error that says what was expected where.
  void (*parse)(void* to, AttrReader& in);
};

namespace detail {

inline size_t mix(size_t h, size_t v) { return (h ^ v) * 0x9e3779b97f4a7c15ULL + (h >> 29); }

template <class T>
struct is_list : std::false_type {};
template <class T, size_t N>
struct is_list<SmallVector<T, N>> : std::true_type {};
template <class T>
struct is_list<std::vector<T>> : std::true_type {};
template <class T>
struct is_optional : std::false_type {};
template <class T>
struct is_optional<std::optional<T>> : std::true_type {};

template <class T>
size_t hash_field(const T& v) {
  if constexpr (is_list<T>::value) {
    size_t h = 17;
    for (const auto& e : v) h = mix(h, hash_field(e));
    return h;
  } else if constexpr (is_optional<T>::value) {
    return v ? mix(1, hash_field(*v)) : 0;
  } else if constexpr (std::is_enum_v<T>) {
    return static_cast<size_t>(v);
  } else if constexpr (std::is_floating_point_v<T>) {
    return std::isnan(v) ? 7 : std::hash<T>()(v);
  } else if constexpr (std::is_same_v<T, Scalar>) {
    return mix(static_cast<size_t>(v.type()), hash_field(v.toDouble()));
  } else {
    return std::hash<T>()(v);
  }
}

/// True iff nothing can tell the two apart: -0.0 is not 0.0, and NaN is NaN.
template <class T>
bool same_field(const T& a, const T& b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a == b ? std::signbit(a) == std::signbit(b) : std::isnan(a) && std::isnan(b);
  } else if constexpr (std::is_same_v<T, Scalar>) {
    return a.type() == b.type() && (a.isFloatingPoint() ? same_field(a.toDouble(), b.toDouble())
                                                        : a.toLong() == b.toLong());
  } else if constexpr (is_list<T>::value) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i)
      if (!same_field<typename T::value_type>(a[i], b[i])) return false;
    return true;
  } else if constexpr (is_optional<T>::value) {
    return a.has_value() == b.has_value() && (!a || same_field(*a, *b));
  } else {
    return a == b;
  }
}

template <class... T, size_t... I>
bool same_fields(const std::tuple<T...>& a, const std::tuple<T...>& b, std::index_sequence<I...>) {
  return (same_field(std::get<I>(a), std::get<I>(b)) && ...);
}
template <class... T>
bool same_fields(const std::tuple<T...>& a, const std::tuple<T...>& b) {
  return same_fields(a, b, std::index_sequence_for<T...>());
}

/// The shortest text that reads back as the same number.
void print_real(std::ostream& out, double v);
void print_scalar(std::ostream& out, const Scalar& v);
void print_quoted(std::ostream& out, std::string_view text);

template <class T>
void print_field(std::ostream& out, const T& v) {
  if constexpr (std::is_same_v<T, bool>) {
    out << (v ? "true" : "false");
  } else if constexpr (std::is_same_v<T, DType>) {
    out << name_of(v);
  } else if constexpr (std::is_floating_point_v<T>) {
    print_real(out, v);
  } else if constexpr (std::is_integral_v<T>) {
    out << +v;
  } else if constexpr (std::is_same_v<T, Scalar>) {
    print_scalar(out, v);
  } else if constexpr (std::is_same_v<T, std::string>) {
    print_quoted(out, v);
  } else if constexpr (is_list<T>::value) {
    out << '[';
    for (size_t i = 0; i < v.size(); ++i) {
      out << (i ? ", " : "");
      print_field<typename T::value_type>(out, v[i]);
    }
    out << ']';
  } else if constexpr (is_optional<T>::value) {
    if (v)
      print_field(out, *v);
    else
      out << "none";
  } else if constexpr (std::is_enum_v<T> && !requires { out << v; }) {
    out << static_cast<int64_t>(v);
  } else {
    out << v;
  }
}

/// For types that nobody needs in a file and that have no read_field.
[[noreturn]] void cannot_be_read(const AttrReader& in);

template <class T>
void parse_field(AttrReader& in, T& v) {
  if constexpr (requires { read_field(in, v); })
    read_field(in, v);
  else
    cannot_be_read(in);
}

std::string_view nth_field_name(std::string_view names, size_t n);

template <class A>
inline constexpr AttrType attr_type_of = {
    sizeof(A),
    alignof(A),
    [](void* to, const void* from) { new (to) A(*static_cast<const A*>(from)); },
    [](void* p) { static_cast<A*>(p)->~A(); },
    [](const void* a, const void* b) {
      return same_fields(static_cast<const A*>(a)->fields(), static_cast<const A*>(b)->fields());
    },
    [](const void* p) {
      return std::apply(
          [](const auto&... f) {
            size_t h = 1;
            ((h = mix(h, hash_field(f))), ...);
            return h;
          },
          static_cast<const A*>(p)->fields());
    },
    [](std::ostream& out, const void* p) {
      std::apply(
          [&](const auto&... f) {
            size_t i = 0;
            ((out << (i ? ", " : "") << nth_field_name(A::field_names(), i) << '=',
              print_field(out, f), ++i),
             ...);
          },
          static_cast<const A*>(p)->fields());
    },
    [](void* to, AttrReader& in) {
      A a{};
      std::apply(
          [&](auto&... f) {
            size_t i = 0;
            ((in.field(nth_field_name(A::field_names(), i), i == 0), parse_field(in, f), ++i), ...);
          },
          a.fields());
      new (to) A(std::move(a));
    },
};

}  // namespace detail

/// What OpDef::attrs says of an op whose attributes are an A.
template <class A>
inline constexpr const AttrType* attrs_of = &detail::attr_type_of<A>;

/// Borrowed attributes of one call; empty for ops without any.
struct AttrRef {
  const void* data = nullptr;
  const AttrType* type = nullptr;
  AttrRef() = default;
  AttrRef(const void* d, const AttrType* t) : data(d), type(t) {}
  template <class A>
  requires requires { A::field_names(); }
  AttrRef(const A& a) : data(&a), type(&detail::attr_type_of<A>) {}
  template <class A>
  const A& as() const {
    return *static_cast<const A*>(data);
  }
  friend bool operator==(AttrRef a, AttrRef b) {
    return a.type == b.type && (!a.type || a.type->equal(a.data, b.data));
  }
};

/// Owned attributes.
class AttrBox {
 public:
  AttrBox() = default;
  explicit AttrBox(AttrRef a);
  AttrBox(const AttrBox& o) : AttrBox(o.ref()) {}
  AttrBox(AttrBox&& o) noexcept : data_(std::exchange(o.data_, nullptr)), type_(o.type_) {}
  AttrBox& operator=(AttrBox o) noexcept {
    std::swap(data_, o.data_);
    std::swap(type_, o.type_);
    return *this;
  }
  ~AttrBox();
  AttrRef ref() const { return {data_, data_ ? type_ : nullptr}; }

 private:
  void* data_ = nullptr;
  const AttrType* type_ = nullptr;
};

}  // namespace tandem
