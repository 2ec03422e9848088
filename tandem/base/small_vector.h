#pragma once

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <new>
#include <type_traits>
#include <utility>

#include "tandem/base/array_ref.h"

namespace tandem {

/// A vector whose first N elements need no allocation.
template <class T, size_t N>
class SmallVector {
 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  SmallVector() = default;
  explicit SmallVector(size_t n, const T& value = T()) {
    reserve(n);
    for (size_t i = 0; i < n; ++i) new (data_ + i) T(value);
    size_ = static_cast<uint32_t>(n);
  }
  SmallVector(std::initializer_list<T> l) { append(l.begin(), l.end()); }
  SmallVector(ArrayRef<T> a) { append(a.begin(), a.end()); }
  SmallVector(const std::vector<T>& v) { append(v.data(), v.data() + v.size()); }
  template <class It>
    requires(!std::is_integral_v<It>)
  SmallVector(It first, It last) {
    append(first, last);
  }
  SmallVector(const SmallVector& o) { copy_from(o); }
  SmallVector(SmallVector&& o) noexcept { take(o); }
  ~SmallVector() {
    destroy(0, size_);
    free_heap();
  }
  SmallVector& operator=(const SmallVector& o) {
    if (this == &o) return *this;
    clear();
    copy_from(o);
    return *this;
  }
  SmallVector& operator=(SmallVector&& o) noexcept {
    if (this == &o) return *this;
    clear();
    free_heap();
    take(o);
    return *this;
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T& front() { return data_[0]; }
  const T& front() const { return data_[0]; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }

  void reserve(size_t n) {
    if (n > capacity_) grow(n);
  }
  void clear() {
    destroy(0, size_);
    size_ = 0;
  }
  void resize(size_t n, T value = T()) {
    if (n < size_) {
      destroy(n, size_);
    } else {
      reserve(n);
      for (size_t i = size_; i < n; ++i) new (data_ + i) T(value);
    }
    size_ = static_cast<uint32_t>(n);
  }
  /// Changes the size without giving new elements a value; for plain numbers only.
  void resize_for_overwrite(size_t n) {
    static_assert(std::is_trivial_v<T>);
    reserve(n);
    size_ = static_cast<uint32_t>(n);
  }
  void push_back(T value) {
    if (size_ == capacity_) grow(size_ + 1);
    new (data_ + size_++) T(std::move(value));
  }
  template <class... Args>
  T& emplace_back(Args&&... args) {
    // Made before growing: the arguments may refer to an element of this vector.
    if (size_ == capacity_) {
      push_back(T(std::forward<Args>(args)...));
      return back();
    }
    return *new (data_ + size_++) T(std::forward<Args>(args)...);
  }
  void pop_back() { data_[--size_].~T(); }
  T* insert(const T* where, T value) {
    const size_t at = where - data_;
    push_back(std::move(value));
    std::rotate(data_ + at, data_ + size_ - 1, data_ + size_);
    return data_ + at;
  }
  T* erase(const T* where) {
    T* p = data_ + (where - data_);
    std::move(p + 1, end(), p);
    pop_back();
    return p;
  }
  template <class It>
  void append(It first, It last) {
    reserve(size_ + std::distance(first, last));
    for (; first != last; ++first) new (data_ + size_++) T(*first);
  }

  operator ArrayRef<T>() const { return {data_, size_}; }
  ArrayRef<T> ref() const { return {data_, size_}; }
  std::vector<T> vec() const { return std::vector<T>(begin(), end()); }
  friend bool operator==(const SmallVector& a, const SmallVector& b) { return a.ref() == b.ref(); }
  friend bool operator==(const SmallVector& a, ArrayRef<T> b) { return a.ref() == b; }
  friend std::ostream& operator<<(std::ostream& out, const SmallVector& a) { return out << a.ref(); }

 private:
  T* inline_data() { return reinterpret_cast<T*>(inline_); }
  void destroy([[maybe_unused]] size_t from, [[maybe_unused]] size_t to) {
    if constexpr (!std::is_trivially_destructible_v<T>)
      for (size_t i = from; i < to; ++i) data_[i].~T();
  }
  void copy_from(const SmallVector& o) {
    // Shapes are copied by every op: one block of known size beats a loop.
    if constexpr (std::is_trivially_copyable_v<T> && N * sizeof(T) <= 64) {
      if (o.size_ <= N) {
        std::memcpy(static_cast<void*>(data_), o.data_, N * sizeof(T));
        size_ = o.size_;
        return;
      }
    }
    append(o.begin(), o.end());
  }
  void free_heap() {
    if (data_ != inline_data()) ::operator delete(data_);
    data_ = inline_data();
    capacity_ = N;
  }
  void grow(size_t n) {
    const size_t capacity = std::max<size_t>(n, capacity_ * 2);
    T* fresh = static_cast<T*>(::operator new(capacity * sizeof(T)));
    for (size_t i = 0; i < size_; ++i) {
      new (fresh + i) T(std::move(data_[i]));
      data_[i].~T();
    }
    if (data_ != inline_data()) ::operator delete(data_);
    data_ = fresh;
    capacity_ = static_cast<uint32_t>(capacity);
  }
  void take(SmallVector& o) {
    if (o.data_ == o.inline_data()) {
      for (size_t i = 0; i < o.size_; ++i) new (data_ + i) T(std::move(o.data_[i]));
      size_ = o.size_;
      o.clear();
    } else {
      data_ = std::exchange(o.data_, o.inline_data());
      size_ = std::exchange(o.size_, 0);
      capacity_ = std::exchange(o.capacity_, static_cast<uint32_t>(N));
    }
  }

  T* data_ = inline_data();
  uint32_t size_ = 0;
  uint32_t capacity_ = N;
  alignas(T) unsigned char inline_[N * sizeof(T)];
};

/// Extents or strides of a tensor: up to six without an allocation.
using Dims = SmallVector<int64_t, 6>;
using DimVector = Dims;

}  // namespace tandem
