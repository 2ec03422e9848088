// Convolutions of many samples at once: samples that share the weight are one larger batch, samples
// with weights of their own are groups of one convolution.
#include "tandem/ops/batch_detail.h"
#include "tandem/ops/binary.h"
#include "tandem/ops/conv_op.h"
#include "tandem/ops/view.h"

namespace tandem {
namespace {

Dims with(IntArrayRef front, IntArrayRef sizes, size_t from) {
  Dims out(front);
  for (size_t d = from; d < sizes.size(); ++d) out.push_back(sizes[d]);
  return out;
}

/// [samples, batch, ...] as [samples * batch, ...], and back.
Tensor in_batch(const Tensor& x) { return x.reshape(with({x.size(0) * x.size(1)}, x.sizes(), 2)); }
Tensor out_of_batch(const Tensor& x, int64_t samples) {
  return x.reshape(with({samples, x.size(0) / samples}, x.sizes(), 1));
}

/// [samples, batch, channels, ...] as [batch, samples * channels, ...], and back.
Tensor in_channels(const Tensor& x) {
  return x.transpose(0, 1).reshape(with({x.size(1), x.size(0) * x.size(2)}, x.sizes(), 3));
}
Tensor out_of_channels(const Tensor& x, int64_t samples) {
  return x.reshape(with({x.size(0), samples, x.size(1) / samples}, x.sizes(), 2)).transpose(0, 1);
}

ConvAttrs grouped(const BatchArgs& a) {
  ConvAttrs c = a.attrs<ConvAttrs>();
  c.groups *= a.size;
  return c;
}

/// Adds the bias, input 2, if there is one: to [samples, batch, channels, ...].
Tensor plus_bias(const BatchArgs& a, const Tensor& x) {
  if (a.n_inputs < 3) return x;
  const Tensor& b = a.in(2);
  Dims shape{a.batched[2] ? a.size : 1, 1, b.sizes().back()};
  while (static_cast<int64_t>(shape.size()) < x.dim()) shape.push_back(1);
  return x + b.reshape(shape);
}

/// For the ops whose second input is the weight.
void batch_by_weight(const BatchArgs& a) {
  const ConvAttrs& c = a.attrs<ConvAttrs>();
  Tensor result;
  if (!a.batched[1]) {
    if (a.batched[0]) {
      result = out_of_batch(apply(a.op, {in_batch(a.in(0)), a.in(1)}, c), a.size);
    } else {
      // Only the bias differs.
      result = apply(a.op, {a.in(0), a.in(1)}, c).unsqueeze(0);
      Dims shape(result.sizes());
      shape[0] = a.size;
      result = result.expand(shape);
    }
  } else {
    result = out_of_channels(
        apply(a.op, {in_channels(a.sample(0)), in_batch(a.sample(1))}, grouped(a)), a.size);
  }
  a.outputs[0] = plus_bias(a, result);
}

}  // namespace

void conv_forward_batch(const BatchArgs& a) { batch_by_weight(a); }
void conv_input_batch(const BatchArgs& a) { batch_by_weight(a); }

void conv_weight_batch(const BatchArgs& a) {
  const Tensor w = apply(a.op, {in_channels(a.sample(0)), in_channels(a.sample(1))}, grouped(a));
  a.outputs[0] = out_of_batch(w, a.size);
}

}  // namespace tandem
