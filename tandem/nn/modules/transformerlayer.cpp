#include "tandem/nn/modules/transformerlayer.h"

#include <ostream>

#include "tandem/ops/ops.h"

namespace tandem::nn {
namespace {

Tensor activated(const Tensor& x, const activation_t& activation) {
  if (std::holds_alternative<enumtype::kReLU>(activation)) return relu(x);
  if (std::holds_alternative<enumtype::kGELU>(activation)) return gelu(x);
  const auto& fn = std::get<std::function<Tensor(const Tensor&)>>(activation);
  TANDEM_CHECK(fn != nullptr, "activation: the function given is empty");
  return fn(x);
}

// Only the result: nobody asks a layer for its weights.
Tensor attend(MultiheadAttention& attention, const Tensor& query, const Tensor& memory,
              const Tensor& mask, const Tensor& padding) {
  return std::get<0>(attention(query, memory, memory, padding, /*need_weights=*/false, mask));
}

}  // namespace

// -- encoder ------------------------------------------------------------------------------------

TransformerEncoderLayerImpl::TransformerEncoderLayerImpl(
    const TransformerEncoderLayerOptions& options_)
    : options(options_) {
  reset();
}

void TransformerEncoderLayerImpl::reset() {
  const int64_t d = options.d_model(), inner = options.dim_feedforward();
  const double p = options.dropout();
  self_attn = register_module(
      "self_attn", MultiheadAttention(MultiheadAttentionOptions(d, options.nhead()).dropout(p)));
  linear1 = register_module("linear1", Linear(d, inner));
  dropout = register_module("dropout", Dropout(p));
  linear2 = register_module("linear2", Linear(inner, d));
  norm1 = register_module("norm1", LayerNorm(LayerNormOptions({d})));
  norm2 = register_module("norm2", LayerNorm(LayerNormOptions({d})));
  dropout1 = register_module("dropout1", Dropout(p));
  dropout2 = register_module("dropout2", Dropout(p));
}

void TransformerEncoderLayerImpl::reset_parameters() {
  self_attn->_reset_parameters();
  linear1->reset_parameters();
  linear2->reset_parameters();
  norm1->reset_parameters();
  norm2->reset_parameters();
}

void TransformerEncoderLayerImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"TransformerEncoderLayerImpl"};
}

Tensor TransformerEncoderLayerImpl::forward(const Tensor& src, const Tensor& src_mask,
                                            const Tensor& src_key_padding_mask) {
  ForwardScope scope(*this);
  const Tensor seen = attend(self_attn, src, src, src_mask, src_key_padding_mask);
  const Tensor x = norm1(src + dropout1(seen));
  return norm2(x + dropout2(linear2(dropout(activated(linear1(x), options.activation())))));
}

// -- decoder ------------------------------------------------------------------------------------

TransformerDecoderLayerImpl::TransformerDecoderLayerImpl(
    const TransformerDecoderLayerOptions& options_)
    : options(options_) {
  reset();
}

void TransformerDecoderLayerImpl::reset() {
  const int64_t d = options.d_model(), inner = options.dim_feedforward();
  const double p = options.dropout();
  const auto attention = MultiheadAttentionOptions(d, options.nhead()).dropout(p);
  self_attn = register_module("self_attn", MultiheadAttention(attention));
  multihead_attn = register_module("multihead_attn", MultiheadAttention(attention));
  linear1 = register_module("linear1", Linear(d, inner));
  dropout = register_module("dropout", Dropout(p));
  linear2 = register_module("linear2", Linear(inner, d));
  norm1 = register_module("norm1", LayerNorm(LayerNormOptions({d})));
  norm2 = register_module("norm2", LayerNorm(LayerNormOptions({d})));
  norm3 = register_module("norm3", LayerNorm(LayerNormOptions({d})));
  dropout1 = register_module("dropout1", Dropout(p));
  dropout2 = register_module("dropout2", Dropout(p));
  dropout3 = register_module("dropout3", Dropout(p));
}

void TransformerDecoderLayerImpl::reset_parameters() {
  self_attn->_reset_parameters();
  multihead_attn->_reset_parameters();
  linear1->reset_parameters();
  linear2->reset_parameters();
  norm1->reset_parameters();
  norm2->reset_parameters();
  norm3->reset_parameters();
}

void TransformerDecoderLayerImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"TransformerDecoderLayerImpl"};
}

Tensor TransformerDecoderLayerImpl::activation(const Tensor& input) {
  return activated(input, options.activation());
}

Tensor TransformerDecoderLayerImpl::forward(Tensor tgt, const Tensor& memory,
                                            const Tensor& tgt_mask, const Tensor& memory_mask,
                                            const Tensor& tgt_key_padding_mask,
                                            const Tensor& memory_key_padding_mask) {
  ForwardScope scope(*this);
  Tensor x = norm1(tgt + dropout1(attend(self_attn, tgt, tgt, tgt_mask, tgt_key_padding_mask)));
  x = norm2(x + dropout2(attend(multihead_attn, x, memory, memory_mask, memory_key_padding_mask)));
  return norm3(x + dropout3(linear2(dropout(activation(linear1(x))))));
}

}  // namespace tandem::nn
