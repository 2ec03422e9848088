#pragma once

#include <cstdint>

#include "tandem/base/small_vector.h"
#include "tandem/core/dtype.h"

namespace tandem {

/// Product of the extents; a negative extent or a product beyond int64 is a ShapeError.
int64_t numel_of(IntArrayRef sizes);
/// Row-major strides.
Dims contiguous_strides(IntArrayRef sizes);
bool is_contiguous(IntArrayRef sizes, IntArrayRef strides);
/// The common shape of two operands by NumPy's rule. `op` names the op in the error.
Dims broadcast_shapes(const char* op, IntArrayRef a, IntArrayRef b);
/// A dimension counted from the end when negative; IndexError with LibTorch's wording when out of
/// range. A 0-d tensor takes -1 and 0.
int64_t wrap_dim(const char* op, int64_t dim, int64_t ndim);

/// A strided block of memory as kernels see it. Strides count elements.
///
/// Borrowed: whoever makes one keeps sizes, strides and data alive.
struct Array {
  void* data = nullptr;
  const int64_t* sizes = nullptr;
  const int64_t* strides = nullptr;
  int64_t numel = 0;
  int32_t ndim = 0;
  DType dtype = DType::Undefined;
  bool contiguous = false;  // True iff the elements lie in row-major order without gaps.
  bool weak = false;        // True iff it stands for a C++ number; see TensorType.

  template <class T>
  T* ptr() const {
    return static_cast<T*>(data);
  }
  IntArrayRef shape() const { return {sizes, static_cast<size_t>(ndim)}; }
  IntArrayRef stride() const { return {strides, static_cast<size_t>(ndim)}; }
};

}  // namespace tandem
