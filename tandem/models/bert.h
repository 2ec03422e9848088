#pragma once

#include "tandem/models/weights.h"
#include "tandem/nn/any_value.h"
#include "tandem/nn/cloneable.h"
#include "tandem/nn/modules/common.h"
#include "tandem/nn/modules/container/modulelist.h"
#include "tandem/nn/modules/dropout.h"
#include "tandem/nn/modules/embedding.h"
#include "tandem/nn/modules/linear.h"
#include "tandem/nn/modules/normalization.h"

/// Encoders of text (Devlin and others, 2019), with the structure and the parameter names of
/// Hugging Face's BERT, so that its weights can be loaded.
namespace tandem::models {

/// At first those of BERT base.
struct BERTOptions {
  static BERTOptions large();

  TANDEM_ARG(int64_t, vocab_size) = 30522;
  /// The most symbols that are looked at together.
  TANDEM_ARG(int64_t, context_size) = 512;
  /// How many kinds of text there are: a question and its answer, say.
  TANDEM_ARG(int64_t, num_types) = 2;
  TANDEM_ARG(int64_t, hidden_size) = 768;
  TANDEM_ARG(int64_t, mlp_size) = 3072;
  TANDEM_ARG(int64_t, num_layers) = 12;
  TANDEM_ARG(int64_t, num_heads) = 12;
  TANDEM_ARG(double, dropout) = 0.1;
  TANDEM_ARG(double, layer_norm_eps) = 1e-12;
  /// Whether there is a layer for pooled().
  TANDEM_ARG(bool, pooler) = true;
};

// The parts are divided as the names in the files are. Tensors are [batch, steps, width].

/// The sum of what is known of a symbol, of its place and of its kind of text.
class BERTEmbeddingsImpl : public nn::Cloneable<BERTEmbeddingsImpl> {
 public:
  explicit BERTEmbeddingsImpl(const BERTOptions& options);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& ids, const Tensor& token_type_ids);

  BERTOptions options;
  nn::Embedding word_embeddings{nullptr}, position_embeddings{nullptr},
      token_type_embeddings{nullptr};
  nn::LayerNorm norm{nullptr};
  nn::Dropout dropout{nullptr};
};
TANDEM_MODULE(BERTEmbeddings);

/// A linear layer under a name of its own.
class BERTDenseImpl : public nn::Cloneable<BERTDenseImpl> {
 public:
  BERTDenseImpl(int64_t in_features, int64_t out_features);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& x);

  int64_t in_features, out_features;
  nn::Linear dense{nullptr};
};
TANDEM_MODULE(BERTDense);

/// A linear layer whose result is added to something and normalised.
class BERTOutputImpl : public nn::Cloneable<BERTOutputImpl> {
 public:
  BERTOutputImpl(int64_t in_features, const BERTOptions& options);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& x, const Tensor& added_to);

  int64_t in_features;
  BERTOptions options;
  nn::Linear dense{nullptr};
  nn::LayerNorm norm{nullptr};
  nn::Dropout dropout{nullptr};
};
TANDEM_MODULE(BERTOutput);

/// `mask` is undefined, or [batch, 1, 1, steps] and false for what is not to be looked at.
class BERTSelfAttentionImpl : public nn::Cloneable<BERTSelfAttentionImpl> {
 public:
  explicit BERTSelfAttentionImpl(const BERTOptions& options);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& x, const Tensor& mask);

  BERTOptions options;
  nn::Linear query{nullptr}, key{nullptr}, value{nullptr};
};
TANDEM_MODULE(BERTSelfAttention);

class BERTAttentionImpl : public nn::Cloneable<BERTAttentionImpl> {
 public:
  explicit BERTAttentionImpl(const BERTOptions& options);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& x, const Tensor& mask);

  BERTOptions options;
  BERTSelfAttention self{nullptr};
  BERTOutput output{nullptr};
};
TANDEM_MODULE(BERTAttention);

/// Attention and two linear layers, each added to what came in and normalised after that.
class BERTLayerImpl : public nn::Cloneable<BERTLayerImpl> {
 public:
  explicit BERTLayerImpl(const BERTOptions& options);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& x, const Tensor& mask);

  BERTOptions options;
  BERTAttention attention{nullptr};
  BERTDense intermediate{nullptr};
  BERTOutput output{nullptr};
};
TANDEM_MODULE(BERTLayer);

class BERTEncoderImpl : public nn::Cloneable<BERTEncoderImpl> {
 public:
  explicit BERTEncoderImpl(const BERTOptions& options);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(Tensor x, const Tensor& mask);

  BERTOptions options;
  nn::ModuleList layer{nullptr};
};
TANDEM_MODULE(BERTEncoder);

/// From symbols [batch, steps] to what each means among the others, [batch, steps, width].
///
///     BERT net;
///     load_weights(net, "bert-base-uncased/model.safetensors");
///     Tensor hidden = net(ids, attention_mask);  // the mask is 0 for what fills a batch up
///     Tensor whole = net->pooled(hidden);        // [batch, width]
///
/// load_weights takes names with and without "bert." in front, those of older files (gamma and
/// beta), and passes over the heads that the model was trained with.
class BERTImpl : public nn::Cloneable<BERTImpl>, public WeightNames {
 public:
  explicit BERTImpl(const BERTOptions& options = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  /// `attention_mask`, of any dtype, is [batch, steps], and so is `token_type_ids`, of numbers of
  /// kinds of text. Left out they are ones and zeros.
  Tensor forward(const Tensor& ids, const Tensor& attention_mask = {},
                 const Tensor& token_type_ids = {});
  /// A summary of the whole text, made of what forward() gave for its first symbol.
  Tensor pooled(const Tensor& hidden);
  TensorDict own_names(TensorDict file, const std::string& what) const override;

  BERTOptions options;
  BERTEmbeddings embeddings{nullptr};
  BERTEncoder encoder{nullptr};
  BERTDense pooler{nullptr};  // empty without options.pooler

 protected:
  FORWARD_HAS_DEFAULT_ARGS({1, nn::AnyValue(Tensor())}, {2, nn::AnyValue(Tensor())})
};
TANDEM_MODULE(BERT);

/// A linear layer behind BERT's summary of the text gives the scores of classes, [batch, classes].
class BERTClassifierImpl : public nn::Cloneable<BERTClassifierImpl>, public WeightNames {
 public:
  explicit BERTClassifierImpl(int64_t num_classes, const BERTOptions& options = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& ids, const Tensor& attention_mask = {},
                 const Tensor& token_type_ids = {});
  TensorDict own_names(TensorDict file, const std::string& what) const override;

  int64_t num_classes;
  BERTOptions options;
  BERT bert{nullptr};
  nn::Dropout dropout{nullptr};
  nn::Linear classifier{nullptr};

 protected:
  FORWARD_HAS_DEFAULT_ARGS({1, nn::AnyValue(Tensor())}, {2, nn::AnyValue(Tensor())})
};
TANDEM_MODULE(BERTClassifier);

// BERT in its two sizes.
BERT bert_base();
BERT bert_large();

}  // namespace tandem::models
