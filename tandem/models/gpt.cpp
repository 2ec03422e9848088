#include "tandem/models/gpt.h"

#include <cmath>

#include "tandem/nn/functional/linear.h"
#include "tandem/nn/init.h"
#include "tandem/ops/attention.h"
#include "tandem/ops/ops.h"

namespace tandem::models {
namespace {

namespace F = nn::functional;

constexpr double kStd = 0.02;  // of all weights at first

/// What is added to the sum that passes through all layers begins smaller, as there are many.
double residual_std(const GPTOptions& o) {
  return kStd / std::sqrt(2.0 * static_cast<double>(o.num_layers()));
}

nn::LayerNorm norm(const GPTOptions& o) {
  return nn::LayerNorm(nn::LayerNormOptions({o.hidden_size()}).eps(o.layer_norm_eps()));
}

nn::Embedding table(int64_t rows, int64_t width) {
  nn::Embedding e(rows, width);
  nn::init::normal_(e->weight, 0, kStd);
  return e;
}

}  // namespace

GPTLinearImpl::GPTLinearImpl(int64_t in_features, int64_t out_features, double std)
    : in_features_(in_features), out_features_(out_features), std_(std) {
  reset();
}
void GPTLinearImpl::reset() {
  weight = register_parameter("weight", empty({in_features_, out_features_}));
  bias = register_parameter("bias", zeros({out_features_}));
  nn::init::normal_(weight, 0, std_);
}
void GPTLinearImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::models::GPTLinear(in_features=" << in_features_
         << ", out_features=" << out_features_ << ")";
}
Tensor GPTLinearImpl::forward(const Tensor& x) {
  Dims sizes(x.sizes().begin(), x.sizes().end());
  sizes.back() = out_features_;
  return addmm(bias, x.reshape({-1, in_features_}), weight).view(sizes);
}

GPTAttentionImpl::GPTAttentionImpl(const GPTOptions& options_) : options(options_) { reset(); }
void GPTAttentionImpl::reset() {
  const int64_t width = options.hidden_size();
  c_attn = register_module("c_attn", GPTLinear(width, 3 * width, kStd));
  c_proj = register_module("c_proj", GPTLinear(width, width, residual_std(options)));
}
void GPTAttentionImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::models::GPTAttention(num_heads=" << options.num_heads() << ")";
}
Tensor GPTAttentionImpl::forward(const Tensor& x) {
  const double drop = is_training() ? options.dropout() : 0;
  return c_proj(packed_attention(c_attn(x), options.num_heads(), {}, drop, /*is_causal=*/true));
}
Tensor GPTAttentionImpl::forward_cached(const Tensor& x, GPTCache& cache, int64_t at) {
  const int64_t steps = x.size(0), batch = x.size(1), heads = options.num_heads();
  // [3, batch, heads, steps, width of a head]
  const Tensor split = c_attn(x).view({steps, batch, 3, heads, -1}).permute({2, 1, 3, 0, 4});
  cache.keys.narrow(2, at, steps).copy_(split.select(0, 1));
  cache.values.narrow(2, at, steps).copy_(split.select(0, 2));
  const Tensor y = scaled_dot_product_attention(
      split.select(0, 0), cache.keys.narrow(2, 0, at + steps),
      cache.values.narrow(2, 0, at + steps), {}, 0, /*is_causal=*/steps > 1);
  return c_proj(y.permute({2, 0, 1, 3}).reshape({steps, batch, -1}));
}

GPTMLPImpl::GPTMLPImpl(const GPTOptions& options_) : options(options_) { reset(); }
void GPTMLPImpl::reset() {
  const int64_t width = options.hidden_size();
  c_fc = register_module("c_fc", GPTLinear(width, 4 * width, kStd));
  c_proj = register_module("c_proj", GPTLinear(4 * width, width, residual_std(options)));
}
void GPTMLPImpl::pretty_print(std::ostream& stream) const { stream << "tandem::models::GPTMLP"; }
Tensor GPTMLPImpl::forward(const Tensor& x) { return c_proj(gelu(c_fc(x), "tanh")); }

