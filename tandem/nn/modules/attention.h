#pragma once

#include <tuple>

#include "tandem/nn/cloneable.h"
#include "tandem/nn/modules/common.h"
#include "tandem/nn/modules/linear.h"
#include "tandem/nn/options/attention.h"

namespace tandem::nn {

/// Attention of several heads: each looks at its own projections of queries, keys and values, and
/// the results of all, side by side, are projected once more. Tensors are [length, batch, width].
///
/// Without weights to be shown (need_weights false) the matrix of weights is never held, and
/// self-attention, where the three are the same tensor, makes its projections in one product.
class MultiheadAttentionImpl : public Cloneable<MultiheadAttentionImpl> {
 public:
  MultiheadAttentionImpl(int64_t embed_dim, int64_t num_heads)
      : MultiheadAttentionImpl(MultiheadAttentionOptions(embed_dim, num_heads)) {}
  explicit MultiheadAttentionImpl(const MultiheadAttentionOptions& options_);

  /// The result and the weights (undefined if not wanted): see multi_head_attention_forward.
  std::tuple<Tensor, Tensor> forward(const Tensor& query, const Tensor& key, const Tensor& value,
                                     const Tensor& key_padding_mask = {}, bool need_weights = true,
                                     const Tensor& attn_mask = {},
                                     bool average_attn_weights = true);

 protected:
  FORWARD_HAS_DEFAULT_ARGS({3, AnyValue(Tensor())}, {4, AnyValue(true)}, {5, AnyValue(Tensor())},
                           {6, AnyValue(true)})

 public:
  void reset() override;
  void _reset_parameters();
  void pretty_print(std::ostream& stream) const override;

  MultiheadAttentionOptions options;
  bool _qkv_same_embed_dim = true;
  // One of in_proj_weight and the three *_proj_weight is there; the others are undefined.
  Tensor in_proj_weight;
  Tensor in_proj_bias;
  Tensor bias_k;
  Tensor bias_v;
  Linear out_proj = nullptr;
  Tensor q_proj_weight;
  Tensor k_proj_weight;
  Tensor v_proj_weight;
  int64_t head_dim = 0;
};
TANDEM_NN_MODULE(MultiheadAttention);

}  // namespace tandem::nn
