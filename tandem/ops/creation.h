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
/// A 0-d tensor of the default dtype unless options say another.
Tensor scalar_tensor(const Scalar& value, const TensorOptions& o = {});

/// The value everywhere, in the shape and dtype of x.
Tensor fill(const Tensor& x, const Scalar& value);
Tensor fill(const Tensor& x, const Tensor& value);
inline Tensor& fill_(const Tensor& x, const Scalar& value) { return x.fill_(value); }
inline Tensor& fill_(const Tensor& x, const Tensor& value) { return x.fill_(value); }
inline Tensor& zero_(const Tensor& x) { return x.zero_(); }

// -- sequences and index tensors (ops/creation_range.cpp) ---------------------------------------

/// start, start + step, ... up to but not including end. int64 if all three are whole numbers.
Tensor arange(const Scalar& end, const TensorOptions& o = {});
Tensor arange(const Scalar& start, const Scalar& end, const TensorOptions& o = {});
Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step,
              const TensorOptions& o = {});
/// Like arange, end included.
Tensor range(const Scalar& start, const Scalar& end, const Scalar& step = 1,
             const TensorOptions& o = {});
/// `steps` numbers at equal distances from start to end, both included.
Tensor linspace(const Scalar& start, const Scalar& end, int64_t steps, const TensorOptions& o = {});
/// base to the power of linspace(start, end, steps).
Tensor logspace(const Scalar& start, const Scalar& end, int64_t steps, double base = 10,
                const TensorOptions& o = {});
/// Ones on the diagonal, zeros elsewhere.
Tensor eye(int64_t n, const TensorOptions& o = {});
Tensor eye(int64_t n, int64_t m, const TensorOptions& o = {});
/// Row and column numbers on and below (above) the offset-th diagonal: [2, count].
Tensor tril_indices(int64_t row, int64_t col, int64_t offset = 0, const TensorOptions& o = kLong);
Tensor triu_indices(int64_t row, int64_t col, int64_t offset = 0, const TensorOptions& o = kLong);
/// One tensor for each 1-d (or 0-d) input, all of the shape that the inputs span.
std::vector<Tensor> meshgrid(TensorList tensors);
std::vector<Tensor> meshgrid(TensorList tensors, const std::string& indexing);
/// Columns x^(n-1), ..., x, 1 (the other way round when increasing).
Tensor vander(const Tensor& x, std::optional<int64_t> n = std::nullopt, bool increasing = false);
/// Every choice of one element of each 1-d tensor, a row each.
Tensor cartesian_prod(TensorList tensors);
/// Every choice of r elements of a 1-d tensor, a row each.
Tensor combinations(const Tensor& x, int64_t r = 2, bool with_replacement = false);
/// Zeros with a one where the last dimension's index equals the element.
Tensor one_hot(const Tensor& x, int64_t num_classes = -1);
/// Memory with these strides and no values yet.
Tensor empty_strided(IntArrayRef size, IntArrayRef strides, const TensorOptions& o = {});

/// A tensor over memory that someone else owns. `deleter` runs when the last tensor is gone.
Tensor from_blob(void* data, IntArrayRef size, const TensorOptions& o = {});
Tensor from_blob(void* data, IntArrayRef size, IntArrayRef strides, const TensorOptions& o = {});
Tensor from_blob(void* data, IntArrayRef size, const std::function<void(void*)>& deleter,
                 const TensorOptions& o = {});
Tensor from_blob(void* data, IntArrayRef size, IntArrayRef strides,
                 const std::function<void(void*)>& deleter, const TensorOptions& o = {});

}  // namespace tandem
