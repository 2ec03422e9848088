#pragma once

#include "tandem/core/tensor.h"
#include "tandem/nn/options/embedding.h"

namespace tandem::nn::functional {

Tensor one_hot(const Tensor& tensor, int64_t num_classes = -1);
/// Rows of `weight` by number.
Tensor embedding(const Tensor& input, const Tensor& weight,
                 const EmbeddingFuncOptions& options = {});
/// Sums, means or maxima of bags of rows: the rows of a 2-d input, or those between offsets.
Tensor embedding_bag(const Tensor& input, const Tensor& weight,
                     const EmbeddingBagFuncOptions& options = {});

}  // namespace tandem::nn::functional
