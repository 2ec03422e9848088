// How vmap runs the losses of classes: all samples as one batch. Only where every sample has
// weights of its own, which the ops do not take, are they made of other ops.
#include "tandem/core/apply.h"
#include "tandem/ops/batch_detail.h"
#include "tandem/ops/loss_class_op.h"
#include "tandem/ops/ops.h"

namespace tandem {
namespace {

// [B, N, ...] as [B * N, ...].
Tensor merged(const Tensor& t) { return t.flatten(0, 1); }
// And back.
Tensor split(const BatchArgs& a, const Tensor& t) {
  Dims sizes(t.sizes().begin(), t.sizes().end());
  sizes[0] = a.size ? sizes[0] / a.size : 0;
  sizes.insert(sizes.begin(), a.size);
  return t.view(sizes);
}
// The sum of all that each sample has.
Tensor sums(const Tensor& t) { return t.flatten(1, -1).sum(1); }
// One number for each sample, so that it broadcasts with values of `dim` dimensions.
Tensor by_sample(const Tensor& t, int64_t dim) {
  Dims sizes(static_cast<size_t>(dim), 1);
  sizes[0] = t.size(0);
  return t.view(sizes);
}

// The losses of all places [B, N, ...] and the weights of the places, as the reduction wants them.
Tensor reduced(const Tensor& losses, int64_t reduction, const Tensor& total) {
  if (reduction == Reduction::None) return losses;
  const Tensor sum = sums(losses);
  return reduction == Reduction::Sum ? sum : (sum / total).to(sum.dtype());
}

// The gradient of each place's own loss, [B, N, ...].
Tensor place_grads(const BatchArgs& a, int64_t reduction, int total, IntArrayRef places) {
  Tensor g = a.sample(0);
  if (reduction == Reduction::None) return g;
  if (reduction == Reduction::Mean) g = (g / a.sample(total)).to(g.dtype());
  return by_sample(g, static_cast<int64_t>(places.size())).expand(places);
}

/// What every place has where each sample has weights [B, C] of its own.
struct Places {
  Places(const Tensor& target, const Tensor& weights, int64_t ignore)
      : counts((target != ignore).to(weights.dtype())),
        classes(where(target != ignore, target, 0).to(kLong)),
        weight(weights.gather(1, classes.flatten(1, -1)).view(target.sizes()) * counts) {}
  Tensor index() const { return classes.unsqueeze(2); }
  Tensor counts, classes, weight;
};
// [B, C] so that it broadcasts with [B, N, C, ...].
Tensor by_class(const Tensor& weights, int64_t dim) {
  Dims sizes(static_cast<size_t>(dim), 1);
  sizes[0] = weights.size(0);
  sizes[2] = weights.size(1);
  return weights.view(sizes);
}

void class_loss_with_own_weights(const BatchArgs& a) {
  const auto& o = a.attrs<ClassLossAttrs>();
  const bool scores = &a.op == &kCrossEntropy;
  const Tensor x = a.sample(0), weights = a.sample(2);
  const Places p(a.sample(1), weights, o.ignore_index);
  const Tensor log = scores ? log_softmax(x, 2) : x;
  Tensor losses = log.gather(2, p.index()).squeeze(2) * p.weight * (o.smoothing - 1);
  if (o.smoothing != 0) {
    const double share = o.smoothing / static_cast<double>(x.size(2));
    losses = losses - (log * by_class(weights, x.dim())).sum(2) * p.counts * share;
  }
  const Tensor total = sums(p.weight).to(sum_dtype(x.dtype()));
  a.outputs[0] = reduced(losses, o.reduction, total);
  a.outputs[scores ? 2 : 1] = total;
  if (scores) a.outputs[1] = logsumexp(x, {2}).to(sum_dtype(x.dtype()));
}

}  // namespace

Tensor place_weights(const Tensor& target, int64_t ignore, const Tensor& weight, DType dtype) {
  const Tensor counts = target != ignore;
  if (!weight.defined()) return counts.to(dtype);
  const Tensor t = where(counts, target, 0).to(kLong);
  const Tensor w = weight.index_select(0, t.reshape({-1})).view(t.sizes());
  return where(counts, w, 0).to(dtype);
}

void batch_class_loss(const BatchArgs& a) {
  if (a.size == 0) return batch_loop(a);
  const bool weighted = a.n_inputs > 2;
  if (weighted && a.batched[2]) return class_loss_with_own_weights(a);
  ClassLossAttrs each = a.attrs<ClassLossAttrs>();
  const int64_t reduction = std::exchange(each.reduction, Reduction::None);
  const int last = a.op.outputs - 1;
  const Tensor x = merged(a.sample(0)), target = merged(a.sample(1));
  Tensor out[3];
  if (weighted)
    apply(a.op, {x, target, a.in(2)}, each, out);
  else
    apply(a.op, {x, target}, each, out);
  const Tensor weights =
      place_weights(target, each.ignore_index, weighted ? a.in(2) : Tensor(), out[last].dtype());
  a.outputs[last] = sums(split(a, weights));
  if (last == 2) a.outputs[1] = split(a, out[1]);
  a.outputs[0] = reduced(split(a, out[0]), reduction, a.outputs[last]);
}

void batch_cross_entropy_backward(const BatchArgs& a) {
  if (a.size == 0) return batch_loop(a);
  const bool weighted = a.n_inputs > 5;
  ClassLossAttrs each = a.attrs<ClassLossAttrs>();
  const Tensor x = a.sample(1), target = a.sample(2);
  const Tensor g = place_grads(a, each.reduction, 4, target.sizes());
  if (weighted && a.batched[5]) {
    const Tensor weights = a.sample(5);
    const Places p(target, weights, each.ignore_index);
    const double share = each.smoothing / static_cast<double>(x.size(2));
    const Tensor own = g * p.weight * (1 - each.smoothing), all = g * p.counts * share;
    const Tensor scale = own + all * by_sample(weights.sum(1), all.dim());
    const Tensor slope = (x - a.sample(3).unsqueeze(2)).exp().to(x.dtype()) * scale.unsqueeze(2) -
                         all.unsqueeze(2) * by_class(weights, x.dim());
    a.outputs[0] = slope.scatter_add(2, p.index(), -own.unsqueeze(2));
    return;
  }
  each.reduction = Reduction::None;
  const Tensor lse = merged(a.sample(3)), total = ones({}, lse.options().requires_grad(false));
  const Tensor out =
      weighted ? apply(a.op, {merged(g), merged(x), merged(target), lse, total, a.in(5)}, each)
               : apply(a.op, {merged(g), merged(x), merged(target), lse, total}, each);
  a.outputs[0] = split(a, out);
}

void batch_nll_loss_backward(const BatchArgs& a) {
  if (a.size == 0) return batch_loop(a);
  const bool weighted = a.n_inputs > 3;
  NllBackwardAttrs each = a.attrs<NllBackwardAttrs>();
  const Dims sizes = batched_sizes(a, each.sizes);
  const Tensor target = a.sample(1), g = place_grads(a, each.reduction, 2, target.sizes());
  const TensorOptions options = g.options().requires_grad(false);
  if (weighted && a.batched[3]) {
    const Places p(target, a.sample(3), each.ignore_index);
    a.outputs[0] = zeros(sizes, options).scatter_add(2, p.index(), -(g * p.weight).unsqueeze(2));
    return;
  }
  each.reduction = Reduction::None;
  each.sizes[0] *= a.size;
  const Tensor total = ones({}, options.dtype(sum_dtype(g.dtype())));
  const Tensor out = weighted ? apply(a.op, {merged(g), merged(target), total, a.in(3)}, each)
                              : apply(a.op, {merged(g), merged(target), total}, each);
  a.outputs[0] = out.view(sizes);
}

void batch_multilabel_margin_loss(const BatchArgs& a) {
  if (a.size == 0) return batch_loop(a);
  const auto out = apply_n<2>(a.op, {merged(a.sample(0)), merged(a.sample(1))});
  for (size_t k = 0; k < 2; ++k) a.outputs[k] = split(a, out[k]);
}

}  // namespace tandem
