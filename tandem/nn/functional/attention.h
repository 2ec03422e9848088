#pragma once

#include <tuple>

#include "tandem/nn/options/attention.h"

namespace tandem::nn::functional {

/// Attention of several heads with its projections. query is [length, batch, embed_dim]; key and
/// value are [keys, batch, width]. The results are [length, batch, embed_dim] and, if wanted, the
/// weights after dropout: [batch, length, keys], or [batch, heads, length, keys] if not averaged.
std::tuple<Tensor, Tensor> multi_head_attention_forward(
    const Tensor& query, const Tensor& key, const Tensor& value,
    const MultiheadAttentionForwardFuncOptions& options);

}  // namespace tandem::nn::functional
