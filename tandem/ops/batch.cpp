#include "tandem/ops/batch.h"

#include <mutex>
#include <set>

#include "tandem/kernels/map_functions.h"
#include "tandem/ops/batch_detail.h"
#include "tandem/ops/creation.h"
#include "tandem/ops/join.h"
#include "tandem/ops/view.h"

namespace tandem {

// -- parts of rules ---------------------------------------------------------------------------

int64_t sample_dim(const BatchArgs& a, int i) { return a.in(i).dim() - a.batched[i]; }

Dims sample_sizes(const BatchArgs& a, int i) {
  return Dims(a.in(i).sizes().slice(a.batched[i] ? 1 : 0));
}

Dims batched_sizes(const BatchArgs& a, IntArrayRef sizes) {
  Dims result{a.size};
  result.append(sizes.begin(), sizes.end());
  return result;
}

Tensor aligned(const BatchArgs& a, int i, int64_t dim) {
  const Tensor& x = a.in(i);
  if (!a.batched[i] || sample_dim(a, i) >= dim) return x;
  Dims sizes{a.size};
  sizes.resize(static_cast<size_t>(1 + dim - sample_dim(a, i)), 1);
  sizes.append(x.sizes().begin() + 1, x.sizes().end());
  return x.reshape(sizes);
}

SmallVector<Tensor, 4> samples(const BatchArgs& a) {
  SmallVector<Tensor, 4> all;
  for (int i = 0; i < a.n_inputs; ++i) all.push_back(a.sample(i));
  return all;
}

void apply_to(const OpDef& op, ArrayRef<Tensor> inputs, AttrRef attrs, Tensor* outputs) {
  SmallVector<TensorArg, 6> args;
  for (const Tensor& t : inputs) args.push_back(t);
  apply(op, args.ref(), attrs, outputs);
}

// -- rules ------------------------------------------------------------------------------------

void batch_leading(const BatchArgs& a) { apply_to(a.op, samples(a), a.attr_ref, a.outputs); }

void batch_pointwise(const BatchArgs& a) {
  // A sample without dimensions does not widen the dtype of one with some, but in a batch it looks
  // as if it had a dimension: it is converted before that can be mistaken. Conditions take no part.
  const int first = a.op.map == MapFn::where ? 1 : 0;
  int64_t dim = 0;
  Promotion each, together;
  for (int i = 0; i < a.n_inputs; ++i) {
    dim = std::max(dim, sample_dim(a, i));
    if (i < first) continue;
    const TensorType& t = a.in(i).type_of();
    each.add(t.dtype, sample_dim(a, i) == 0, t.weak);
    together.add(t);
  }
  const DType dtype = each.result();
  const bool mistaken = !(dtype == together.result());
  SmallVector<Tensor, 4> inputs;
  for (int i = 0; i < a.n_inputs; ++i) {
    Tensor x = aligned(a, i, dim);
    if (mistaken && i >= first && a.batched[i] && sample_dim(a, i) == 0) x = x.to(dtype);
    inputs.push_back(std::move(x));
  }
  apply_to(a.op, inputs, a.attr_ref, a.outputs);
}

void batch_along(const BatchArgs& a, AttrRef moved) {
  SmallVector<Tensor, 4> inputs = samples(a);
  const bool scalars = sample_dim(a) == 0;
  if (scalars)
    for (Tensor& x : inputs) x = x.unsqueeze(1);
  apply_to(a.op, inputs, moved, a.outputs);
  if (!scalars) return;
  for (int k = 0; k < a.op.n_outputs(a.attr_ref); ++k)
    if (a.outputs[k].dim() == 2) a.outputs[k] = a.outputs[k].squeeze(1);
}

void batch_gather(const BatchArgs& a, AttrRef moved) {
  // An index without elements may have any number of dimensions: it asks for nothing.
  const bool reads = a.n_inputs == 2;
  if (a.in(1).numel() == 0) {
    a.outputs[0] = reads ? zeros(batched_sizes(a, sample_sizes(a, 1)), a.in(0).options())
                         : a.sample(0).clone();
    return;
  }
  batch_along(a, moved);
}

namespace {

std::mutex g_mutex;
thread_local BatchFallbacks* t_fallbacks = nullptr;
std::set<std::string>& fallbacks() {
  static std::set<std::string> names;
  return names;
}

// The outputs for sample k; of no samples at all, for one made of zeros, whose shapes count.
void apply_one(const BatchArgs& a, int64_t k, Tensor* outputs) {
  SmallVector<Tensor, 4> inputs;
  for (int i = 0; i < a.n_inputs; ++i)
    inputs.push_back(!a.batched[i] ? a.in(i)
                     : a.size == 0 ? zeros(sample_sizes(a, i), a.in(i).options())
                                   : a.in(i).select(0, k));
  apply_to(a.op, inputs, a.attr_ref, outputs);
}

}  // namespace

void batch_loop(const BatchArgs& a) {
  {
    std::lock_guard lock(g_mutex);
    fallbacks().insert(a.op.name);
  }
  for (BatchFallbacks* f = t_fallbacks; f; f = f->outer_) f->names.insert(a.op.name);
  std::vector<std::vector<Tensor>> parts(static_cast<size_t>(a.op.n_outputs(a.attr_ref)));
  std::vector<Tensor> one(static_cast<size_t>(a.op.n_outputs(a.attr_ref)));
  for (int64_t k = 0; k < std::max<int64_t>(1, a.size); ++k) {
    apply_one(a, k, one.data());
    for (size_t o = 0; o < one.size(); ++o) parts[o].push_back(std::move(one[o]));
  }
  for (size_t o = 0; o < one.size(); ++o) a.outputs[o] = stack(parts[o]).narrow(0, 0, a.size);
}

// -- calls ------------------------------------------------------------------------------------

void apply_batched(const OpDef& op, ArrayRef<Tensor> inputs, const bool* batched, int64_t size,
                   AttrRef attrs, Tensor* outputs) {
  const BatchArgs a{op,   inputs.data(), batched, static_cast<int>(inputs.size()),
                    size, attrs,         outputs};
  TANDEM_CHECK(
      !op.random || !batched[0], "vmap: ", op.name,
      ": random numbers are drawn in a branch or loop that samples leave at different times; "
      "draw them before it");
  if (op.batch)
    op.batch(a);
  else if (op.map != MapFn{0})
    batch_pointwise(a);
  else
    batch_loop(a);
}

BatchFallbacks::BatchFallbacks() : outer_(std::exchange(t_fallbacks, this)) {}
BatchFallbacks::~BatchFallbacks() { t_fallbacks = outer_; }

std::vector<std::string> batch_fallbacks() {
  std::lock_guard lock(g_mutex);
  return {fallbacks().begin(), fallbacks().end()};
}

}  // namespace tandem
