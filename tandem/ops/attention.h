#pragma once

#include <optional>
#include <tuple>

#include "tandem/core/tensor.h"

namespace tandem {

/// softmax(scale * query key^T + mask) value, without ever holding the whole matrix of weights.
///
/// query is [..., L, E], key [..., S, E], value [..., S, Ev]; leading dimensions (batch, heads)
/// broadcast, and so does the mask to [..., L, S]. A mask of bools says which keys take part; one
/// of numbers is added. is_causal lets query i see the keys 0 .. i and goes without another mask.
/// A query all of whose keys are masked gives NaN. `scale` is 1 / sqrt(E) unless given.
Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const std::optional<Tensor>& attn_mask = {},
                                    double dropout_p = 0.0, bool is_causal = false,
                                    std::optional<double> scale = std::nullopt);

/// The same with the weights, after dropout, as second result if they are wanted; undefined if not.
/// With them the matrix is held; the same seed drops the same weights either way.
std::tuple<Tensor, Tensor> _scaled_dot_product_attention(
    const Tensor& query, const Tensor& key, const Tensor& value,
    const std::optional<Tensor>& attn_mask = {}, double dropout_p = 0.0,
    bool need_attn_weights = false, bool is_causal = false);

/// Self-attention of several heads on queries, keys and values that lie in one tensor, as a linear
/// layer makes them: packed is [length, batch, 3 * width], the result [length, batch, width]. The
/// same as splitting it into heads and joining them again, without the copies that this needs.
/// A mask broadcasts to [batch, heads, length, length].
Tensor packed_attention(const Tensor& packed, int64_t num_heads,
                        const std::optional<Tensor>& attn_mask = {}, double dropout_p = 0.0,
                        bool is_causal = false);

}  // namespace tandem
