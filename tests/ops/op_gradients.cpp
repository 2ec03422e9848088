#include "tests/ops/op_gradients.h"

#include "tandem/autograd/autograd.h"

namespace tandem::table {

List floating_only(const List& tensors) {
  List r;
  for (const Tensor& t : tensors)
    if (t.defined() && is_floating(t.dtype())) r.push_back(t);
  return r;
}

List gradients(const List& results, const List& inputs, const List& weights, bool create_graph) {
  List from, with, wanted;
  for (size_t k = 0; k < results.size(); ++k) {
    if (!results[k].requires_grad()) continue;
    from.push_back(results[k]);
    with.push_back(weights[k]);
  }
  for (const Tensor& t : inputs)
    if (t.requires_grad()) wanted.push_back(t);
  List grads(wanted.size());
  if (!from.empty() && !wanted.empty())
    grads = autograd::grad(from, wanted, with, true, create_graph, true);
  for (size_t i = 0; i < wanted.size(); ++i)
    if (!grads[i].defined())
      grads[i] = make_tensor(zeros_of(wanted[i].sizes().vec()), wanted[i].dtype());
  return grads;
}

List some_weights(const List& results) {
  List weights;
  double x = 0.5;
  for (const Tensor& t : results) {
    Values v = zeros_of(t.sizes().vec());
    for (double& w : v.v) w = x = x > 1.4 ? x - 0.91 : x + 0.13;
    weights.push_back(make_tensor(v, t.dtype()));
  }
  return weights;
}

}  // namespace tandem::table
