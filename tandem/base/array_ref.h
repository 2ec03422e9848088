#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <ostream>
#include <type_traits>
#include <vector>

#include "tandem/base/error.h"

namespace tandem {

/// A borrowed, read-only run of elements. Whoever passes one keeps the elements alive.
template <class T>
class ArrayRef {
 public:
  using value_type = T;
  using iterator = const T*;
  using const_iterator = const T*;
  using reverse_iterator = std::reverse_iterator<iterator>;
  constexpr ArrayRef() = default;
  constexpr ArrayRef(const T* data, size_t size) : data_(data), size_(size) {}
  constexpr ArrayRef(const T* begin, const T* end) : data_(begin), size_(end - begin) {}
  constexpr ArrayRef(const T& one) : data_(&one), size_(1) {}
  ArrayRef(const std::vector<T>& v) : data_(v.data()), size_(v.size()) {}
  template <size_t N>
  constexpr ArrayRef(const std::array<T, N>& a) : data_(a.data()), size_(N) {}
  template <size_t N>
  constexpr ArrayRef(const T (&a)[N]) : data_(a), size_(N) {}
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wunknown-warning-option"
#pragma GCC diagnostic ignored "-Winit-list-lifetime"
  // An argument's braces live until the call returns, which is as long as an ArrayRef is used.
  constexpr ArrayRef(std::initializer_list<T> l) : data_(l.begin()), size_(l.size()) {}
#pragma GCC diagnostic pop

  constexpr const T* data() const { return data_; }
  constexpr size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr iterator begin() const { return data_; }
  constexpr iterator end() const { return data_ + size_; }
  constexpr reverse_iterator rbegin() const { return reverse_iterator(end()); }
  constexpr reverse_iterator rend() const { return reverse_iterator(begin()); }
  constexpr const T& operator[](size_t i) const { return data_[i]; }
  const T& at(size_t i) const {
    TANDEM_CHECK_INDEX(i < size_, "ArrayRef: index ", i, " is out of range for length ", size_);
    return data_[i];
  }
  constexpr const T& front() const { return data_[0]; }
  constexpr const T& back() const { return data_[size_ - 1]; }
  constexpr ArrayRef slice(size_t from, size_t n) const { return {data_ + from, n}; }
  constexpr ArrayRef slice(size_t from) const { return {data_ + from, size_ - from}; }
  std::vector<T> vec() const { return std::vector<T>(begin(), end()); }
  bool equals(ArrayRef o) const { return *this == o; }
  friend bool operator==(ArrayRef a, ArrayRef b) {
    if (a.size_ != b.size_) return false;
    for (size_t i = 0; i < a.size_; ++i)
      if (!(a.data_[i] == b.data_[i])) return false;
    return true;
  }
  friend bool operator==(ArrayRef a, const std::vector<T>& b) { return a == ArrayRef(b); }
  friend bool operator==(const std::vector<T>& a, ArrayRef b) { return ArrayRef(a) == b; }
  friend std::ostream& operator<<(std::ostream& out, ArrayRef a) {
    out << '[';
    for (size_t i = 0; i < a.size_; ++i) out << (i ? ", " : "") << a.data_[i];
    return out << ']';
  }

 private:
  const T* data_ = nullptr;
  size_t size_ = 0;
};

using IntArrayRef = ArrayRef<int64_t>;

/// An ArrayRef or nothing. Unlike std::optional<ArrayRef> it is made from braces and single elements
/// too: x.sum({0, 1}), x.sum(0).
template <class T>
class OptionalArrayRef {
 public:
  constexpr OptionalArrayRef() = default;
  constexpr OptionalArrayRef(std::nullopt_t) {}
  constexpr OptionalArrayRef(ArrayRef<T> a) : value_(a), has_(true) {}
  constexpr OptionalArrayRef(const T& one) : value_(one), has_(true) {}
  constexpr OptionalArrayRef(std::initializer_list<T> l) : value_(l), has_(true) {}
  template <class C>
    requires(std::is_convertible_v<const C&, ArrayRef<T>> &&
             !std::is_convertible_v<const C&, const T&>)
  OptionalArrayRef(const C& c) : value_(c), has_(true) {}
  OptionalArrayRef(const std::optional<ArrayRef<T>>& o) : value_(o.value_or(ArrayRef<T>())), has_(o) {}

  constexpr bool has_value() const { return has_; }
  constexpr explicit operator bool() const { return has_; }
  constexpr const ArrayRef<T>& value() const { return value_; }
  constexpr const ArrayRef<T>& operator*() const { return value_; }
  constexpr const ArrayRef<T>* operator->() const { return &value_; }

 private:
  ArrayRef<T> value_;
  bool has_ = false;
};
using OptionalIntArrayRef = OptionalArrayRef<int64_t>;

}  // namespace tandem
