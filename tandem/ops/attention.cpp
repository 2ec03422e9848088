#include "tandem/ops/attention.h"

#include <cmath>
#include <limits>

#include "tandem/core/apply.h"
#include "tandem/core/generator.h"
#include "tandem/kernels/attention.h"
#include "tandem/ops/attr_checks_detail.h"
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

struct AttentionAttrs {
  bool causal = false;
  double scale = 1;
  double dropout = 0;
  TANDEM_FIELDS(causal, scale, dropout)
};

struct AttentionBackwardAttrs {
  bool causal = false;
  double scale = 1;
  double dropout = 0;
  bool masked = false;     // True iff there is a mask among the inputs.
  bool mask_grad = false;  // True iff the gradient by the scores is wanted too.
  TANDEM_FIELDS(causal, scale, dropout, masked, mask_grad)
};

// What stands before the last two dimensions.
IntArrayRef leading(IntArrayRef sizes) { return sizes.slice(0, sizes.size() - 2); }

Dims with_last(IntArrayRef sizes, int64_t rows, int64_t cols) {
  Dims d(sizes.begin(), sizes.end());
  d[d.size() - 2] = rows;
  d[d.size() - 1] = cols;
  return d;
}

// Queries, keys and values from input `first` on, and the mask at `mask` (-1: none).
void check_inputs(const InferArgs& a, int first, int mask, double dropout) {
  const TensorType &q = a.in(first), &k = a.in(first + 1), &v = a.in(first + 2);
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
  if (mask < 0) return;
  const TensorType& m = a.in(mask);
  TANDEM_CHECK_TYPE(m.dtype == kBool || m.dtype == q.dtype, kName,
                    ": the mask must be of bools or of the query's dtype, ", q.dtype, ", but is ",
                    m.dtype);
  const Dims scores = with_last(q.sizes, q.sizes[n - 2], k.sizes[n - 2]);
  bool fits = m.dim() <= q.dim();
  for (size_t d = 0; fits && d < m.sizes.size(); ++d) {
    const int64_t wanted = scores[scores.size() - m.sizes.size() + d];
    fits = m.sizes[d] == 1 || m.sizes[d] == wanted;
  }
  TANDEM_CHECK_SHAPE(fits, kName, ": a mask of shape ", m.sizes,
                     " does not broadcast to the scores' ", scores);
}

DType sum_dtype(DType t) { return t == kDouble ? kDouble : kFloat; }

void infer_forward(const InferArgs& a, int first) {
  const auto& f = a.attrs<AttentionAttrs>();
  TANDEM_CHECK(a.n_inputs == first + 3 || a.n_inputs == first + 4, a.op.name, ": takes ", first + 3,
               " or ", first + 4, " inputs, not ", a.n_inputs);
  check_inputs(a, first, a.n_inputs > first + 3 ? first + 3 : -1, f.dropout);
  const TensorType& q = a.in(first);
  a.out(0).sizes = q.sizes;
  a.out(0).sizes.back() = a.in(first + 2).sizes.back();
  a.out(0).dtype = q.dtype;
  a.out(1).sizes = q.sizes;
  a.out(1).sizes.pop_back();
  a.out(1).dtype = sum_dtype(q.dtype);
}

template <class A>
kernels::Attention kernel_call(const KernelArgs& a, int first, int mask, int state) {
  const A& f = a.attrs<A>();
  kernels::Attention c;
  c.q = a.in(first);
  c.k = a.in(first + 1);
  c.v = a.in(first + 2);
  if (mask >= 0) c.mask = a.in(mask);
  c.causal = f.causal;
  c.scale = f.scale;
  if (state < 0) return c;
  const Array& s = a.in(state);
  c.dropout = f.dropout;
  c.seed = static_cast<uint64_t>(s.ptr<int64_t>()[0]);
  c.counter = static_cast<uint64_t>(s.ptr<int64_t>()[s.strides[0]]);
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
          detail::check_state(a);
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
  check_inputs(a, 1, mask_input(f), f.dropout);
  const TensorType &q = a.in(1), &k = a.in(2), &v = a.in(3);
  Dims out = q.sizes, sums = q.sizes;
  out.back() = v.sizes.back();
  sums.pop_back();
  TANDEM_CHECK_SHAPE(a.in(0).sizes == out && a.in(4).sizes == out && a.in(5).sizes == sums,
                     a.op.name, ": expected a gradient and an output of shape ", out,
                     " and sums of shape ", sums, ", got ", a.in(0).sizes, ", ", a.in(4).sizes,
                     " and ", a.in(5).sizes);
  TANDEM_CHECK_TYPE(
      a.in(0).dtype == q.dtype && a.in(4).dtype == q.dtype && a.in(5).dtype == sum_dtype(q.dtype),
      a.op.name, ": gradient, output and sums do not go with a query of ", q.dtype);
  if (const int s = state_input(f); s >= 0)
    TANDEM_CHECK_TYPE(a.in(s).dtype == kLong && a.in(s).sizes.size() == 1 && a.in(s).sizes[0] >= 2,
                      a.op.name, ": the last input is the state of a generator, not ", a.in(s));
  for (int i = 0; i < 3; ++i) {
    a.out(i).sizes = a.in(1 + i).sizes;
    a.out(i).dtype = q.dtype;
  }
  if (!f.mask_grad) return;
  a.out(3).sizes = with_last(q.sizes, q.sizes[q.sizes.size() - 2], k.sizes[k.sizes.size() - 2]);
  a.out(3).dtype = q.dtype;
}

