// Attention on queries, keys and values in one tensor, [length, batch, 3 * width]. The kernel reads
// and writes any strides, so that heads are neither taken apart nor put together: forward and
// backward move nothing but what they compute, and the gradient comes in one piece.
#include <cmath>

#include "tandem/core/recorder.h"
#include "tandem/ops/attention.h"
#include "tandem/ops/attention_op.h"
#include "tandem/ops/batch_detail.h"
#include "tandem/ops/ops.h"
#include "tandem/ops/random_op.h"

namespace tandem {
namespace {

constexpr const char* kName = "packed_attention";

struct PackedAttrs {
  int64_t heads = 1;
  bool causal = false;
  double scale = 1;
  double dropout = 0;
  TANDEM_FIELDS(heads, causal, scale, dropout)
};

struct PackedBackwardAttrs {
  int64_t heads = 1;
  bool causal = false;
  double scale = 1;
  double dropout = 0;
  bool masked = false;
  bool mask_grad = false;
  TANDEM_FIELDS(heads, causal, scale, dropout, masked, mask_grad)
};

// -- one head after the other -------------------------------------------------------------------

/// The type [batch, heads, length, width / heads] of the queries.
template <class A>
TensorType check_packed(const InferArgs& a, int input, const TensorType* mask) {
  const A& f = a.attrs<A>();
  const TensorType& x = a.in(input);
  TANDEM_CHECK_TYPE(is_floating(x.dtype), a.op.name, ": expected a floating point dtype, got ",
                    x.dtype);
  TANDEM_CHECK_SHAPE(
      x.dim() == 3 && f.heads > 0 && x.sizes[2] % 3 == 0 && x.sizes[2] / 3 % f.heads == 0,
      a.op.name, ": expected [length, batch, 3 * width] with a width that ", f.heads,
      " heads can share, got ", x.sizes);
  TensorType q = x;
  q.sizes = {x.sizes[1], f.heads, x.sizes[0], x.sizes[2] / 3 / f.heads};
  attention::check_types(q, q, q, mask, f.dropout);
  return q;
}

/// Part `which` of `parts` equal ones of an array [length, batch, parts * width] as the array
/// [batch, heads, length, width / heads] that the kernel wants.
struct HeadsOf {
  int64_t sizes[4], strides[4];
  Array array;
  HeadsOf(const Array& x, int64_t heads, int64_t which, int64_t parts) : array(x) {
    const int64_t width = x.sizes[2] / parts, each = width / heads;
    const int64_t n[] = {x.sizes[1], heads, x.sizes[0], each};
    const int64_t s[] = {x.strides[1], each * x.strides[2], x.strides[0], x.strides[2]};
    std::copy_n(n, 4, sizes);
    std::copy_n(s, 4, strides);
    array.data = static_cast<char*>(x.data) +
                 which * width * x.strides[2] * static_cast<int64_t>(size_of(x.dtype));
    array.sizes = sizes;
    array.strides = strides;
    array.ndim = 4;
    array.numel = x.numel / parts;
    array.contiguous = false;
  }
  HeadsOf(const HeadsOf&) = delete;
  HeadsOf& operator=(const HeadsOf&) = delete;
};

/// The same on tensors, with the samples of vmap or nothing in front: views.
Tensor heads_of(const Tensor& x, int64_t heads, int64_t which, int64_t parts) {
  const int64_t width = x.size(-1) / parts;
  Dims sizes(x.sizes().begin(), x.sizes().end());
  sizes.back() = heads;
  sizes.push_back(width / heads);
  const Tensor t = x.narrow(-1, which * width, width).reshape(sizes);
  // [..., length, batch, heads, each] -> [..., batch, heads, length, each]
  return t.movedim(-4, -2);
}
/// And back: [..., batch, heads, length, each] -> [..., length, batch, width].
Tensor joined(const Tensor& x) {
  const Tensor t = x.movedim(-2, -4);
  Dims sizes(t.sizes().begin(), t.sizes().end());
  const int64_t each = sizes.back();
  sizes.pop_back();
  sizes.back() *= each;
  return t.reshape(sizes);
}

// -- forward --------------------------------------------------------------------------------------

void infer_forward(const InferArgs& a, int first) {
  TANDEM_CHECK(a.n_inputs == first + 1 || a.n_inputs == first + 2, a.op.name, ": takes ", first + 1,
               " or ", first + 2, " inputs, not ", a.n_inputs);
  const TensorType q =
      check_packed<PackedAttrs>(a, first, a.n_inputs > first + 1 ? &a.in(first + 1) : nullptr);
  a.out(0).sizes = a.in(first).sizes;
  a.out(0).sizes.back() /= 3;
  a.out(0).dtype = q.dtype;
  a.out(1).sizes = {q.sizes[0], q.sizes[1], q.sizes[2]};
  a.out(1).dtype = attention::sum_dtype(q.dtype);
}

void forward_kernel(const KernelArgs& a, int first) {
  const auto& f = a.attrs<PackedAttrs>();
  const Array& x = a.in(first);
  const HeadsOf q(x, f.heads, 0, 3), k(x, f.heads, 1, 3), v(x, f.heads, 2, 3),
      out(a.out(0), f.heads, 0, 1);
  kernels::Attention call{.q = q.array, .k = k.array, .v = v.array};
  if (a.n_inputs > first + 1) call.mask = a.in(first + 1);
  attention::fill_call(call, f.causal, f.scale, f.dropout, first > 0 ? &a.in(0) : nullptr);
  kernels::attention(call, out.array, a.out(1));
}

// Samples and the batch are leading dimensions of the op that has any number of them.
void batch_forward(const BatchArgs& a, int first) {
  const auto& f = a.attrs<PackedAttrs>();
  const Tensor x = a.sample(first);
  SmallVector<Tensor, 5> inputs;
  if (first > 0) inputs.push_back(a.in(0));
  for (int i = 0; i < 3; ++i) inputs.push_back(heads_of(x, f.heads, i, 3));
  if (a.n_inputs > first + 1) inputs.push_back(aligned(a, first + 1, 4));
  apply_to(first > 0 ? kAttentionDropout : kAttention, inputs,
           AttentionAttrs{f.causal, f.scale, f.dropout}, a.outputs);
  a.outputs[0] = joined(a.outputs[0]);
}

Grads backward_of(const VjpArgs& a, int first);

}  // namespace

TANDEM_OP(kPackedAttention) = {
    .name = "packed_attention",
    .infer = [](const InferArgs& a) { infer_forward(a, 0); },
    .kernel = [](const KernelArgs& a) { forward_kernel(a, 0); },
    .saves = Saves::all(Saves::in(0) | Saves::in(1) | Saves::out(0) | Saves::out(1)),
    .vjp = [](const VjpArgs& a) -> Grads { return backward_of(a, 0); },
    .outputs = 2,
    .attrs = attrs_of<PackedAttrs>,
    .batch = [](const BatchArgs& a) { batch_forward(a, 0); },
};

// With dropout: the first input is the state of a generator.
TANDEM_OP(kPackedAttentionDropout) = {
    .name = "packed_attention_dropout",
    .infer =
        [](const InferArgs& a) {
          attention::check_state(a.op, a.in());
          infer_forward(a, 1);
        },
    .kernel = [](const KernelArgs& a) { forward_kernel(a, 1); },
    .saves = Saves::all(Saves::in(0) | Saves::in(1) | Saves::in(2) | Saves::out(0) | Saves::out(1)),
    .vjp = [](const VjpArgs& a) -> Grads { return backward_of(a, 1); },
    .outputs = 2,
    .random = true,
    .attrs = attrs_of<PackedAttrs>,
    .batch = [](const BatchArgs& a) { batch_forward(a, 1); },
};

// -- backward -------------------------------------------------------------------------------------

namespace {

// Inputs of the backward op: gradient, packed, output, sums, then mask and state.
int state_input(const PackedBackwardAttrs& f) { return f.masked ? 5 : 4; }

void infer_backward(const InferArgs& a) {
  const auto& f = a.attrs<PackedBackwardAttrs>();
  const int wanted = 4 + f.masked + (f.dropout > 0);
  TANDEM_CHECK(a.n_inputs == wanted, a.op.name, ": takes ", wanted, " inputs, not ", a.n_inputs);
  const TensorType q = check_packed<PackedBackwardAttrs>(a, 1, f.masked ? &a.in(4) : nullptr);
  Dims out = a.in(1).sizes;
  out.back() /= 3;
  const Dims sums{q.sizes[0], q.sizes[1], q.sizes[2]};
  TANDEM_CHECK_SHAPE(a.in(0).sizes == out && a.in(2).sizes == out && a.in(3).sizes == sums,
                     a.op.name, ": expected a gradient and an output of shape ", out,
                     " and sums of shape ", sums, ", got ", a.in(0).sizes, ", ", a.in(2).sizes,
                     " and ", a.in(3).sizes);
  TANDEM_CHECK_TYPE(a.in(0).dtype == q.dtype && a.in(2).dtype == q.dtype &&
                        a.in(3).dtype == attention::sum_dtype(q.dtype),
                    a.op.name, ": gradient, output and sums do not go with ", q.dtype);
  if (f.dropout > 0) attention::check_state(a.op, a.in(state_input(f)));
  a.out(0).sizes = a.in(1).sizes;
  a.out(0).dtype = q.dtype;
  if (!f.mask_grad) return;
  a.out(1).sizes = attention::with_last(q.sizes, q.sizes[2], q.sizes[2]);
  a.out(1).dtype = q.dtype;
}

void backward_kernel(const KernelArgs& a) {
  const auto& f = a.attrs<PackedBackwardAttrs>();
  const Array& x = a.in(1);
  const HeadsOf q(x, f.heads, 0, 3), k(x, f.heads, 1, 3), v(x, f.heads, 2, 3),
      grad(a.in(0), f.heads, 0, 1), out(a.in(2), f.heads, 0, 1), dq(a.out(0), f.heads, 0, 3),
      dk(a.out(0), f.heads, 1, 3), dv(a.out(0), f.heads, 2, 3);
  kernels::Attention call{.q = q.array, .k = k.array, .v = v.array};
  if (f.masked) call.mask = a.in(4);
  attention::fill_call(call, f.causal, f.scale, f.dropout,
                       f.dropout > 0 ? &a.in(state_input(f)) : nullptr);
  kernels::attention_backward(call, grad.array, out.array, a.in(3), dq.array, dk.array, dv.array,
                              f.mask_grad ? a.out(1) : Array());
}

void batch_backward(const BatchArgs& a) {
  const auto& f = a.attrs<PackedBackwardAttrs>();
  const Tensor x = a.sample(1);
  SmallVector<Tensor, 8> inputs{heads_of(a.sample(0), f.heads, 0, 1)};
  for (int i = 0; i < 3; ++i) inputs.push_back(heads_of(x, f.heads, i, 3));
  inputs.push_back(heads_of(a.sample(2), f.heads, 0, 1));
  inputs.push_back(a.sample(3));
  if (f.masked) inputs.push_back(aligned(a, 4, 4));
  if (f.dropout > 0) inputs.push_back(a.in(state_input(f)));
  Tensor out[4];
  apply_to(kAttentionBackward, inputs,
           AttentionBackwardAttrs{f.causal, f.scale, f.dropout, f.masked, f.mask_grad}, out);
  a.outputs[0] = cat({joined(out[0]), joined(out[1]), joined(out[2])}, -1);
  if (f.mask_grad) a.outputs[1] = out[3];
}

Grads second_vjp(const VjpArgs& a) {
  const auto& f = a.attrs<PackedBackwardAttrs>();
  const Tensor x = a.input(1), back = a.grad_or_zeros(0);
  attention::SecondOrder s{.g = heads_of(a.input(0), f.heads, 0, 1),
                           .q = heads_of(x, f.heads, 0, 3),
                           .k = heads_of(x, f.heads, 1, 3),
                           .v = heads_of(x, f.heads, 2, 3),
                           .x = heads_of(back, f.heads, 0, 3),
                           .y = heads_of(back, f.heads, 1, 3),
                           .z = heads_of(back, f.heads, 2, 3),
                           .causal = f.causal,
                           .scale = f.scale};
  if (f.masked) s.mask = a.input(4);
  if (f.dropout > 0)
    s.factors = attention::dropout_factors(a.input(state_input(f)), s.q, s.k, f.dropout);
  if (f.mask_grad) s.w = a.grad_or_zeros(1);
  const attention::SecondOrderGrads r = attention::second_order(s);
  Grads grads(static_cast<size_t>(a.n_inputs()));
  if (a.needs(0)) grads[0] = joined(r.g);
  if (a.needs(1)) grads[1] = cat({joined(r.q), joined(r.k), joined(r.v)}, -1);
  if (f.masked && a.needs(4)) grads[4] = r.scores.sum_to_size(a.input_type(4).sizes);
  return grads;
}

}  // namespace

TANDEM_OP(kPackedAttentionBackward) = {
    .name = "packed_attention_backward",
    .infer = infer_backward,
    .kernel = backward_kernel,
    .saves = Saves::all(Saves::in(0) | Saves::in(1) | Saves::in(4) | Saves::in(5)),
    .vjp = second_vjp,
    .outputs = 0,
    .count = [](AttrRef a) { return a.as<PackedBackwardAttrs>().mask_grad ? 2 : 1; },
    .attrs = attrs_of<PackedBackwardAttrs>,
    .batch = batch_backward,
};

namespace {

Grads backward_of(const VjpArgs& a, int first) {
  const auto& f = a.attrs<PackedAttrs>();
  const bool masked = a.n_inputs() > first + 1;
  const bool mask_grad = masked && a.needs(first + 1);
  SmallVector<Tensor, 6> inputs{a.grad_or_zeros(0), a.input(first), a.output(0), a.output(1)};
  if (masked) inputs.push_back(a.input(first + 1));
  if (first > 0) inputs.push_back(a.input(0));
  Tensor out[2];
  apply_to(kPackedAttentionBackward, inputs,
           PackedBackwardAttrs{f.heads, f.causal, f.scale, f.dropout, masked, mask_grad}, out);
  Grads grads(static_cast<size_t>(a.n_inputs()));
  if (a.needs(first)) grads[static_cast<size_t>(first)] = out[0];
  if (mask_grad)
    grads[static_cast<size_t>(first + 1)] = out[1].sum_to_size(a.input_type(first + 1).sizes);
  return grads;
}

}  // namespace

Tensor packed_attention(const Tensor& packed, int64_t num_heads,
                        const std::optional<Tensor>& attn_mask, double dropout_p, bool is_causal) {
  TANDEM_CHECK(packed.defined(), kName, ": the packed queries, keys and values must be given");
  TANDEM_CHECK_SHAPE(packed.dim() == 3, kName, ": expected [length, batch, 3 * width], got ",
                     packed.sizes());
  TANDEM_CHECK(num_heads > 0, kName, ": expected a positive number of heads, got ", num_heads);
  TANDEM_CHECK(dropout_p >= 0 && dropout_p <= 1, kName,
               ": dropout probability has to be between 0 and 1, but got ", dropout_p);
  const bool masked = attn_mask && attn_mask->defined();
  TANDEM_CHECK(!is_causal || !masked, kName, ": a mask and is_causal cannot both be given");
  const int64_t each = packed.size(2) / 3 / num_heads;
  const PackedAttrs attrs{num_heads, is_causal,
                          each > 0 ? 1 / std::sqrt(static_cast<double>(each)) : 1.0, dropout_p};
  const int64_t length = packed.size(0), batch = packed.size(1);
  const OwnerScope scope(packed);
  const Tensor state =
      attention::draw_state({batch, num_heads, length, length}, dropout_p, packed.device());
  SmallVector<TensorArg, 3> inputs;
  if (state.defined()) inputs.push_back(state);
  inputs.push_back(packed);
  if (masked) inputs.push_back(*attn_mask);
  Tensor out[2];
  apply(state.defined() ? kPackedAttentionDropout : kPackedAttention, inputs.ref(), attrs, out);
  return out[0];
}

}  // namespace tandem
