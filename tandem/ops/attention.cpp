#include "tandem/ops/attention.h"

#include <cmath>
#include <limits>

#include "tandem/core/generator.h"
#include "tandem/core/recorder.h"
#include "tandem/ops/attention_op.h"
#include "tandem/ops/batch_detail.h"
#include "tandem/ops/ops.h"
#include "tandem/ops/random_op.h"

// Note: what backward keeps
// The op gives two results: the output and, for each query, the logarithm of its sum of
// exponentials. Backward makes the weights again from that, tile by tile, and the dropped ones from
// the generator's state, which is an input like any other. Nothing of the size of the weights
// outlives a tile, unless the gradient by a mask is asked for, which is of that size.

namespace tandem {
namespace {

constexpr const char* kName = "scaled_dot_product_attention";

// What stands before the last two dimensions.
IntArrayRef leading(IntArrayRef sizes) { return sizes.slice(0, sizes.size() - 2); }

}  // namespace

namespace attention {

Dims with_last(IntArrayRef sizes, int64_t rows, int64_t cols) {
  Dims d(sizes.begin(), sizes.end());
  d[d.size() - 2] = rows;
  d[d.size() - 1] = cols;
  return d;
}

void check_types(const TensorType& q, const TensorType& k, const TensorType& v,
                 const TensorType* mask, double dropout) {
  TANDEM_CHECK_TYPE(is_floating(q.dtype) && q.dtype == k.dtype && q.dtype == v.dtype, kName,
                    ": expected query, key and value of one floating point dtype, got ", q.dtype,
                    ", ", k.dtype, " and ", v.dtype);
  TANDEM_CHECK_SHAPE(
      q.dim() >= 2 && q.dim() == k.dim() && q.dim() == v.dim() &&
          leading(q.sizes) == leading(k.sizes) && leading(q.sizes) == leading(v.sizes),
      kName, ": expected the same leading dimensions before the last two, got query ", q.sizes,
      ", key ", k.sizes, " and value ", v.sizes);
  const size_t n = q.sizes.size();
  TANDEM_CHECK_SHAPE(q.sizes[n - 1] == k.sizes[n - 1], kName,
                     ": query and key differ in their last dimension: ", q.sizes, " and ", k.sizes);
  TANDEM_CHECK_SHAPE(k.sizes[n - 2] == v.sizes[n - 2], kName,
                     ": there must be one value for each key, got key ", k.sizes, " and value ",
                     v.sizes);
  TANDEM_CHECK(dropout >= 0 && dropout <= 1, kName,
               ": dropout probability has to be between 0 and 1, but got ", dropout);
  if (mask == nullptr) return;
  TANDEM_CHECK_TYPE(mask->dtype == kBool || mask->dtype == q.dtype, kName,
                    ": the mask must be of bools or of the query's dtype, ", q.dtype, ", but is ",
                    mask->dtype);
  const Dims scores = with_last(q.sizes, q.sizes[n - 2], k.sizes[n - 2]);
  bool fits = mask->dim() <= q.dim();
  for (size_t d = 0; fits && d < mask->sizes.size(); ++d) {
    const int64_t wanted = scores[scores.size() - mask->sizes.size() + d];
    fits = mask->sizes[d] == 1 || mask->sizes[d] == wanted;
  }
  TANDEM_CHECK_SHAPE(fits, kName, ": a mask of shape ", mask->sizes,
                     " does not broadcast to the scores' ", scores);
}

void check_state(const OpDef& op, const TensorType& state) {
  TANDEM_CHECK_TYPE(state.dtype == kLong && state.sizes.size() == 1 && state.sizes[0] >= 2, op.name,
                    ": expected the state of a generator, got ", state);
}

DType sum_dtype(DType t) { return t == kDouble ? kDouble : kFloat; }

void fill_call(kernels::Attention& call, bool causal, double scale, double dropout,
               const Array* state) {
  call.causal = causal;
  call.scale = scale;
  if (state == nullptr) return;
  call.dropout = dropout;
  call.seed = static_cast<uint64_t>(state->ptr<int64_t>()[0]);
  call.counter = static_cast<uint64_t>(state->ptr<int64_t>()[state->strides[0]]);
}

namespace {

// True for each key that a query sees in a causal call.
Tensor causal_mask(const Tensor& q, const Tensor& k) {
  return ones({q.size(-2), k.size(-2)}, q.options().dtype(kBool)).tril();
}

// As many numbers a row as whole blocks of the cipher give.
Dims drawn_sizes(IntArrayRef weights) {
  return attention::with_last(weights, weights[weights.size() - 2],
                              kernels::padded_keys(weights.back()));
}

}  // namespace

Tensor weights_of(const Tensor& q, const Tensor& k, const Tensor& mask, bool causal, double scale) {
  constexpr double kNone = -std::numeric_limits<double>::infinity();
  Tensor scores = matmul(q, k.transpose(-2, -1)) * scale;
  if (causal) scores = scores.masked_fill(causal_mask(q, k).logical_not(), kNone);
  if (mask.defined() && mask.dtype() == kBool)
    scores = scores.masked_fill(mask.logical_not(), kNone);
  else if (mask.defined())
    scores = scores + mask;
  return scores.softmax(-1);
}

Tensor dropout_factors(const Tensor& state, const Tensor& q, const Tensor& k, double p) {
  const Tensor kept = bernoulli_of(state, drawn_sizes(with_last(q.sizes(), q.size(-2), k.size(-2))),
                                   1 - p, q.options().requires_grad(false));
  return kept.narrow(-1, 0, k.size(-2)) * (p < 1 ? 1 / (1 - p) : 0.0);
}

Tensor draw_state(IntArrayRef weights, double dropout, Device device) {
  if (dropout == 0) return Tensor();
  return default_generator().draw(numel_of(drawn_sizes(weights))).to(device);
}

// With P the weights, D the factors of dropout and x, y, z, w what flows back into dq, dk, dv and
// the gradient by the scores, the scalar to differentiate is <e, dS> + <z, dV> where
//   e = scale (x k^T + q y^T) + w,  dS = P (dP - rowsum(P dP)),  dP = D (g v^T),  dV = (P D)^T g.
// Softmax's derivative is symmetric: <e, dS> = <f, dP> with f = P (e - rowsum(P e)).
SecondOrderGrads second_order(const SecondOrder& s) {
  const Tensor p = weights_of(s.q, s.k, s.mask, s.causal, s.scale);
  const auto dropped = [&](const Tensor& t) { return s.factors.defined() ? t * s.factors : t; };
  const auto turned = [](const Tensor& t) { return t.transpose(-2, -1); };
  const auto row_sum = [](const Tensor& t) { return t.sum(-1, true); };

  Tensor e = (matmul(s.x, turned(s.k)) + matmul(s.q, turned(s.y))) * s.scale;
  if (s.w.defined()) e = e + s.w;
  const Tensor dp = dropped(matmul(s.g, turned(s.v)));
  const Tensor delta = row_sum(p * dp), r = row_sum(p * e);
  const Tensor fd = dropped(p * (e - r)), pd = dropped(p);
  const Tensor ds = p * (dp - delta);
  // By the weights, then by the scores.
  const Tensor tp = e * (dp - delta) - r * dp + dropped(matmul(s.g, turned(s.z)));
  const Tensor ts = p * (tp - row_sum(p * tp));
  return {.g = matmul(fd, s.v) + matmul(pd, s.z),
          .q = (matmul(ts, s.k) + matmul(ds, s.y)) * s.scale,
          .k = (matmul(turned(ts), s.q) + matmul(turned(ds), s.x)) * s.scale,
          .v = matmul(turned(fd), s.g),
          .scores = ts};
}

}  // namespace attention

namespace {

using attention::with_last;

void infer_forward(const InferArgs& a, int first) {
  const auto& f = a.attrs<AttentionAttrs>();
  TANDEM_CHECK(a.n_inputs == first + 3 || a.n_inputs == first + 4, a.op.name, ": takes ", first + 3,
               " or ", first + 4, " inputs, not ", a.n_inputs);
  attention::check_types(a.in(first), a.in(first + 1), a.in(first + 2),
                         a.n_inputs > first + 3 ? &a.in(first + 3) : nullptr, f.dropout);
  const TensorType& q = a.in(first);
  a.out(0).sizes = q.sizes;
  a.out(0).sizes.back() = a.in(first + 2).sizes.back();
  a.out(0).dtype = q.dtype;
  a.out(1).sizes = q.sizes;
  a.out(1).sizes.pop_back();
  a.out(1).dtype = attention::sum_dtype(q.dtype);
}

template <class A>
kernels::Attention kernel_call(const KernelArgs& a, int first, int mask, int state) {
  const A& f = a.attrs<A>();
  kernels::Attention c;
  c.q = a.in(first);
  c.k = a.in(first + 1);
  c.v = a.in(first + 2);
  if (mask >= 0) c.mask = a.in(mask);
  attention::fill_call(c, f.causal, f.scale, f.dropout, state >= 0 ? &a.in(state) : nullptr);
  return c;
}

void forward_kernel(const KernelArgs& a, int first) {
  const int mask = a.n_inputs > first + 3 ? first + 3 : -1;
  const auto call = kernel_call<AttentionAttrs>(a, first, mask, first - 1);
  kernels::attention(call, a.out(0), a.out(1));
}

// For all samples at once they are one more leading dimension.
void batch_forward(const BatchArgs& a, int first) {
  SmallVector<Tensor, 6> inputs;
  if (first > 0) inputs.push_back(a.in(0));
  for (int i = first; i < first + 3; ++i) inputs.push_back(a.sample(i));
  if (a.n_inputs > first + 3) inputs.push_back(aligned(a, first + 3, sample_dim(a, first)));
  apply_to(a.op, inputs, a.attr_ref, a.outputs);
}

Grads backward_of(const VjpArgs& a, int first);

}  // namespace

TANDEM_OP(kAttention) = {
    .name = "scaled_dot_product_attention",
    .infer = [](const InferArgs& a) { infer_forward(a, 0); },
    .kernel = [](const KernelArgs& a) { forward_kernel(a, 0); },
    .saves = Saves::all(Saves::in(0) | Saves::in(1) | Saves::in(2) | Saves::in(3) | Saves::out(0) |
                        Saves::out(1)),
    .vjp = [](const VjpArgs& a) -> Grads { return backward_of(a, 0); },
    .outputs = 2,
    .attrs = attrs_of<AttentionAttrs>,
    .batch = [](const BatchArgs& a) { batch_forward(a, 0); },
};

// With dropout: the first input is the state of a generator.
TANDEM_OP(kAttentionDropout) = {
    .name = "scaled_dot_product_attention_dropout",
    .infer =
        [](const InferArgs& a) {
          attention::check_state(a.op, a.in());
          infer_forward(a, 1);
        },
    .kernel = [](const KernelArgs& a) { forward_kernel(a, 1); },
    .saves = Saves::all(Saves::in(0) | Saves::in(1) | Saves::in(2) | Saves::in(3) | Saves::in(4) |
                        Saves::out(0) | Saves::out(1)),
    .vjp = [](const VjpArgs& a) -> Grads { return backward_of(a, 1); },
    .outputs = 2,
    .random = true,
    .attrs = attrs_of<AttentionAttrs>,
    .batch = [](const BatchArgs& a) { batch_forward(a, 1); },
};

// -- gradients --------------------------------------------------------------------------------

namespace {

// Inputs of the backward op: gradient, query, key, value, output, sums, then mask and state.
int mask_input(const AttentionBackwardAttrs& f) { return f.masked ? 6 : -1; }
int state_input(const AttentionBackwardAttrs& f) { return f.dropout > 0 ? (f.masked ? 7 : 6) : -1; }

void infer_backward(const InferArgs& a) {
  const auto& f = a.attrs<AttentionBackwardAttrs>();
  const int wanted = 6 + f.masked + (f.dropout > 0);
  TANDEM_CHECK(a.n_inputs == wanted, a.op.name, ": takes ", wanted, " inputs, not ", a.n_inputs);
  attention::check_types(a.in(1), a.in(2), a.in(3), f.masked ? &a.in(mask_input(f)) : nullptr,
                         f.dropout);
  const TensorType &q = a.in(1), &k = a.in(2), &v = a.in(3);
  Dims out = q.sizes, sums = q.sizes;
  out.back() = v.sizes.back();
  sums.pop_back();
  TANDEM_CHECK_SHAPE(a.in(0).sizes == out && a.in(4).sizes == out && a.in(5).sizes == sums,
                     a.op.name, ": expected a gradient and an output of shape ", out,
                     " and sums of shape ", sums, ", got ", a.in(0).sizes, ", ", a.in(4).sizes,
                     " and ", a.in(5).sizes);
  TANDEM_CHECK_TYPE(a.in(0).dtype == q.dtype && a.in(4).dtype == q.dtype &&
                        a.in(5).dtype == attention::sum_dtype(q.dtype),
                    a.op.name, ": gradient, output and sums do not go with a query of ", q.dtype);
  if (f.dropout > 0) attention::check_state(a.op, a.in(state_input(f)));
  for (int i = 0; i < 3; ++i) {
    a.out(i).sizes = a.in(1 + i).sizes;
    a.out(i).dtype = q.dtype;
  }
  if (!f.mask_grad) return;
  a.out(3).sizes = with_last(q.sizes, q.sizes[q.sizes.size() - 2], k.sizes[k.sizes.size() - 2]);
  a.out(3).dtype = q.dtype;
}

Grads second_vjp(const VjpArgs& a) {
  const auto& f = a.attrs<AttentionBackwardAttrs>();
  attention::SecondOrder s{.g = a.input(0),
                           .q = a.input(1),
                           .k = a.input(2),
                           .v = a.input(3),
                           .x = a.grad_or_zeros(0),
                           .y = a.grad_or_zeros(1),
                           .z = a.grad_or_zeros(2),
                           .causal = f.causal,
                           .scale = f.scale};
  if (f.masked) s.mask = a.input(mask_input(f));
  if (f.dropout > 0)
    s.factors = attention::dropout_factors(a.input(state_input(f)), s.q, s.k, f.dropout);
  if (f.mask_grad) s.w = a.grad_or_zeros(3);
  const attention::SecondOrderGrads r = attention::second_order(s);
  Grads grads(static_cast<size_t>(a.n_inputs()));
  const Tensor* by[] = {&r.g, &r.q, &r.k, &r.v};
  for (int i = 0; i < 4; ++i)
    if (a.needs(i)) grads[static_cast<size_t>(i)] = *by[i];
  if (f.masked && a.needs(6)) grads[6] = r.scores.sum_to_size(a.input_type(6).sizes);
  return grads;
}

}  // namespace

TANDEM_OP(kAttentionBackward) = {
    .name = "scaled_dot_product_attention_backward",
    .infer = infer_backward,
    .kernel =
        [](const KernelArgs& a) {
          const auto& f = a.attrs<AttentionBackwardAttrs>();
          const auto call =
              kernel_call<AttentionBackwardAttrs>(a, 1, mask_input(f), state_input(f));
          kernels::attention_backward(call, a.in(0), a.in(4), a.in(5), a.out(0), a.out(1), a.out(2),
                                      f.mask_grad ? a.out(3) : Array());
        },
    .saves = Saves::all(Saves::in(0) | Saves::in(1) | Saves::in(2) | Saves::in(3) | Saves::in(6) |
                        Saves::in(7)),
    .vjp = second_vjp,
    .outputs = 0,
    .count = [](AttrRef a) { return a.as<AttentionBackwardAttrs>().mask_grad ? 4 : 3; },
    .attrs = attrs_of<AttentionBackwardAttrs>,
    .batch =
        [](const BatchArgs& a) {
          const auto& f = a.attrs<AttentionBackwardAttrs>();
          SmallVector<Tensor, 8> inputs;
          for (int i = 0; i < 6; ++i) inputs.push_back(a.sample(i));
          if (f.masked) inputs.push_back(aligned(a, 6, sample_dim(a, 1)));
          if (f.dropout > 0) inputs.push_back(a.in(state_input(f)));
          apply_to(a.op, inputs, a.attr_ref, a.outputs);
        },
};

namespace {

// Query, key and value from input `first` on, behind the state if there is dropout.
Grads backward_of(const VjpArgs& a, int first) {
  const auto& f = a.attrs<AttentionAttrs>();
  const bool masked = a.n_inputs() > first + 3;
  const bool mask_grad = masked && a.needs(first + 3);
  SmallVector<Tensor, 8> inputs{a.grad_or_zeros(0), a.input(first), a.input(first + 1),
                                a.input(first + 2), a.output(0),    a.output(1)};
  if (masked) inputs.push_back(a.input(first + 3));
  if (first > 0) inputs.push_back(a.input(0));
  Tensor out[4];
  apply_to(kAttentionBackward, inputs,
           AttentionBackwardAttrs{f.causal, f.scale, f.dropout, masked, mask_grad}, out);
  Grads grads(static_cast<size_t>(a.n_inputs()));
  for (int i = 0; i < 3; ++i)
    if (a.needs(first + i)) grads[static_cast<size_t>(first + i)] = out[i];
  if (mask_grad)
    grads[static_cast<size_t>(first + 3)] = out[3].sum_to_size(a.input_type(first + 3).sizes);
  return grads;
}

// -- functions --------------------------------------------------------------------------------

struct Call {
  Tensor q, k, v, mask, state;
  AttentionAttrs attrs;
};

Call prepare(const Tensor& query, const Tensor& key, const Tensor& value,
             const std::optional<Tensor>& mask, double dropout_p, bool is_causal,
             std::optional<double> scale) {
  TANDEM_CHECK(query.defined() && key.defined() && value.defined(), kName,
               ": query, key and value must be given");
  TANDEM_CHECK_SHAPE(query.dim() >= 2 && key.dim() >= 2 && value.dim() >= 2, kName,
                     ": expected at least two dimensions, got query ", query.sizes(), ", key ",
                     key.sizes(), " and value ", value.sizes());
  Call c;
  if (mask && mask->defined()) c.mask = *mask;
  TANDEM_CHECK(!is_causal || !c.mask.defined(), kName,
               ": a mask and is_causal cannot both be given");
  TANDEM_CHECK(dropout_p >= 0 && dropout_p <= 1, kName,
               ": dropout probability has to be between 0 and 1, but got ", dropout_p);
  const Dims lead =
      broadcast_shapes(kName, broadcast_shapes(kName, leading(query.sizes()), leading(key.sizes())),
                       leading(value.sizes()));
  const auto spread = [&](const Tensor& t) {
    if (leading(t.sizes()) == lead.ref()) return t;
    Dims sizes = lead;
    sizes.push_back(t.size(-2));
    sizes.push_back(t.size(-1));
    return t.expand(sizes);
  };
  c.q = spread(query);
  c.k = spread(key);
  c.v = spread(value);
  const int64_t width = query.size(-1);
  c.attrs = {is_causal,
             scale       ? *scale
             : width > 0 ? 1 / std::sqrt(static_cast<double>(width))
                         : 1.0,
             dropout_p};
  const OwnerScope scope(query.impl()->is_pending() ? query
                         : key.impl()->is_pending() ? key
                                                    : value);
  c.state = attention::draw_state(with_last(c.q.sizes(), c.q.size(-2), c.k.size(-2)), dropout_p,
                                  query.device());
  return c;
}

Tensor tiled(const Call& c) {
  SmallVector<TensorArg, 5> inputs;
  if (c.state.defined()) inputs.push_back(c.state);
  for (const Tensor* t : {&c.q, &c.k, &c.v}) inputs.push_back(*t);
  if (c.mask.defined()) inputs.push_back(c.mask);
  Tensor out[2];
  apply(c.state.defined() ? kAttentionDropout : kAttention, inputs.ref(), c.attrs, out);
  return out[0];
}

}  // namespace

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const std::optional<Tensor>& attn_mask, double dropout_p,
                                    bool is_causal, std::optional<double> scale) {
  return tiled(prepare(query, key, value, attn_mask, dropout_p, is_causal, scale));
}

std::tuple<Tensor, Tensor> _scaled_dot_product_attention(const Tensor& query, const Tensor& key,
                                                         const Tensor& value,
                                                         const std::optional<Tensor>& attn_mask,
                                                         double dropout_p, bool need_attn_weights,
                                                         bool is_causal) {
  const Call c = prepare(query, key, value, attn_mask, dropout_p, is_causal, std::nullopt);
  if (!need_attn_weights) return {tiled(c), Tensor()};
  Tensor weights = attention::weights_of(c.q, c.k, c.mask, is_causal, c.attrs.scale);
  if (c.state.defined())
    weights = weights * attention::dropout_factors(c.state, c.q, c.k, dropout_p);
  return {matmul(weights, c.v), weights};
}

}  // namespace tandem
