#pragma once

#include "tandem/core/tensor.h"

namespace tandem {

// Each of these shares memory with its argument; see the methods of Tensor of
// the same names.
Tensor reshape(const Tensor& x, IntArrayRef size);
Tensor transpose(const Tensor& x, int64_t a, int64_t b);
Tensor swapaxes(const Tensor& x, int64_t a, int64_t b);
Tensor swapdims(const Tensor& x, int64_t a, int64_t b);
Tensor permute(const Tensor& x, IntArrayRef dims);
Tensor t(const Tensor& x);
Tensor adjoint(const Tensor& x);
Tensor squeeze(const Tensor& x);
Tensor squeeze(const Tensor& x, int64_t dim);
Tensor unsqueeze(const Tensor& x, int64_t dim);
Tensor broadcast_to(const Tensor& x, IntArrayRef size);
std::vector<Tensor> broadcast_tensors(TensorList tensors);
Tensor narrow(const Tensor& x, int64_t dim, int64_t start, int64_t length);
Tensor narrow(const Tensor& x, int64_t dim, const Tensor& start, int64_t length);
Tensor select(const Tensor& x, int64_t dim, int64_t index);
Tensor slice(const Tensor& x, int64_t dim = 0, std::optional<int64_t> start = std::nullopt,
             std::optional<int64_t> end = std::nullopt, int64_t step = 1);
Tensor as_strided(const Tensor& x, IntArrayRef size, IntArrayRef stride,
                  std::optional<int64_t> offset = std::nullopt);
Tensor _reshape_alias(const Tensor& x, IntArrayRef size, IntArrayRef stride);
std::vector<Tensor> chunk(const Tensor& x, int64_t chunks, int64_t dim = 0);
std::vector<Tensor> split(const Tensor& x, int64_t size, int64_t dim = 0);
std::vector<Tensor> split(const Tensor& x, IntArrayRef sizes, int64_t dim = 0);
std::vector<Tensor> split_with_sizes(const Tensor& x, IntArrayRef sizes, int64_t dim = 0);
std::vector<Tensor> tensor_split(const Tensor& x, int64_t sections, int64_t dim = 0);
std::vector<Tensor> tensor_split(const Tensor& x, IntArrayRef indices, int64_t dim = 0);
std::vector<Tensor> tensor_split(const Tensor& x, const Tensor& where, int64_t dim = 0);
std::vector<Tensor> hsplit(const Tensor& x, int64_t sections);
std::vector<Tensor> hsplit(const Tensor& x, IntArrayRef indices);
std::vector<Tensor> vsplit(const Tensor& x, int64_t sections);
std::vector<Tensor> vsplit(const Tensor& x, IntArrayRef indices);
std::vector<Tensor> dsplit(const Tensor& x, int64_t sections);
std::vector<Tensor> dsplit(const Tensor& x, IntArrayRef indices);
std::vector<Tensor> unbind(const Tensor& x, int64_t dim = 0);
Tensor flatten(const Tensor& x, int64_t start = 0, int64_t end = -1);
Tensor unflatten(const Tensor& x, int64_t dim, IntArrayRef sizes);
Tensor ravel(const Tensor& x);
Tensor movedim(const Tensor& x, IntArrayRef from, IntArrayRef to);
Tensor movedim(const Tensor& x, int64_t from, int64_t to);
Tensor moveaxis(const Tensor& x, IntArrayRef from, IntArrayRef to);
Tensor moveaxis(const Tensor& x, int64_t from, int64_t to);
Tensor diagonal(const Tensor& x, int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1);
Tensor alias(const Tensor& x);
Tensor detach(const Tensor& x);
Tensor atleast_1d(const Tensor& x);
Tensor atleast_2d(const Tensor& x);
Tensor atleast_3d(const Tensor& x);
std::vector<Tensor> atleast_1d(TensorList tensors);
std::vector<Tensor> atleast_2d(TensorList tensors);
std::vector<Tensor> atleast_3d(TensorList tensors);

// This one copies.
Tensor narrow_copy(const Tensor& x, int64_t dim, int64_t start, int64_t length);

}  // namespace tandem
