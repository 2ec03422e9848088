#include "tandem/nn/modules/attention.h"

#include <ostream>

#include "tandem/nn/functional/attention.h"
#include "tandem/nn/init.h"
#include "tandem/ops/ops.h"

namespace tandem::nn {

MultiheadAttentionImpl::MultiheadAttentionImpl(const MultiheadAttentionOptions& options_)
    : options(options_) {
  reset();
}

void MultiheadAttentionImpl::reset() {
  const int64_t e = options.embed_dim(), heads = options.num_heads();
  TANDEM_CHECK(e > 0 && heads > 0 && e % heads == 0,
               "MultiheadAttention: embed_dim must be divisible by num_heads, got ", e, " and ",
               heads);
  TANDEM_CHECK(options.kdim() > 0 && options.vdim() > 0,
               "MultiheadAttention: kdim and vdim must be positive, got ", options.kdim(), " and ",
               options.vdim());
  TANDEM_CHECK(options.dropout() >= 0 && options.dropout() <= 1,
               "MultiheadAttention: dropout probability has to be between 0 and 1, but got ",
               options.dropout());
  head_dim = e / heads;
  _qkv_same_embed_dim = options.kdim() == e && options.vdim() == e;
  const auto weight = [&](const char* name, bool there, int64_t rows, int64_t cols) {
    return register_parameter(name, there ? empty({rows, cols}) : Tensor(), there);
  };
  const bool same = _qkv_same_embed_dim;
  if (same) in_proj_weight = weight("in_proj_weight", true, 3 * e, e);
  q_proj_weight = weight("q_proj_weight", !same, e, e);
  k_proj_weight = weight("k_proj_weight", !same, e, options.kdim());
  v_proj_weight = weight("v_proj_weight", !same, e, options.vdim());
  if (!same) in_proj_weight = weight("in_proj_weight", false, 0, 0);
  const bool bias = options.bias(), more = options.add_bias_kv();
  in_proj_bias = register_parameter("in_proj_bias", bias ? empty({3 * e}) : Tensor(), bias);
  out_proj = register_module("out_proj", Linear(LinearOptions(e, e).bias(bias)));
  if (more) {
    bias_k = register_parameter("bias_k", empty({1, 1, e}));
    bias_v = register_parameter("bias_v", empty({1, 1, e}));
  } else {
    bias_k = Tensor();
    bias_v = Tensor();
  }
  _reset_parameters();
}

void MultiheadAttentionImpl::_reset_parameters() {
  for (const Tensor& w : {in_proj_weight, q_proj_weight, k_proj_weight, v_proj_weight})
    if (w.defined()) init::xavier_uniform_(w);
  if (in_proj_bias.defined()) {
    init::constant_(in_proj_bias, 0);
    init::constant_(out_proj->bias, 0);
  }
  if (bias_k.defined()) init::xavier_normal_(bias_k);
  if (bias_v.defined()) init::xavier_normal_(bias_v);
}

void MultiheadAttentionImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"MultiheadAttention"};
}

std::tuple<Tensor, Tensor> MultiheadAttentionImpl::forward(
    const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& key_padding_mask,
    bool need_weights, const Tensor& attn_mask, bool average_attn_weights) {
  ForwardScope scope(*this);
  auto o = functional::MultiheadAttentionForwardFuncOptions(
               options.embed_dim(), options.num_heads(), in_proj_weight, in_proj_bias, bias_k,
               bias_v, options.add_zero_attn(), options.dropout(), out_proj->weight, out_proj->bias)
               .training(is_training())
               .key_padding_mask(key_padding_mask)
               .need_weights(need_weights)
               .attn_mask(attn_mask)
               .average_attn_weights(average_attn_weights);
  if (!_qkv_same_embed_dim)
    o.use_separate_proj_weight(true)
        .q_proj_weight(q_proj_weight)
        .k_proj_weight(k_proj_weight)
        .v_proj_weight(v_proj_weight);
  return functional::multi_head_attention_forward(query, key, value, o);
}

}  // namespace tandem::nn
