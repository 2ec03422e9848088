#pragma once

#include "tandem/core/shape.h"

namespace tandem::kernels {

/// A part of an array that keeps its own sizes and strides.
struct SubArray {
  Dims sizes, strides;
  void* data = nullptr;
  DType dtype = DType::Undefined;

  SubArray() = default;
  explicit SubArray(const Array& a)
      : sizes(a.shape()), strides(a.stride()), data(a.data), dtype(a.dtype) {}

  void move(int64_t elements) {
    data = static_cast<char*>(data) + elements * static_cast<int64_t>(size_of(dtype));
  }
  /// Keeps indices start, start + step, ... of a dimension, `length` of them.
  SubArray& slice(int64_t dim, int64_t start, int64_t length, int64_t step = 1) {
    if (length > 0) move(start * strides[dim]);
    sizes[dim] = length;
    strides[dim] *= step;
    return *this;
  }
  /// Keeps one index of a dimension, which goes away.
  SubArray& select(int64_t dim, int64_t index) {
    move(index * strides[dim]);
    sizes.erase(sizes.begin() + dim);
    strides.erase(strides.begin() + dim);
    return *this;
  }
  /// Borrows from this object.
  Array array() const {
    return {data,
            sizes.data(),
            strides.data(),
            numel_of(sizes),
            static_cast<int32_t>(sizes.size()),
            dtype,
            is_contiguous(sizes, strides)};
  }
};

}  // namespace tandem::kernels
