#pragma once

#include <cmath>
#include <cstring>
#include <functional>
#include <vector>

#include "tandem/core/shape.h"

namespace tandem::test {

enum class Layout { Contiguous, Transposed, Gaps };
inline constexpr Layout kLayouts[] = {Layout::Contiguous, Layout::Transposed, Layout::Gaps};
inline constexpr DType kAllDTypes[] = {kByte, kChar,  kShort,  kInt,  kLong,
                                       kHalf, kFloat, kDouble, kBool, kBFloat16};

/// An array that owns its memory, with any layout, read and written as doubles by logical number.
class Block {
 public:
  Block(std::vector<int64_t> sizes, DType dtype, Layout layout = Layout::Contiguous)
      : sizes_(std::move(sizes)), dtype_(dtype) {
    numel_ = 1;
    for (int64_t s : sizes_) numel_ *= s;
    strides_.assign(sizes_.size(), 0);
    int64_t step = layout == Layout::Gaps ? 2 : 1;
    for (size_t i = 0; i < sizes_.size(); ++i) {
      const size_t d = layout == Layout::Transposed ? i : sizes_.size() - 1 - i;
      strides_[d] = step;
      step *= std::max<int64_t>(sizes_[d], 1) + (layout == Layout::Gaps ? 1 : 0);
    }
    bytes_.assign(static_cast<size_t>((step + 4) * static_cast<int64_t>(size_of(dtype))) + 64,
                  0xab);
    // Bool bytes must be 0 or 1 even where nobody wrote.
    if (dtype == kBool) std::fill(bytes_.begin(), bytes_.end(), 0);
  }
  Block(std::vector<int64_t> sizes, DType dtype, Layout layout,
        const std::function<double(int64_t)>& value)
      : Block(std::move(sizes), dtype, layout) {
    for (int64_t i = 0; i < numel_; ++i) set(i, value(i));
  }
  Block(std::vector<int64_t> sizes, DType dtype, std::vector<double> values)
      : Block(std::move(sizes), dtype, Layout::Contiguous,
              [&](int64_t i) { return values.at(static_cast<size_t>(i)); }) {}

  Array array() const {
    Array a;
    a.data = const_cast<uint8_t*>(bytes_.data()) + base_;
    a.sizes = sizes_.data();
    a.strides = strides_.data();
    a.numel = numel_;
    a.ndim = static_cast<int32_t>(sizes_.size());
    a.dtype = dtype_;
    a.contiguous = is_contiguous(sizes_, strides_);
    return a;
  }
  /// Strides of 0 along d, as expand() makes them; the extent becomes `size`.
  void broadcast(size_t d, int64_t size) {
    numel_ = numel_ / sizes_[d] * size;
    sizes_[d] = size;
    strides_[d] = 0;
  }
  int64_t numel() const { return numel_; }
  const std::vector<int64_t>& sizes() const { return sizes_; }
  int64_t offset(int64_t i) const {
    int64_t o = 0;
    for (size_t d = sizes_.size(); d-- > 0;) {
      o += i % sizes_[d] * strides_[d];
      i /= sizes_[d];
    }
    return o;
  }
  double get(int64_t i) const {
    return dispatch(dtype_, [&]<class T>(T v) -> double {
      std::memcpy(static_cast<void*>(&v), bytes_.data() + base_ + offset(i) * sizeof(T), sizeof(T));
      if constexpr (sizeof(T) == 2 && !std::is_integral_v<T>)
        return static_cast<float>(v);
      else
        return static_cast<double>(v);
    });
  }
  int64_t get_int(int64_t i) const {
    int64_t v;
    std::memcpy(&v, bytes_.data() + base_ + offset(i) * 8, 8);
    return v;
  }
  void set(int64_t i, double value) {
    dispatch(dtype_, [&]<class T>(T v) {
      if constexpr (std::is_same_v<T, bool>)
        v = value != 0;
      else if constexpr (std::is_integral_v<T>)
        v = static_cast<T>(static_cast<int64_t>(value));
      else
        v = static_cast<T>(value);
      std::memcpy(bytes_.data() + base_ + offset(i) * static_cast<int64_t>(sizeof(T)), &v,
                  sizeof(T));
    });
  }
  std::vector<double> values() const {
    std::vector<double> v(static_cast<size_t>(numel_));
    for (int64_t i = 0; i < numel_; ++i) v[static_cast<size_t>(i)] = get(i);
    return v;
  }
  bool same_bits(const Block& o) const {
    if (numel_ != o.numel_ || dtype_ != o.dtype_) return false;
    const int64_t size = static_cast<int64_t>(size_of(dtype_));
    for (int64_t i = 0; i < numel_; ++i)
      if (std::memcmp(bytes_.data() + base_ + offset(i) * size,
                      o.bytes_.data() + base_ + o.offset(i) * size, static_cast<size_t>(size)) != 0)
        return false;
    return true;
  }
  const std::vector<uint8_t>& bytes() const { return bytes_; }

 private:
  static constexpr int64_t base_ = 16;
  std::vector<int64_t> sizes_, strides_;
  std::vector<uint8_t> bytes_;
  DType dtype_;
  int64_t numel_;
};

/// A fixed stream of numbers in [0, 1).
class Stream {
 public:
  explicit Stream(uint64_t seed = 1) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}
  double next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<double>(state_ >> 11) * 0x1p-53;
  }
  int64_t below(int64_t n) { return static_cast<int64_t>(next() * static_cast<double>(n)); }

 private:
  uint64_t state_;
};

}  // namespace tandem::test
