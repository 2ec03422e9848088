#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <ostream>
#include <vector>

#include "tandem/base/array_ref.h"
#include "tandem/base/error.h"

namespace tandem {

/// D numbers of an option, one for each dimension. One number alone stands for D equal ones:
/// `.kernel_size(3)` and `.kernel_size({3, 5})`.
template <std::size_t D, class T = int64_t>
class ExpandingArray {
 public:
  ExpandingArray(std::initializer_list<T> list)
      : ExpandingArray(ArrayRef<T>(list.begin(), list.size())) {}
  ExpandingArray(const std::vector<T>& values) : ExpandingArray(ArrayRef<T>(values)) {}
  ExpandingArray(ArrayRef<T> values) {
    TANDEM_CHECK(values.size() == D, "Expected ", D, " values, but instead got ", values.size());
    std::copy(values.begin(), values.end(), values_.begin());
  }
  ExpandingArray(T single) { values_.fill(single); }
  ExpandingArray(const std::array<T, D>& values) : values_(values) {}

  std::array<T, D>& operator*() { return values_; }
  const std::array<T, D>& operator*() const { return values_; }
  std::array<T, D>* operator->() { return &values_; }
  const std::array<T, D>* operator->() const { return &values_; }
  operator ArrayRef<T>() const { return ArrayRef<T>(values_.data(), D); }
  std::size_t size() const { return D; }

 protected:
  std::array<T, D> values_;
};

/// The same where each number may be missing: the option then takes that extent from the input.
template <std::size_t D, class T = int64_t>
class ExpandingArrayWithOptionalElem : public ExpandingArray<D, std::optional<T>> {
 public:
  using ExpandingArray<D, std::optional<T>>::ExpandingArray;
  ExpandingArrayWithOptionalElem(std::initializer_list<T> list)
      : ExpandingArrayWithOptionalElem(ArrayRef<T>(list.begin(), list.size())) {}
  ExpandingArrayWithOptionalElem(const std::vector<T>& values)
      : ExpandingArrayWithOptionalElem(ArrayRef<T>(values)) {}
  ExpandingArrayWithOptionalElem(ArrayRef<T> values)
      : ExpandingArray<D, std::optional<T>>(std::nullopt) {
    TANDEM_CHECK(values.size() == D, "Expected ", D, " values, but instead got ", values.size());
    std::copy(values.begin(), values.end(), this->values_.begin());
  }
  ExpandingArrayWithOptionalElem(T single)
      : ExpandingArray<D, std::optional<T>>(std::optional<T>(single)) {}
  ExpandingArrayWithOptionalElem(const std::array<T, D>& values)
      : ExpandingArrayWithOptionalElem(ArrayRef<T>(values.data(), D)) {}
};

/// [a, b]; a single number alone.
template <std::size_t D, class T>
std::ostream& operator<<(std::ostream& out, const ExpandingArray<D, T>& a) {
  if constexpr (D == 1) return out << (*a)[0];
  return out << ArrayRef<T>(a);
}

template <std::size_t D, class T>
std::ostream& operator<<(std::ostream& out, const ExpandingArrayWithOptionalElem<D, T>& a) {
  if (D > 1) out << '[';
  for (std::size_t i = 0; i < D; ++i) {
    if (i > 0) out << ", ";
    (*a)[i] ? out << *(*a)[i] : out << "None";
  }
  if (D > 1) out << ']';
  return out;
}

}  // namespace tandem
