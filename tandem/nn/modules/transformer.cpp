#include "tandem/nn/modules/transformer.h"

#include <limits>
#include <ostream>

#include "tandem/nn/init.h"
#include "tandem/nn/modules/transformercoder.h"
#include "tandem/ops/ops.h"

namespace tandem::nn {
namespace {

template <class LayerOptions>
LayerOptions layer_options(const TransformerOptions& o) {
  return LayerOptions(o.d_model(), o.nhead())
      .dim_feedforward(o.dim_feedforward())
      .dropout(o.dropout())
      .activation(o.activation());
}

AnyModule last_norm(const TransformerOptions& o) {
  return AnyModule(LayerNorm(LayerNormOptions({o.d_model()})));
}

}  // namespace

TransformerImpl::TransformerImpl(TransformerOptions options_) : options(std::move(options_)) {
  reset();
}

void TransformerImpl::reset() {
  const TransformerOptions& o = options;
  if (o.custom_encoder().is_empty())
    encoder = AnyModule(TransformerEncoder(
        TransformerEncoderOptions(layer_options<TransformerEncoderLayerOptions>(o),
                                  o.num_encoder_layers())
            .norm(last_norm(o))));
  else
    encoder = o.custom_encoder().clone();
  register_module("encoder", encoder.ptr());
  if (o.custom_decoder().is_empty())
    decoder = AnyModule(TransformerDecoder(
        TransformerDecoderOptions(layer_options<TransformerDecoderLayerOptions>(o),
                                  o.num_decoder_layers())
            .norm(last_norm(o))));
  else
    decoder = o.custom_decoder().clone();
  register_module("decoder", decoder.ptr());
  reset_parameters();
}

void TransformerImpl::reset_parameters() {
  for (const Tensor& p : parameters())
    if (p.dim() > 1) init::xavier_uniform_(p);
}

void TransformerImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"TransformerImpl"};
}

Tensor TransformerImpl::forward(const Tensor& src, const Tensor& tgt, const Tensor& src_mask,
                                const Tensor& tgt_mask, const Tensor& memory_mask,
                                const Tensor& src_key_padding_mask,
                                const Tensor& tgt_key_padding_mask,
                                const Tensor& memory_key_padding_mask) {
  ForwardScope scope(*this);
  TANDEM_CHECK_SHAPE(src.dim() == 3 && tgt.dim() == 3,
                     "Transformer: src and tgt should have 3 dimensions, but got ", src.sizes(),
                     " and ", tgt.sizes());
  TANDEM_CHECK_SHAPE(src.size(1) == tgt.size(1),
                     "Transformer: src and tgt should have equal batch size (at dim 1), but got ",
                     src.sizes(), " and ", tgt.sizes());
  TANDEM_CHECK_SHAPE(src.size(2) == options.d_model() && tgt.size(2) == options.d_model(),
                     "Transformer: src and tgt should have same feature size as d_model (",
                     options.d_model(), ") at dim 2, but got ", src.sizes(), " and ", tgt.sizes());
  const Tensor memory = encoder.forward<Tensor>(src, src_mask, src_key_padding_mask);
  return decoder.forward<Tensor>(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask,
                                 memory_key_padding_mask);
}

Tensor TransformerImpl::generate_square_subsequent_mask(int64_t sz) {
  TANDEM_CHECK(sz > 0, "generate_square_subsequent_mask: input size must be positive, got ", sz);
  return full({sz, sz}, -std::numeric_limits<double>::infinity(), kFloat).triu(1);
}

}  // namespace tandem::nn
