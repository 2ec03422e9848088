#include "tandem/graph/gate.h"

#include <algorithm>
#include <unordered_map>

#include "tandem/graph/dce.h"
#include "tandem/graph/rewrite.h"
#include "tandem/ops/map_op.h"
#include "tandem/ops/norm_op.h"

namespace tandem {
namespace {

bool same(const Edge& a, const Edge& b) { return a.node == b.node && a.index == b.index; }

// The norm whose ReLU's gradient this is; null if it is none. x, mean and rstd are those that the
// reader of the gradient has.
const Node* gated_norm(const Edge& gradient, const Edge& x, const Edge& mean) {
  const Node& back = *gradient.node;
  if (back.op->map != MapFn::relu_backward || back.n_inputs != 2) return nullptr;
  if (back.attr_type && back.attrs().as<MapAttrs>().a != 0) return nullptr;
  const Node& relu = *back.inputs()[1].node;
  if (relu.op->map != MapFn::relu || relu.n_inputs != 1) return nullptr;
  const Node& norm = *relu.inputs()[0].node;
  if (norm.op != &kBatchNormalize || norm.n_inputs != 5) return nullptr;
  if (!norm.attrs().as<NormalizeAttrs>().training) return nullptr;
  if (!same(norm.inputs()[0], x) || !same(norm.inputs()[1], mean)) return nullptr;
  // Gradients of other shapes are broadcast first.
  return type_of(back.inputs()[0]).sizes == type_of(x).sizes ? &norm : nullptr;
}

// How often each value is read, results included.
std::unordered_map<const Node*, int> count_readers(const Graph& g) {
  std::unordered_map<const Node*, int> readers;
  for (const NodePtr& n : g.nodes)
    for (uint32_t k = 0; k < n->n_inputs; ++k) ++readers[n->inputs()[k].node.get()];
  for (const Edge& e : g.outputs) ++readers[e.node.get()];
  return readers;
}

}  // namespace

Graph gate_norms(Graph g) {
  const auto is_sums = [](const NodePtr& n) { return n->op == &kChannelSums; };
  if (std::none_of(g.nodes.begin(), g.nodes.end(), is_sums)) return g;
  const auto readers = count_readers(g);
  Rewriter r(std::move(g));
  for (const NodePtr& n : r.nodes()) {
    r.enter(*n);
    const bool sums = n->op == &kChannelSums && n->n_inputs == 4;
    const bool grad = n->op == &kChannelGrad && n->n_inputs == 6;
    const Node* norm = nullptr;
    // Where others read the gradient too it is made in any case.
    if (sums || grad) {
      const auto found = readers.find(n->inputs()[0].node.get());
      if (found != readers.end() && found->second == 2)
        norm = gated_norm(n->inputs()[0], n->inputs()[1], n->inputs()[2]);
    }
    if (!norm) {
      r.keep(*n);
      continue;
    }
    const Node& back = *n->inputs()[0].node;
    const Edge* of_norm = norm->inputs();
    SmallVector<Edge, 7> inputs(n->inputs(), n->inputs() + n->n_inputs);
    if (sums) {
      inputs[0] = back.inputs()[0];
      inputs.push_back(of_norm[3]);
      inputs.push_back(of_norm[4]);
      const Edge made = r.add(kChannelSums, inputs, n->attrs());
      if (!r.replace_all(*n, *made.node)) r.keep(*n);
      continue;
    }
    const Edge again = r.add(kBatchNormalize, {of_norm, norm->n_inputs}, norm->attrs());
    inputs[0] = r.add(*back.op, {back.inputs()[0], again}, back.attrs());
    const Edge made = r.add(kChannelGrad, inputs, n->attrs());
    if (!r.replace(*n, made)) r.keep(*n);
  }
  return dce(r.finish());
}

}  // namespace tandem