GPTBlockImpl::GPTBlockImpl(const GPTOptions& options_) : options(options_) { reset(); }
void GPTBlockImpl::reset() {
  ln_1 = register_module("ln_1", norm(options));
  attn = register_module("attn", GPTAttention(options));
  ln_2 = register_module("ln_2", norm(options));
  mlp = register_module("mlp", GPTMLP(options));
  dropout = register_module("dropout", nn::Dropout(options.dropout()));
}
void GPTBlockImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::models::GPTBlock";
}
Tensor GPTBlockImpl::forward(Tensor x) {
  x = x + dropout(attn(ln_1(x)));
  return x + dropout(mlp(ln_2(x)));
}
Tensor GPTBlockImpl::forward_cached(Tensor x, GPTCache& cache, int64_t at) {
  x = x + attn->forward_cached(ln_1(x), cache, at);
  return x + mlp(ln_2(x));
}

GPTTransformerImpl::GPTTransformerImpl(const GPTOptions& options_) : options(options_) { reset(); }
void GPTTransformerImpl::reset() {
  wte = register_module("wte", table(options.vocab_size(), options.hidden_size()));
  wpe = register_module("wpe", table(options.context_size(), options.hidden_size()));
  drop = register_module("drop", nn::Dropout(options.dropout()));
  h = register_module("h", nn::ModuleList());
  for (int64_t i = 0; i < options.num_layers(); ++i) h->push_back(GPTBlock(options));
  ln_f = register_module("ln_f", norm(options));
}
void GPTTransformerImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::models::GPTTransformer";
}
Tensor GPTTransformerImpl::embed(const Tensor& ids, int64_t at) {
  TANDEM_CHECK_SHAPE(ids.dim() == 2, "GPT: symbols are [batch, steps], not ", ids.sizes());
  const int64_t steps = ids.size(1);
  TANDEM_CHECK_SHAPE(at + steps <= options.context_size(), "GPT: ", at + steps,
                     " steps are more than the ", options.context_size(),
                     " that the model looks at together");
  return wte(ids.t()) + wpe(arange(at, at + steps, kLong)).unsqueeze(1);
}
Tensor GPTTransformerImpl::forward(const Tensor& ids) {
  Tensor x = drop(embed(ids, 0));
  for (const auto& block : *h) x = block->as<GPTBlock>()->forward(x);
  return ln_f(x).transpose(0, 1);
}
Tensor GPTTransformerImpl::forward_cached(const Tensor& ids, std::vector<GPTCache>& caches,
                                          int64_t at) {
  Tensor x = embed(ids, at);
  for (size_t i = 0; i < caches.size(); ++i)
    x = h[i]->as<GPTBlock>()->forward_cached(x, caches[i], at);
  return ln_f(x).transpose(0, 1);
}

GPTImpl::GPTImpl(const GPTOptions& options_) : options(options_) {
  const auto& o = options;
  for (const auto& [name, value] :
       {std::pair{"vocab_size", o.vocab_size()}, std::pair{"context_size", o.context_size()},
        std::pair{"hidden_size", o.hidden_size()}, std::pair{"num_layers", o.num_layers()},
        std::pair{"num_heads", o.num_heads()}})
    TANDEM_CHECK_AS(ValueError, value >= 1, "GPT: ", name, " is ", value, ", expected at least 1");
  TANDEM_CHECK_AS(ValueError, o.hidden_size() % o.num_heads() == 0, "GPT: hidden_size ",
                  o.hidden_size(), " cannot be shared among ", o.num_heads(), " heads");
  reset();
}
void GPTImpl::reset() {
  transformer = register_module("transformer", GPTTransformer(options));
  if (options.tied()) return;
  lm_head = register_module(
      "lm_head",
      nn::Linear(nn::LinearOptions(options.hidden_size(), options.vocab_size()).bias(false)));
  nn::init::normal_(lm_head->weight, 0, kStd);
}
void GPTImpl::pretty_print(std::ostream& stream) const { stream << "tandem::models::GPT"; }

