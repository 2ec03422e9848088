#pragma once

#include "tandem/nn/cloneable.h"
#include "tandem/nn/modules/common.h"
#include "tandem/nn/modules/container/any.h"
#include "tandem/nn/options/transformer.h"

namespace tandem::nn {

/// The encoder and decoder of "Attention Is All You Need", with embeddings left to the user.
/// Tensors are [length, batch, d_model].
///
///     Transformer model(TransformerOptions(512, 8));
///     auto mask = Transformer::Impl::generate_square_subsequent_mask(tgt.size(0));
///     auto out = model(src, tgt, {}, mask);
class TransformerImpl : public Cloneable<TransformerImpl> {
 public:
  explicit TransformerImpl(TransformerOptions options_);

  Tensor forward(const Tensor& src, const Tensor& tgt, const Tensor& src_mask = {},
                 const Tensor& tgt_mask = {}, const Tensor& memory_mask = {},
                 const Tensor& src_key_padding_mask = {}, const Tensor& tgt_key_padding_mask = {},
                 const Tensor& memory_key_padding_mask = {});
  void reset() override;
  /// Matrices are drawn as xavier_uniform_ does.
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;

  /// -inf above the diagonal, 0 elsewhere: as attn_mask it hides what comes later.
  static Tensor generate_square_subsequent_mask(int64_t sz);

 protected:
  FORWARD_HAS_DEFAULT_ARGS({2, AnyValue(Tensor())}, {3, AnyValue(Tensor())},
                           {4, AnyValue(Tensor())}, {5, AnyValue(Tensor())},
                           {6, AnyValue(Tensor())}, {7, AnyValue(Tensor())})

 public:
  TransformerOptions options;
  AnyModule encoder;
  AnyModule decoder;
};
TANDEM_NN_MODULE(Transformer);

}  // namespace tandem::nn
