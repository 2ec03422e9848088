#pragma once

#include "tandem/core/tensor.h"

namespace tandem {

Tensor empty(IntArrayRef size, const TensorOptions& o = {},
             std::optional<MemoryFormat> f = std::nullopt);
Tensor full(IntArrayRef size, const Scalar& value, const TensorOptions& o = {});
Tensor zeros(IntArrayRef size, const TensorOptions& o = {});
Tensor ones(IntArrayRef size, const TensorOptions& o = {});
Tensor empty_like(const Tensor& t, const TensorOptions& o = {},
                  std::optional<MemoryFormat> f = std::nullopt);
Tensor full_like(const Tensor& t, const Scalar& value, const TensorOptions& o = {},
                 std::optional<MemoryFormat> f = std::nullopt);
Tensor zeros_like(const Tensor& t, const TensorOptions& o = {},
                  std::optional<MemoryFormat> f = std::nullopt);
Tensor ones_like(const Tensor& t, const TensorOptions& o = {},
                 std::optional<MemoryFormat> f = std::nullopt);
/// A 0-d tensor of the number's own dtype (real numbers: the default dtype) unless options say
/// another.
Tensor scalar_tensor(const Scalar& value, const TensorOptions& o = {});

/// A tensor over memory that someone else owns. `deleter` runs when the last tensor is gone.
Tensor from_blob(void* data, IntArrayRef size, const TensorOptions& o = {});
Tensor from_blob(void* data, IntArrayRef size, IntArrayRef strides, const TensorOptions& o = {});
Tensor from_blob(void* data, IntArrayRef size, const std::function<void(void*)>& deleter,
                 const TensorOptions& o = {});
Tensor from_blob(void* data, IntArrayRef size, IntArrayRef strides,
                 const std::function<void(void*)>& deleter, const TensorOptions& o = {});

}  // namespace tandem
