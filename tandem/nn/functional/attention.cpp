#include "tandem/nn/functional/attention.h"

#include <limits>

#include "tandem/ops/ops.h"

namespace tandem::nn::functional {
namespace {

constexpr const char* kName = "multi_head_attention_forward";
constexpr double kNone = -std::numeric_limits<double>::infinity();

using Options = MultiheadAttentionForwardFuncOptions;

struct Projected {
  Tensor q, k, v;  // [length, batch, embed_dim]; k, v undefined where static ones take their place
};

std::optional<Tensor> given(const Tensor& t) {
  return t.defined() ? std::optional<Tensor>(t) : std::nullopt;
}
// Rows [from, to) of the stacked projections, from and to counted in embed_dim.
Tensor part(const Tensor& t, int64_t from, int64_t to, int64_t embed_dim) {
  return t.defined() ? t.narrow(0, from * embed_dim, (to - from) * embed_dim) : t;
}

void check_weight(const char* name, const Tensor& weight, int64_t rows, int64_t cols) {
  TANDEM_CHECK(weight.defined(), kName, ": ", name, " must be given");
  TANDEM_CHECK_SHAPE(weight.dim() == 2 && weight.size(0) == rows && weight.size(1) == cols, kName,
                     ": expected ", name, " of shape [", rows, ", ", cols, "], got ",
                     weight.sizes());
}
void check_bias(const char* name, const Tensor& bias, int64_t size) {
  TANDEM_CHECK_SHAPE(!bias.defined() || (bias.dim() == 1 && bias.size(0) == size), kName,
                     ": expected ", name, " of shape [", size, "], got ", bias.sizes());
}

void check_stacked(const Options& o, int64_t embed_dim) {
  check_weight("in_proj_weight", o.in_proj_weight(), 3 * embed_dim, embed_dim);
  check_bias("in_proj_bias", o.in_proj_bias(), 3 * embed_dim);
}

// Self-attention with nothing added to keys and values and no weights to show. Tensors are told
// apart by identity, not by value, so that recorded programs do not look at values.
bool is_plain(const Tensor& query, const Tensor& key, const Tensor& value, const Options& o) {
  return query.is_same(key) && key.is_same(value) && !o.need_weights() &&
         !o.use_separate_proj_weight() && !o.add_zero_attn() && !o.bias_k().defined() &&
         !o.bias_v().defined() && !o.static_k().defined() && !o.static_v().defined();
}

Projected project(const Tensor& query, const Tensor& key, const Tensor& value, const Options& o) {
  const int64_t e = query.size(2);
  const Tensor& b = o.in_proj_bias();
  check_bias("in_proj_bias", b, 3 * e);
  const auto make = [&](const Tensor& x, const Tensor& w, int64_t from, int64_t to) {
    return linear(x, w, given(part(b, from, to, e)));
  };
  const bool wants_k = !o.static_k().defined(), wants_v = !o.static_v().defined();
  Projected p;
  if (o.use_separate_proj_weight()) {
    check_weight("q_proj_weight", o.q_proj_weight(), e, query.size(2));
    check_weight("k_proj_weight", o.k_proj_weight(), e, key.size(2));
    check_weight("v_proj_weight", o.v_proj_weight(), e, value.size(2));
    p.q = make(query, o.q_proj_weight(), 0, 1);
    if (wants_k) p.k = make(key, o.k_proj_weight(), 1, 2);
    if (wants_v) p.v = make(value, o.v_proj_weight(), 2, 3);
    return p;
  }
  const Tensor& w = o.in_proj_weight();
  check_stacked(o, e);
  TANDEM_CHECK_SHAPE(key.size(2) == e && value.size(2) == e, kName,
                     ": without separate weights key and value must be ", e,
                     " wide as the query is, got ", key.sizes(), " and ", value.sizes());
  // One product for all that are made of the same tensor.
  const bool both = wants_k && wants_v;
  if (both && query.is_same(key) && key.is_same(value)) {
    const std::vector<Tensor> parts = linear(query, w, given(b)).chunk(3, -1);
    return {parts[0], parts[1], parts[2]};
  }
  p.q = make(query, part(w, 0, 1, e), 0, 1);
  if (both && key.is_same(value)) {
    const std::vector<Tensor> parts = make(key, part(w, 1, 3, e), 1, 3).chunk(2, -1);
    p.k = parts[0];
    p.v = parts[1];
    return p;
  }
  if (wants_k) p.k = make(key, part(w, 1, 2, e), 1, 2);
  if (wants_v) p.v = make(value, part(w, 2, 3, e), 2, 3);
  return p;
}

bool says_which(const Tensor& mask) { return mask.dtype() == kBool || mask.dtype() == kByte; }

// A mask with another column for a key that everybody may look at.
Tensor one_more_key(const Tensor& mask) {
  if (!mask.defined()) return mask;
  Dims sizes = mask.sizes();
  sizes.back() = 1;
  return cat({mask, zeros(sizes, mask.options().requires_grad(false))}, -1);
}

// Both masks as one that broadcasts to [batch, heads, length, keys]: bools that are true where a
// key is looked at, or numbers of the query's dtype. Undefined if there is none.
Tensor joined_mask(Tensor attn, Tensor padding, IntArrayRef scores, DType dtype) {
  const int64_t batch = scores[0], heads = scores[1], length = scores[2], keys = scores[3];
  if (attn.defined()) {
    TANDEM_CHECK_SHAPE(attn.dim() == 2 || attn.dim() == 3, kName,
                       ": expected an attn_mask of 2 or 3 dimensions, got ", attn.sizes());
    const bool fits = attn.size(-1) == keys && (attn.size(-2) == length || attn.size(-2) == 1) &&
                      (attn.dim() == 2 || attn.size(0) == batch * heads);
    TANDEM_CHECK_SHAPE(fits, kName, ": expected an attn_mask of shape [", length, ", ", keys,
                       "] or [", batch * heads, ", ", length, ", ", keys, "], got ", attn.sizes());
    if (attn.dim() == 3) attn = attn.reshape({batch, heads, attn.size(1), keys});
    attn = says_which(attn) ? attn.logical_not() : attn.to(dtype);
  }
  if (padding.defined()) {
    TANDEM_CHECK_SHAPE(padding.dim() == 2 && padding.size(0) == batch && padding.size(1) == keys,
                       kName, ": expected a key_padding_mask of shape [", batch, ", ", keys,
                       "], got ", padding.sizes());
    padding = padding.reshape({batch, 1, 1, keys});
    padding = says_which(padding) ? padding.logical_not() : padding.to(dtype);
  }
  if (!attn.defined() || !padding.defined()) return attn.defined() ? attn : padding;
  const bool a = attn.dtype() == kBool, p = padding.dtype() == kBool;
  if (a && p) return attn.logical_and(padding);
  if (!a && !p) return attn + padding;
  const Tensor &numbers = a ? padding : attn, &which = a ? attn : padding;
  return where(which, numbers, kNone);
}

}  // namespace

std::tuple<Tensor, Tensor> multi_head_attention_forward(const Tensor& query, const Tensor& key,
                                                        const Tensor& value, const Options& o) {
  TANDEM_CHECK(query.defined() && key.defined() && value.defined(), kName,
               ": query, key and value must be given");
  TANDEM_CHECK_SHAPE(query.dim() == 3 && key.dim() == 3 && value.dim() == 3, kName,
                     ": expected query, key and value as [length, batch, width], got ",
                     query.sizes(), ", ", key.sizes(), " and ", value.sizes());
  const int64_t length = query.size(0), batch = query.size(1), embed_dim = query.size(2);
  const int64_t heads = o.num_heads();
  TANDEM_CHECK_SHAPE(embed_dim == o.embed_dim_to_check(), kName, ": the query is ", embed_dim,
                     " wide, but embed_dim is ", o.embed_dim_to_check());
  TANDEM_CHECK(heads > 0 && embed_dim % heads == 0, kName,
               ": embed_dim must be divisible by num_heads, got ", embed_dim, " and ", heads);
  TANDEM_CHECK_SHAPE(key.size(0) == value.size(0) && key.size(1) == batch && value.size(1) == batch,
                     kName, ": lengths or batches do not fit together: query ", query.sizes(),
                     ", key ", key.sizes(), ", value ", value.sizes());
  TANDEM_CHECK(o.out_proj_weight().defined(), kName, ": out_proj_weight must be given");
  const double dropout = o.training() ? o.dropout_p() : 0.0;
  if (is_plain(query, key, value, o)) {
    check_stacked(o, embed_dim);
    const Tensor mask = joined_mask(o.attn_mask(), o.key_padding_mask(),
                                    {batch, heads, length, length}, query.dtype());
    const Tensor packed = linear(query, o.in_proj_weight(), given(o.in_proj_bias()));
    return {linear(packed_attention(packed, heads, given(mask), dropout), o.out_proj_weight(),
                   given(o.out_proj_bias())),
            Tensor()};
  }
  const int64_t head_dim = embed_dim / heads;
  Projected p = project(query, key, value, o);
  Tensor attn_mask = o.attn_mask(), padding_mask = o.key_padding_mask();

  TANDEM_CHECK(o.bias_k().defined() == o.bias_v().defined(), kName,
               ": bias_k and bias_v go together");
  if (o.bias_k().defined()) {
    TANDEM_CHECK(p.k.defined() && p.v.defined(), kName,
                 ": bias cannot be added to static keys or values");
    const auto spread = [&](const Tensor& bias) { return bias.expand({1, batch, embed_dim}); };
    p.k = cat({p.k, spread(o.bias_k())});
    p.v = cat({p.v, spread(o.bias_v())});
    attn_mask = one_more_key(attn_mask);
    padding_mask = one_more_key(padding_mask);
  }
  // [length, batch, embed_dim] -> [batch, heads, length, head_dim]
  const auto by_head = [&](const Tensor& x) {
    return x.reshape({x.size(0), batch, heads, head_dim}).permute({1, 2, 0, 3});
  };
  const auto ready_made = [&](const Tensor& x, const char* name) {
    TANDEM_CHECK_SHAPE(x.dim() == 3 && x.size(0) == batch * heads && x.size(2) == head_dim, kName,
                       ": expected ", name, " of shape [", batch * heads, ", keys, ", head_dim,
                       "], got ", x.sizes());
    return x.reshape({batch, heads, x.size(1), head_dim});
  };
  const Tensor q = by_head(p.q);
  Tensor k = p.k.defined() ? by_head(p.k) : ready_made(o.static_k(), "static_k");
  Tensor v = p.v.defined() ? by_head(p.v) : ready_made(o.static_v(), "static_v");
  if (o.add_zero_attn()) {
    const Tensor none = zeros({batch, heads, 1, head_dim}, k.options().requires_grad(false));
    k = cat({k, none}, 2);
    v = cat({v, none}, 2);
    attn_mask = one_more_key(attn_mask);
    padding_mask = one_more_key(padding_mask);
  }
  const Tensor mask =
      joined_mask(attn_mask, padding_mask, {batch, heads, length, k.size(2)}, q.dtype());
  auto [out, weights] =
      _scaled_dot_product_attention(q, k, v, given(mask), dropout, o.need_weights());
  out = linear(out.permute({2, 0, 1, 3}).reshape({length, batch, embed_dim}), o.out_proj_weight(),
               given(o.out_proj_bias()));
  if (weights.defined() && o.average_attn_weights()) weights = weights.sum(1) / heads;
  return {out, weights};
}

}  // namespace tandem::nn::functional
