#include "tandem/models/bert.h"

#include "tandem/nn/init.h"
#include "tandem/ops/attention.h"
#include "tandem/ops/ops.h"

namespace tandem::models {
namespace {

constexpr double kStd = 0.02;  // of all weights at first

nn::LayerNorm norm_of(const BERTOptions& o) {
  return nn::LayerNorm(nn::LayerNormOptions({o.hidden_size()}).eps(o.layer_norm_eps()));
}

nn::Linear linear(int64_t in, int64_t out) {
  nn::Linear l(in, out);
  nn::init::normal_(l->weight, 0, kStd);
  nn::init::zeros_(l->bias);
  return l;
}

nn::Embedding table(int64_t rows, int64_t width) {
  nn::Embedding e(rows, width);
  nn::init::normal_(e->weight, 0, kStd);
  return e;
}

void expect_options(const BERTOptions& o) {
  for (const auto& [name, value] :
       {std::pair{"vocab_size", o.vocab_size()}, std::pair{"context_size", o.context_size()},
        std::pair{"num_types", o.num_types()}, std::pair{"hidden_size", o.hidden_size()},
        std::pair{"mlp_size", o.mlp_size()}, std::pair{"num_layers", o.num_layers()},
        std::pair{"num_heads", o.num_heads()}})
    TANDEM_CHECK_AS(ValueError, value >= 1, "BERT: ", name, " is ", value, ", expected at least 1");
  TANDEM_CHECK_AS(ValueError, o.hidden_size() % o.num_heads() == 0, "BERT: hidden_size ",
                  o.hidden_size(), " cannot be shared among ", o.num_heads(), " heads");
}

/// `text` with `end` in place of `old_end`, if that is how it ends.
std::string with_end(const std::string& text, const std::string& old_end, const std::string& end) {
  if (!text.ends_with(old_end)) return text;
  return text.substr(0, text.size() - old_end.size()) + end;
}

/// The names as they are now; what is no weight of the encoder, or of a classifier, is left out.
TensorDict present_names(TensorDict file) {
  TensorDict now;
  for (auto& [name, tensor] : file) {
    if (name.starts_with("cls.") || name.ends_with("embeddings.position_ids")) continue;
    now.emplace(with_end(with_end(name, "LayerNorm.gamma", "LayerNorm.weight"), "LayerNorm.beta",
                         "LayerNorm.bias"),
                std::move(tensor));
  }
  return now;
}

}  // namespace

BERTEmbeddingsImpl::BERTEmbeddingsImpl(const BERTOptions& options_) : options(options_) { reset(); }
void BERTEmbeddingsImpl::reset() {
  const auto& o = options;
  const auto add = [&](const char* name, int64_t rows) {
    return register_module(name, table(rows, o.hidden_size()));
  };
  word_embeddings = add("word_embeddings", o.vocab_size());
  position_embeddings = add("position_embeddings", o.context_size());
  token_type_embeddings = add("token_type_embeddings", o.num_types());
  norm = register_module("LayerNorm", norm_of(o));
  dropout = register_module("dropout", nn::Dropout(o.dropout()));
}
void BERTEmbeddingsImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::models::BERTEmbeddings";
}
Tensor BERTEmbeddingsImpl::forward(const Tensor& ids, const Tensor& token_type_ids) {
  const Tensor kinds = token_type_ids.defined() ? token_type_embeddings(token_type_ids)
                                                : token_type_embeddings->weight.select(0, 0);
  const Tensor places = position_embeddings->weight.narrow(0, 0, ids.size(1));
  return dropout(norm(word_embeddings(ids) + places + kinds));
}

BERTDenseImpl::BERTDenseImpl(int64_t in, int64_t out) : in_features(in), out_features(out) {
  reset();
}
void BERTDenseImpl::reset() { dense = register_module("dense", linear(in_features, out_features)); }
void BERTDenseImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::models::BERTDense";
}
Tensor BERTDenseImpl::forward(const Tensor& x) { return dense(x); }

BERTOutputImpl::BERTOutputImpl(int64_t in, const BERTOptions& options_)
    : in_features(in), options(options_) {
  reset();
}
void BERTOutputImpl::reset() {
  dense = register_module("dense", linear(in_features, options.hidden_size()));
  norm = register_module("LayerNorm", norm_of(options));
  dropout = register_module("dropout", nn::Dropout(options.dropout()));
}
void BERTOutputImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::models::BERTOutput";
}
Tensor BERTOutputImpl::forward(const Tensor& x, const Tensor& added_to) {
  return norm(added_to + dropout(dense(x)));
}

BERTSelfAttentionImpl::BERTSelfAttentionImpl(const BERTOptions& options_) : options(options_) {
  reset();
}
void BERTSelfAttentionImpl::reset() {
  const int64_t width = options.hidden_size();
  query = register_module("query", linear(width, width));
  key = register_module("key", linear(width, width));
  value = register_module("value", linear(width, width));
}
void BERTSelfAttentionImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::models::BERTSelfAttention(num_heads=" << options.num_heads() << ")";
}
Tensor BERTSelfAttentionImpl::forward(const Tensor& x, const Tensor& mask) {
  const int64_t batch = x.size(0), steps = x.size(1);
  const auto heads = [&](const Tensor& t) {
    return t.view({batch, steps, options.num_heads(), -1}).transpose(1, 2);
  };
  const Tensor seen = scaled_dot_product_attention(
      heads(query(x)), heads(key(x)), heads(value(x)),
      mask.defined() ? std::optional(mask) : std::nullopt, is_training() ? options.dropout() : 0);
  return seen.transpose(1, 2).reshape({batch, steps, -1});
}

