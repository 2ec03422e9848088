#pragma once

#include "tandem/core/apply.h"

/// The rules by which vmap runs an op for many samples at once. OpDef::batch names one of these, or
/// a rule of the op's own that is made of them.
namespace tandem {

/// The number of dimensions that input i has in each sample.
int64_t sample_dim(const BatchArgs& a, int i = 0);
/// The shape that input i has in each sample.
Dims sample_sizes(const BatchArgs& a, int i = 0);
/// The sizes with the samples in front.
Dims batched_sizes(const BatchArgs& a, IntArrayRef sizes);
/// Input i so that it broadcasts with values of `dim` dimensions a sample: dimensions of extent 1
/// stand between the samples and its own. Unbatched inputs are given as they are.
Tensor aligned(const BatchArgs& a, int i, int64_t dim);
/// All inputs with the samples in front.
SmallVector<Tensor, 4> samples(const BatchArgs& a);
/// Runs an op on these inputs.
void apply_to(const OpDef& op, ArrayRef<Tensor> inputs, AttrRef attrs, Tensor* outputs);

/// For ops that take any number of leading dimensions.
void batch_leading(const BatchArgs& a);
/// For pointwise ops: shapes broadcast, and types are promoted as they would be in each sample.
void batch_pointwise(const BatchArgs& a);
/// Runs the op on all samples with these attributes, in which one dimension was moved on by one. A
/// sample without dimensions gets one for the time being.
void batch_along(const BatchArgs& a, AttrRef moved);
/// The same for gather and scatter, whose index may be empty.
void batch_gather(const BatchArgs& a, AttrRef moved);
/// One sample after the other. What ran that way is listed by batch_fallbacks().
void batch_loop(const BatchArgs& a);

/// For ops that work along one dimension, `dim` of their attributes.
template <class A>
void batch_dim(const BatchArgs& a) {
  A moved = a.attrs<A>();
  ++moved.dim;
  batch_along(a, moved);
}

/// For ops that work along several dimensions, `dims` of their attributes.
template <class A>
void batch_dims(const BatchArgs& a) {
  A moved = a.attrs<A>();
  for (int64_t& d : moved.dims) ++d;
  // No dimensions would be all of them to whoever reads the attributes later.
  if (sample_dim(a) == 0) moved.dims = {1};
  batch_along(a, moved);
}

/// For gather and scatter, which work along `dim` of their attributes.
template <class A>
void batch_gather(const BatchArgs& a) {
  A moved = a.attrs<A>();
  ++moved.dim;
  batch_gather(a, moved);
}

/// For ops that fill a tensor of the shape that their attributes give: from the first input alone,
/// the state of a generator.
template <class A>
void batch_drawn(const BatchArgs& a) {
  A larger = a.attrs<A>();
  larger.sizes = batched_sizes(a, larger.sizes);
  apply_to(a.op, {a.in()}, larger, a.outputs);
}

}  // namespace tandem