Tensor GPTImpl::scores_of(const Tensor& hidden) {
  return lm_head ? lm_head(hidden) : F::linear(hidden, transformer->wte->weight);
}
Tensor GPTImpl::forward(const Tensor& ids) { return scores_of(transformer(ids)); }

Tensor GPTImpl::generate(const Tensor& ids, const GenerateOptions& how) {
  const NoGradGuard no_grad;
  const Tensor prompt = detail::checked_prompt("GPT::generate", ids, options.vocab_size(), how);
  const detail::EvalScope eval_mode(*this);
  const int64_t batch = prompt.size(0), first = prompt.size(1), context = options.context_size(),
                total = first + how.max_new_tokens;
  const Tensor all = empty({batch, total}, prompt.options());
  all.narrow(1, 0, first).copy_(prompt);

  std::vector<GPTCache> caches(static_cast<size_t>(options.num_layers()));
  const int64_t heads = options.num_heads(), width = options.hidden_size() / heads;
  for (GPTCache& c : caches)
    for (Tensor* t : {&c.keys, &c.values})
      *t = zeros({batch, heads, std::min(context, total), width},
                 transformer->wte->weight.options().requires_grad(false));
  int64_t kept = 0;  // how many steps the caches hold
  for (int64_t n = first; n < total; ++n) {
    Tensor hidden;
    if (n <= context) {
      hidden = transformer->forward_cached(all.narrow(1, kept, n - kept), caches, kept);
      kept = n;
    } else {
      // Each symbol has another position now, so nothing that was kept holds.
      hidden = transformer(all.narrow(1, n - context, context));
    }
    all.select(1, n).copy_(choose_next(scores_of(hidden.select(1, hidden.size(1) - 1)), how));
  }
  return all;
}

TensorDict GPTImpl::own_names(TensorDict file, const std::string& what) const {
  const std::string prefix = "transformer.", head = "lm_head.weight",
                    embedding = "transformer.wte.weight";
  TensorDict own;
  for (auto& [name, tensor] : file) {
    // Masks of the attention, which older files hold.
    if (name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias")) continue;
    const bool as_here = name.starts_with(prefix) || name == head;
    const std::string here = as_here ? name : prefix + name;
    TANDEM_CHECK_AS(FileError, own.emplace(here, tensor).second, what, ": both ", here, " and ",
                    name.substr(as_here ? prefix.size() : 0), " are in the file");
  }
  const auto head_weight = own.find(head);
  if (!options.tied() || head_weight == own.end()) return own;
  // One of two names for the same values may be left out.
  const auto [found, alone] = own.emplace(embedding, head_weight->second);
  TANDEM_CHECK_AS(FileError, alone || equal(found->second, head_weight->second), what, ": ", head,
                  " and ", embedding,
                  " hold different values, so the model is not tied: make it with tied(false)");
  own.erase(head);
  return own;
}

GPTOptions GPTOptions::medium() {
  return GPTOptions().hidden_size(1024).num_layers(24).num_heads(16);
}
GPTOptions GPTOptions::large() {
  return GPTOptions().hidden_size(1280).num_layers(36).num_heads(20);
}
GPTOptions GPTOptions::xl() { return GPTOptions().hidden_size(1600).num_layers(48).num_heads(25); }

GPT gpt2() { return GPT(GPTOptions()); }
GPT gpt2_medium() { return GPT(GPTOptions::medium()); }
GPT gpt2_large() { return GPT(GPTOptions::large()); }
GPT gpt2_xl() { return GPT(GPTOptions::xl()); }

}  // namespace tandem::models
