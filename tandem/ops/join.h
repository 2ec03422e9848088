#pragma once

#include "tandem/core/tensor.h"

// Several tensors made into one, and one repeated.
namespace tandem {

/// The tensors one after another along a dimension; dtypes are promoted.
Tensor cat(TensorList tensors, int64_t dim = 0);
Tensor concat(TensorList tensors, int64_t dim = 0);
Tensor concatenate(TensorList tensors, int64_t dim = 0);
/// The tensors side by side along a new dimension.
Tensor stack(TensorList tensors, int64_t dim = 0);
Tensor hstack(TensorList tensors);
Tensor vstack(TensorList tensors);
Tensor row_stack(TensorList tensors);
Tensor dstack(TensorList tensors);
Tensor column_stack(TensorList tensors);
/// A matrix with these blocks on its diagonal, zeros elsewhere.
Tensor block_diag(TensorList tensors);

namespace utils {
/// All elements of all tensors in one row, and back again into tensors of these shapes.
Tensor flatten_dense_tensors(TensorList tensors);
std::vector<Tensor> unflatten_dense_tensors(const Tensor& flat, TensorList tensors);
}  // namespace utils

Tensor tile(const Tensor& x, IntArrayRef repeats);
/// Element i repeated repeats[i] times: [3, 1] gives [0, 0, 0, 1].
Tensor repeat_interleave(const Tensor& repeats, std::optional<int64_t> output_size = std::nullopt);
Tensor repeat_interleave(const Tensor& x, const Tensor& repeats,
                         std::optional<int64_t> dim = std::nullopt,
                         std::optional<int64_t> output_size = std::nullopt);
Tensor repeat_interleave(const Tensor& x, int64_t repeats,
                         std::optional<int64_t> dim = std::nullopt,
                         std::optional<int64_t> output_size = std::nullopt);

}  // namespace tandem