BERTAttentionImpl::BERTAttentionImpl(const BERTOptions& options_) : options(options_) { reset(); }
void BERTAttentionImpl::reset() {
  self = register_module("self", BERTSelfAttention(options));
  output = register_module("output", BERTOutput(options.hidden_size(), options));
}
void BERTAttentionImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::models::BERTAttention";
}
Tensor BERTAttentionImpl::forward(const Tensor& x, const Tensor& mask) {
  return output(self(x, mask), x);
}

BERTLayerImpl::BERTLayerImpl(const BERTOptions& options_) : options(options_) { reset(); }
void BERTLayerImpl::reset() {
  attention = register_module("attention", BERTAttention(options));
  intermediate =
      register_module("intermediate", BERTDense(options.hidden_size(), options.mlp_size()));
  output = register_module("output", BERTOutput(options.mlp_size(), options));
}
void BERTLayerImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::models::BERTLayer";
}
Tensor BERTLayerImpl::forward(const Tensor& x, const Tensor& mask) {
  const Tensor seen = attention(x, mask);
  return output(gelu(intermediate(seen)), seen);
}

BERTEncoderImpl::BERTEncoderImpl(const BERTOptions& options_) : options(options_) { reset(); }
void BERTEncoderImpl::reset() {
  layer = register_module("layer", nn::ModuleList());
  for (int64_t i = 0; i < options.num_layers(); ++i) layer->push_back(BERTLayer(options));
}
void BERTEncoderImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::models::BERTEncoder";
}
Tensor BERTEncoderImpl::forward(Tensor x, const Tensor& mask) {
  for (const auto& l : *layer) x = l->as<BERTLayer>()->forward(x, mask);
  return x;
}

BERTImpl::BERTImpl(const BERTOptions& options_) : options(options_) {
  expect_options(options);
  reset();
}
void BERTImpl::reset() {
  embeddings = register_module("embeddings", BERTEmbeddings(options));
  encoder = register_module("encoder", BERTEncoder(options));
  if (options.pooler())
    pooler = register_module("pooler", BERTDense(options.hidden_size(), options.hidden_size()));
}
void BERTImpl::pretty_print(std::ostream& stream) const { stream << "tandem::models::BERT"; }

Tensor BERTImpl::forward(const Tensor& ids, const Tensor& attention_mask,
                         const Tensor& token_type_ids) {
  TANDEM_CHECK_SHAPE(ids.dim() == 2, "BERT: symbols are [batch, steps], not ", ids.sizes());
  const int64_t batch = ids.size(0), steps = ids.size(1);
  TANDEM_CHECK_SHAPE(steps <= options.context_size(), "BERT: ", steps, " steps are more than the ",
                     options.context_size(), " that the model looks at together");
  const auto expect_shape = [&](const char* name, const Tensor& t) {
    TANDEM_CHECK_SHAPE(!t.defined() || t.sizes() == ids.sizes(), "BERT: ", name, " is ", t.sizes(),
                       ", expected the shape of the symbols, ", ids.sizes());
  };
  expect_shape("attention_mask", attention_mask);
  expect_shape("token_type_ids", token_type_ids);
  const Tensor mask =
      attention_mask.defined() ? attention_mask.ne(0).view({batch, 1, 1, steps}) : Tensor();
  return encoder(embeddings(ids, token_type_ids), mask);
}

Tensor BERTImpl::pooled(const Tensor& hidden) {
  TANDEM_CHECK(pooler,
               "BERT: there is no layer for pooled(): the model was made with pooler(false)");
  return pooler(hidden.select(1, 0)).tanh();
}

TensorDict BERTImpl::own_names(TensorDict file, const std::string& what) const {
  const std::string prefix = "bert.";
  TensorDict own;
  for (auto& [name, tensor] : present_names(std::move(file))) {
    const std::string here = name.starts_with(prefix) ? name.substr(prefix.size()) : name;
    if (here.starts_with("classifier.") || (!options.pooler() && here.starts_with("pooler.")))
      continue;
    TANDEM_CHECK_AS(FileError, own.emplace(here, tensor).second, what, ": both ", here, " and ",
                    prefix + here, " are in the file");
  }
  return own;
}

BERTClassifierImpl::BERTClassifierImpl(int64_t classes, const BERTOptions& options_)
    : num_classes(classes), options(options_) {
  TANDEM_CHECK_AS(ValueError, num_classes >= 1, "BERTClassifier: num_classes is ", num_classes,
                  ", expected at least 1");
  options.pooler(true);
  reset();
}
void BERTClassifierImpl::reset() {
  bert = register_module("bert", BERT(options));
  dropout = register_module("dropout", nn::Dropout(options.dropout()));
  classifier = register_module("classifier", linear(options.hidden_size(), num_classes));
}
void BERTClassifierImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::models::BERTClassifier(num_classes=" << num_classes << ")";
}
Tensor BERTClassifierImpl::forward(const Tensor& ids, const Tensor& attention_mask,
                                   const Tensor& token_type_ids) {
  return classifier(dropout(bert->pooled(bert(ids, attention_mask, token_type_ids))));
}
TensorDict BERTClassifierImpl::own_names(TensorDict file, const std::string&) const {
  return present_names(std::move(file));
}

BERTOptions BERTOptions::large() {
  return BERTOptions().hidden_size(1024).mlp_size(4096).num_layers(24).num_heads(16);
}
BERT bert_base() { return BERT(); }
BERT bert_large() { return BERT(BERTOptions::large()); }

}  // namespace tandem::models