// True for each key that a query sees in a causal call.
Tensor causal_mask(const Tensor& q, const Tensor& k) {
  return ones({q.size(-2), k.size(-2)}, q.options().dtype(kBool)).tril();
}

// The weights before dropout, in public ops.
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

Dims drawn_sizes(const Tensor& q, const Tensor& k) {
  return with_last(q.sizes(), q.size(-2), kernels::padded_keys(k.size(-2)));
}

// What weights are multiplied by: 0 where they are dropped. The same numbers as the kernel draws.
Tensor dropout_factors(const Tensor& state, const Tensor& q, const Tensor& k, double p) {
  const Tensor kept =
      bernoulli_of(state, drawn_sizes(q, k), 1 - p, q.options().requires_grad(false));
  return kept.narrow(-1, 0, k.size(-2)) * (p < 1 ? 1 / (1 - p) : 0.0);
}

// The gradient of the gradient, by gradient (g), query, key, value and mask.
//
// With P the weights, D the factors of dropout and x, y, z, w what flows back into dq, dk, dv and
// the gradient by the scores, the scalar to differentiate is <e, dS> + <z, dV> where
//   e = scale (x k^T + q y^T) + w,  dS = P (dP - rowsum(P dP)),  dP = D (g v^T),  dV = (P D)^T g.
// Softmax's derivative is symmetric: <e, dS> = <f, dP> with f = P (e - rowsum(P e)).
Grads second_order(const VjpArgs& a) {
  const auto& f = a.attrs<AttentionBackwardAttrs>();
  const Tensor g = a.input(0), q = a.input(1), k = a.input(2), v = a.input(3);
  const Tensor mask = f.masked ? a.input(mask_input(f)) : Tensor();
  const Tensor p = weights_of(q, k, mask, f.causal, f.scale);
  const Tensor d =
      f.dropout > 0 ? dropout_factors(a.input(state_input(f)), q, k, f.dropout) : Tensor();
  const auto dropped = [&](const Tensor& t) { return d.defined() ? t * d : t; };
  const auto turned = [](const Tensor& t) { return t.transpose(-2, -1); };
  const auto row_sum = [](const Tensor& t) { return t.sum(-1, true); };

  const Tensor x = a.grad_or_zeros(0), y = a.grad_or_zeros(1), z = a.grad_or_zeros(2);
  Tensor e = (matmul(x, turned(k)) + matmul(q, turned(y))) * f.scale;
  if (f.mask_grad) e = e + a.grad_or_zeros(3);
  const Tensor dp = dropped(matmul(g, turned(v)));
  const Tensor delta = row_sum(p * dp), r = row_sum(p * e);
  const Tensor fd = dropped(p * (e - r)), pd = dropped(p);
  const Tensor ds = p * (dp - delta);
  // By the weights, then by the scores.
  const Tensor tp = e * (dp - delta) - r * dp + dropped(matmul(g, turned(z)));
  const Tensor ts = p * (tp - row_sum(p * tp));

  Grads grads(static_cast<size_t>(a.n_inputs()));
  if (a.needs(0)) grads[0] = matmul(fd, v) + matmul(pd, z);
  if (a.needs(1)) grads[1] = (matmul(ts, k) + matmul(ds, y)) * f.scale;
  if (a.needs(2)) grads[2] = (matmul(turned(ts), q) + matmul(turned(ds), x)) * f.scale;
  if (a.needs(3)) grads[3] = matmul(turned(fd), g);
  if (f.masked && a.needs(6)) grads[6] = ts.sum_to_size(a.input_type(6).sizes);
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
    .vjp = second_order,
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
  if (dropout_p > 0)
    c.state = default_generator().draw(numel_of(drawn_sizes(c.q, c.k))).to(query.device());
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
  Tensor weights = weights_of(c.q, c.k, c.mask, is_causal, c.attrs.scale);
  if (c.state.defined()) weights = weights * dropout_factors(c.state, c.q, c.k, dropout_p);
  return {matmul(weights, c.v), weights};
}

}  // namespace tandem
