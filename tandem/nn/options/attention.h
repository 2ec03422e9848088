#pragma once

#include "tandem/base/arg.h"
#include "tandem/core/tensor.h"

namespace tandem::nn {

/// Options of MultiheadAttention.
///
///     MultiheadAttention attention(MultiheadAttentionOptions(20, 10).bias(false));
struct MultiheadAttentionOptions {
  MultiheadAttentionOptions(int64_t embed_dim, int64_t num_heads)
      : embed_dim_(embed_dim), num_heads_(num_heads), kdim_(embed_dim), vdim_(embed_dim) {}

  /// The width of queries and results; heads share it out evenly.
  TANDEM_ARG(int64_t, embed_dim);
  TANDEM_ARG(int64_t, num_heads);
  /// The probability with which a weight is dropped while training.
  TANDEM_ARG(double, dropout) = 0.0;
  TANDEM_ARG(bool, bias) = true;
  /// One more key and value, the same for all, that are learned.
  TANDEM_ARG(bool, add_bias_kv) = false;
  /// One more key and value of zeros.
  TANDEM_ARG(bool, add_zero_attn) = false;
  /// The widths of keys and values.
  TANDEM_ARG(int64_t, kdim);
  TANDEM_ARG(int64_t, vdim);
};

namespace functional {

/// Options of multi_head_attention_forward. The tensors may be undefined where there are none.
struct MultiheadAttentionForwardFuncOptions {
  MultiheadAttentionForwardFuncOptions(int64_t embed_dim_to_check, int64_t num_heads,
                                       Tensor in_proj_weight, Tensor in_proj_bias, Tensor bias_k,
                                       Tensor bias_v, bool add_zero_attn, double dropout_p,
                                       Tensor out_proj_weight, Tensor out_proj_bias)
      : embed_dim_to_check_(embed_dim_to_check),
        num_heads_(num_heads),
        in_proj_weight_(std::move(in_proj_weight)),
        in_proj_bias_(std::move(in_proj_bias)),
        bias_k_(std::move(bias_k)),
        bias_v_(std::move(bias_v)),
        add_zero_attn_(add_zero_attn),
        dropout_p_(dropout_p),
        out_proj_weight_(std::move(out_proj_weight)),
        out_proj_bias_(std::move(out_proj_bias)) {}

  TANDEM_ARG(int64_t, embed_dim_to_check);
  TANDEM_ARG(int64_t, num_heads);
  /// [3 * embed_dim, embed_dim]: those of queries, keys and values below each other.
  TANDEM_ARG(Tensor, in_proj_weight);
  TANDEM_ARG(Tensor, in_proj_bias);
  TANDEM_ARG(Tensor, bias_k);
  TANDEM_ARG(Tensor, bias_v);
  TANDEM_ARG(bool, add_zero_attn);
  TANDEM_ARG(double, dropout_p);
  TANDEM_ARG(Tensor, out_proj_weight);
  TANDEM_ARG(Tensor, out_proj_bias);
  TANDEM_ARG(bool, training) = true;
  /// [batch, keys]: keys that are not looked at (bool), or numbers added to their scores.
  TANDEM_ARG(Tensor, key_padding_mask) = {};
  /// Without them the matrix of weights is never held.
  TANDEM_ARG(bool, need_weights) = true;
  /// [queries, keys] or [batch * heads, queries, keys]: pairs that are not looked at (bool), or
  /// numbers added to their scores.
  TANDEM_ARG(Tensor, attn_mask) = {};
  /// The weights of queries, keys and values are those of the next three, not in_proj_weight.
  TANDEM_ARG(bool, use_separate_proj_weight) = false;
  TANDEM_ARG(Tensor, q_proj_weight) = {};
  TANDEM_ARG(Tensor, k_proj_weight) = {};
  TANDEM_ARG(Tensor, v_proj_weight) = {};
  /// Keys and values, [batch * heads, keys, embed_dim / heads], in place of projected ones.
  TANDEM_ARG(Tensor, static_k) = {};
  TANDEM_ARG(Tensor, static_v) = {};
  /// The weights that are given are the mean over all heads.
  TANDEM_ARG(bool, average_attn_weights) = true;
};

}  // namespace functional
}  // namespace tandem::nn
