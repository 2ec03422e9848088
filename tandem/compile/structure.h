#pragma once

#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "tandem/core/tensor.h"

/// Finds the tensors in whatever a function takes and gives: tensors, tuples, pairs, arrays,
/// vectors, maps, optionals, and structs of them. A struct lists its members with TANDEM_FIELDS, or
/// is a plain one (an aggregate of at most 12 members).
namespace tandem::structure {

namespace detail {

// Converts to any member, to find out how many a struct has.
struct Anything {
  template <class T>
  operator T() const;
};
template <class T, size_t... I>
constexpr bool braces_fit(std::index_sequence<I...>) {
  return requires { T{(static_cast<void>(I), Anything{})...}; };
}
template <class T, size_t N = 12>
constexpr size_t member_count() {
  if constexpr (N == 0)
    return 0;
  else if constexpr (braces_fit<T>(std::make_index_sequence<N>()))
    return N;
  else
    return member_count<T, N - 1>();
}

template <class T>
auto members(T& v) {
  constexpr size_t n = member_count<std::remove_const_t<T>>();
  if constexpr (n == 0) {
    return std::tie();
  } else if constexpr (n == 1) {
    auto& [a] = v;
    return std::tie(a);
  } else if constexpr (n == 2) {
    auto& [a, b] = v;
    return std::tie(a, b);
  } else if constexpr (n == 3) {
    auto& [a, b, c] = v;
    return std::tie(a, b, c);
  } else if constexpr (n == 4) {
    auto& [a, b, c, d] = v;
    return std::tie(a, b, c, d);
  } else if constexpr (n == 5) {
    auto& [a, b, c, d, e] = v;
    return std::tie(a, b, c, d, e);
  } else if constexpr (n == 6) {
    auto& [a, b, c, d, e, f] = v;
    return std::tie(a, b, c, d, e, f);
  } else if constexpr (n == 7) {
    auto& [a, b, c, d, e, f, g] = v;
    return std::tie(a, b, c, d, e, f, g);
  } else if constexpr (n == 8) {
    auto& [a, b, c, d, e, f, g, h] = v;
    return std::tie(a, b, c, d, e, f, g, h);
  } else if constexpr (n == 9) {
    auto& [a, b, c, d, e, f, g, h, i] = v;
    return std::tie(a, b, c, d, e, f, g, h, i);
  } else if constexpr (n == 10) {
    auto& [a, b, c, d, e, f, g, h, i, j] = v;
    return std::tie(a, b, c, d, e, f, g, h, i, j);
  } else if constexpr (n == 11) {
    auto& [a, b, c, d, e, f, g, h, i, j, k] = v;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k);
  } else {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l] = v;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l);
  }
}

template <class T>
concept Range = requires(T& t) {
  t.begin();
  t.end();
};
template <class T>
concept TupleLike = requires {
  std::tuple_size<std::remove_const_t<T>>::value;
};
template <class T>
concept PointerLike = requires(const T& t) {
  t.operator->();
  requires std::is_pointer_v<decltype(t.get())>;
};
template <class T>
inline constexpr bool is_variant = false;
template <class... T>
inline constexpr bool is_variant<std::variant<T...>> = true;
// One address for each type.
template <class T>
inline constexpr char kTypeMark = 0;
template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

}  // namespace detail

/// Calls on_tensor(t) for every tensor in `v` and on_other(x) for every plain value, in a fixed
/// order. How many elements a container has counts as a plain value.
template <class T, class OnTensor, class OnOther>
void visit(T& v, const OnTensor& on_tensor, const OnOther& on_other) {
  using U = std::remove_const_t<T>;
  if constexpr (std::is_same_v<U, Tensor>) {
    on_tensor(v);
  } else if constexpr (std::is_arithmetic_v<U> || std::is_enum_v<U> || std::is_pointer_v<U> ||
                       std::is_same_v<U, std::string>) {
    on_other(v);
  } else if constexpr (detail::is_optional<U>) {
    const bool has = v.has_value();
    on_other(has);
    if (has) visit(*v, on_tensor, on_other);
  } else if constexpr (detail::Range<T>) {
    const size_t n = static_cast<size_t>(std::distance(v.begin(), v.end()));
    on_other(n);
    for (auto&& e : v) visit(e, on_tensor, on_other);
  } else if constexpr (detail::TupleLike<U>) {
    std::apply([&](auto&... e) { (visit(e, on_tensor, on_other), ...); }, v);
  } else if constexpr (requires { v.fields(); }) {
    std::apply([&](auto&... e) { (visit(e, on_tensor, on_other), ...); }, v.fields());
  } else if constexpr (std::is_same_v<U, Scalar>) {
    on_other(v.type());
    if (v.isFloatingPoint())
      on_other(v.toDouble());
    else
      on_other(v.toLong());
  } else if constexpr (detail::PointerLike<U>) {
    const void* where = v.get();  // a module's holder, a shared_ptr
    on_other(where);
  } else if constexpr (detail::is_variant<U>) {
    on_other(v.index());
    std::visit([&](auto& e) { visit(e, on_tensor, on_other); }, v);
  } else if constexpr (std::is_polymorphic_v<U> || !std::is_copy_constructible_v<U>) {
    // A module, an optimiser, ...: it is told apart by where it is.
    const void* where = &v;
    on_other(where);
  } else if constexpr (std::is_aggregate_v<U>) {
    std::apply([&](auto&... e) { (visit(e, on_tensor, on_other), ...); }, detail::members(v));
  } else if constexpr (std::has_unique_object_representations_v<U> && sizeof(U) <= 8) {
    on_other(v);  // a device, an index type, ...: a plain value by its bytes
  } else {
    static_assert(
        std::is_empty_v<U>,
        "what a compiled function is called with must consist of tensors and plain "
        "values: list the members of this class with TANDEM_FIELDS, pass a pointer to it, "
        "or let the function capture it");
  }
}

/// Plain values that a call depends on, as words that are equal iff they are.
class Key {
 public:
  template <class T>
  void add(const T& v) {
    // 0 and 0.0 are different arguments of a generic lambda.
    words_.push_back(reinterpret_cast<uintptr_t>(&detail::kTypeMark<T>));
    if constexpr (std::is_same_v<T, std::string>) {
      words_.push_back(v.size());
      for (size_t i = 0; i < v.size(); i += 8) {
        uint64_t word = 0;
        std::memcpy(&word, v.data() + i, std::min<size_t>(8, v.size() - i));
        words_.push_back(word);
      }
    } else {
      static_assert(sizeof(T) <= 16);
      uint64_t word[2] = {0, 0};
      std::memcpy(word, &v,
                  sizeof(T) < 10 ? sizeof(T) : 10);  // long double has ten bytes that count
      words_.push_back(word[0]);
      if (sizeof(T) > 8) words_.push_back(word[1]);
    }
  }
  friend bool operator==(const Key& a, const Key& b) { return a.words_ == b.words_; }

 private:
  SmallVector<uint64_t, 12> words_;
};

template <class T>
void collect(const T& v, SmallVector<Tensor, 4>& tensors, Key& key) {
  visit(
      v, [&](const Tensor& t) { tensors.push_back(t); }, [&](const auto& x) { key.add(x); });
}

/// Puts tensors[next], tensors[next + 1], ... in the places of those in `v`.
template <class T>
void replace(T& v, ArrayRef<Tensor> tensors, size_t& next) {
  visit(
      v, [&](Tensor& t) { t = tensors[next++]; }, [](const auto&) {});
}

}  // namespace tandem::structure
