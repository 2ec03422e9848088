#pragma once

#include "tandem/core/tensor.h"

namespace tandem {

/// Rows of `weight` by number. Rows `padding_idx` get no gradient (-1: there is none). With
/// scale_grad_by_freq a row's gradient is divided by how often it was asked for. `sparse` changes
/// nothing: gradients are dense.
Tensor embedding(const Tensor& weight, const Tensor& indices, int64_t padding_idx = -1,
                 bool scale_grad_by_freq = false, bool sparse = false);
/// The sum of the rows of grad_output that belong to each of `num_weights` numbers.
Tensor embedding_dense_backward(const Tensor& grad_output, const Tensor& indices,
                                int64_t num_weights, int64_t padding_idx, bool scale_grad_by_freq);
/// Shortens, in place, those rows of `weight` that are asked for and whose norm exceeds max_norm.
Tensor& embedding_renorm_(const Tensor& weight, const Tensor& indices, double max_norm,
                          double norm_type);

/// Sums (mode 0), means (1) or maxima (2) of bags of rows. Bag b has the indices from offsets[b] up
/// to the next offset; with include_last_offset the last offset is the end of the last bag. Gives
/// the result, the number of each index's bag, the number of indices of each bag, and for maxima
/// where they came from.
std::tuple<Tensor, Tensor, Tensor, Tensor> embedding_bag(
    const Tensor& weight, const Tensor& indices, const Tensor& offsets,
    bool scale_grad_by_freq = false, int64_t mode = 0, bool sparse = false,
    const std::optional<Tensor>& per_sample_weights = std::nullopt,
    bool include_last_offset = false, std::optional<int64_t> padding_idx = std::nullopt);

}  // namespace tandem
