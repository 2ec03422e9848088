#pragma once

#include <vector>

#include "tandem/models/generate.h"
#include "tandem/models/weights.h"
#include "tandem/nn/cloneable.h"
#include "tandem/nn/modules/container/modulelist.h"
#include "tandem/nn/modules/dropout.h"
#include "tandem/nn/modules/embedding.h"
#include "tandem/nn/modules/linear.h"
#include "tandem/nn/modules/normalization.h"

/// Generative transformers (Radford and others, 2019), with the structure and the parameter names
/// of Hugging Face's GPT-2, so that its weights can be loaded.
namespace tandem::models {

/// At first those of GPT-2 small.
struct GPTOptions {
  // GPT-2 in its larger sizes.
  static GPTOptions medium();
  static GPTOptions large();
  static GPTOptions xl();

  TANDEM_ARG(int64_t, vocab_size) = 50257;
  /// The most symbols that are looked at together.
  TANDEM_ARG(int64_t, context_size) = 1024;
  TANDEM_ARG(int64_t, hidden_size) = 768;
  TANDEM_ARG(int64_t, num_layers) = 12;
  TANDEM_ARG(int64_t, num_heads) = 12;
  TANDEM_ARG(double, dropout) = 0.1;
  TANDEM_ARG(double, layer_norm_eps) = 1e-5;
  /// The scores are made by the embedding's own weights instead of those of a layer lm_head.
  TANDEM_ARG(bool, tied) = true;
};

/// A linear layer whose weight is [inputs, outputs], as in the files of GPT-2.
class GPTLinearImpl : public nn::Cloneable<GPTLinearImpl> {
 public:
  GPTLinearImpl(int64_t in_features, int64_t out_features, double std);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& x);

  Tensor weight, bias;

 private:
  int64_t in_features_, out_features_;
  double std_;
};
TANDEM_MODULE(GPTLinear);

/// The keys and values of the symbols so far, each [batch, heads, context, width of a head].
struct GPTCache {
  Tensor keys, values;
};

/// Attention of each symbol to itself and those before it. Tensors are [steps, batch, width].
class GPTAttentionImpl : public nn::Cloneable<GPTAttentionImpl> {
 public:
  explicit GPTAttentionImpl(const GPTOptions& options);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& x);
  /// The same for further steps, the first of which has number `at`. It is 0, or there is one step.
  Tensor forward_cached(const Tensor& x, GPTCache& cache, int64_t at);

  GPTOptions options;
  GPTLinear c_attn{nullptr}, c_proj{nullptr};
};
TANDEM_MODULE(GPTAttention);

class GPTMLPImpl : public nn::Cloneable<GPTMLPImpl> {
 public:
  explicit GPTMLPImpl(const GPTOptions& options);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& x);

  GPTOptions options;
  GPTLinear c_fc{nullptr}, c_proj{nullptr};
};
TANDEM_MODULE(GPTMLP);

/// Attention and two linear layers, each added to what came in, which it sees normalised.
class GPTBlockImpl : public nn::Cloneable<GPTBlockImpl> {
 public:
  explicit GPTBlockImpl(const GPTOptions& options);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(Tensor x);
  Tensor forward_cached(Tensor x, GPTCache& cache, int64_t at);

  GPTOptions options;
  nn::LayerNorm ln_1{nullptr}, ln_2{nullptr};
  GPTAttention attn{nullptr};
  GPTMLP mlp{nullptr};
  nn::Dropout dropout{nullptr};
};
TANDEM_MODULE(GPTBlock);

/// From symbols [batch, steps] to what is known at each step, [batch, steps, width].
class GPTTransformerImpl : public nn::Cloneable<GPTTransformerImpl> {
 public:
  explicit GPTTransformerImpl(const GPTOptions& options);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& ids);
  Tensor forward_cached(const Tensor& ids, std::vector<GPTCache>& caches, int64_t at);

  GPTOptions options;
  nn::Embedding wte{nullptr}, wpe{nullptr};
  nn::Dropout drop{nullptr};
  nn::ModuleList h{nullptr};
  nn::LayerNorm ln_f{nullptr};

 private:
  Tensor embed(const Tensor& ids, int64_t at);
};
TANDEM_MODULE(GPTTransformer);

/// A language model: symbols are [batch, steps], scores of what comes next [batch, steps, symbols].
///
///     GPT net(GPTOptions().vocab_size(65).context_size(128).hidden_size(192).num_layers(4)
///                 .num_heads(6));
///     Tensor scores = net(ids);
///     Tensor text = net->generate(ids, {.max_new_tokens = 50, .temperature = 0.8, .top_k = 40});
///
/// load_weights takes names with and without "transformer." in front, and passes over the masks
/// that older files hold.
class GPTImpl : public nn::Cloneable<GPTImpl>, public WeightNames {
 public:
  explicit GPTImpl(const GPTOptions& options = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& ids);
  /// The symbols, [batch, steps], with those that the model adds to them. Keys and values of what
  /// was read are kept; beyond context_size the last context_size symbols are looked at.
  Tensor generate(const Tensor& ids, const GenerateOptions& options = {});
  TensorDict own_names(TensorDict file, const std::string& what) const override;

  GPTOptions options;
  GPTTransformer transformer{nullptr};
  nn::Linear lm_head{nullptr};  // empty if tied

 private:
  Tensor scores_of(const Tensor& hidden);
};
TANDEM_MODULE(GPT);

// GPT-2 in its four sizes.
GPT gpt2();
GPT gpt2_medium();
GPT gpt2_large();
GPT gpt2_xl();

}  // namespace tandem::models
