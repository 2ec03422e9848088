// What a convolution can do before it stores its result.
#include "tandem/core/apply.h"
#include "tandem/graph/layout_detail.h"
#include "tandem/ops/map_op.h"
#include "tandem/ops/norm_op.h"
#include "tandem/ops/view_op.h"

namespace tandem::layouts {
namespace {

/// How often each node's values are read or returned.
std::vector<int> count_uses(const Graph& g) {
  g.number();
  std::vector<int> uses(g.nodes.size(), 0);
  for (const NodePtr& n : g.nodes)
    for (uint32_t k = 0; k < n->n_inputs; ++k) ++uses[n->inputs()[k].node->walk_slot];
  for (const Edge& e : g.outputs) ++uses[e.node->walk_slot];
  return uses;
}

Edge map(Rewriter& r, const char* op, const Edge& a, const Edge& b) {
  if (op[0] == 'm') return r.add(*find_op(op), {a, b});
  return r.add(*find_op(op), {a, b}, MapAttrs{1});
}

/// A convolution with the norm in it; empty if the node is no such norm.
Edge folded(Rewriter& r, const Node& n, const std::vector<int>& uses) {
  if (n.op != &kBatchNormalize) return {};
  const auto& attrs = n.attrs().as<NormalizeAttrs>();
  const Node& conv = *n.inputs()[0].node;
  if (attrs.training || attrs.blocked || conv.op != &kConvForward || r.is_new(conv) ||
      uses[conv.walk_slot] != 1)
    return {};
  kernels::ConvForm form;
  kernels::WeightOrder order;
  if (!can_block(conv, &form, &order)) return {};
  for (uint32_t k = 0; k < n.n_inputs; ++k)
    if (type_of(n.inputs()[k]).dtype != kFloat) return {};
  const Edge &mean = n.inputs()[1], &w = conv.inputs()[1];
  const Edge scale = n.n_inputs > 3 ? map(r, "mul", n.inputs()[2], n.inputs()[3]) : n.inputs()[2];
  const Edge by_row = r.add(kView, {scale}, ViewAttrs{{form.out_channels, 1, 1, 1}});
  const Edge weight = map(r, "mul", w, by_row);
  // bias + (own bias - mean) * scale.
  Edge bias =
      conv.n_inputs > 2 ? map(r, "sub", conv.inputs()[2], mean) : r.add(*find_op("neg"), {mean});
  bias = map(r, "mul", bias, scale);
  if (n.n_inputs > 4) bias = map(r, "add", bias, n.inputs()[4]);
  return r.add(kConvForward, {conv.inputs()[0], weight, bias}, conv.attrs());
}

bool is_blocked_conv(const Node& n) { return n.op == &kBlockedConv || n.op == &kBlockedConvAdd; }

/// The convolution that ends with what the node does; empty if there is none.
Edge joined(Rewriter& r, const Node& n, std::vector<int>& uses) {
  const auto once = [&](const Node& conv) { return uses[conv.walk_slot] == 1; };
  const auto remember = [&](const Edge& e) {
    uses.resize(e.node->walk_slot + 1, 0);
    uses[e.node->walk_slot] = uses[n.walk_slot];
    return e;
  };
  if (n.op->map == MapFn::relu) {
    const Node& conv = *n.inputs()[0].node;
    if (!is_blocked_conv(conv) || !once(conv)) return {};
    BlockedConvAttrs attrs = conv.attrs().as<BlockedConvAttrs>();
    if (attrs.relu) return {};
    attrs.relu = true;
    return remember(r.add(*conv.op, {conv.inputs(), conv.n_inputs}, attrs));
  }
  if (n.op->map == MapFn::add && n.n_inputs == 2 && n.attrs().as<MapAttrs>().a == 1) {
    for (const int k : {0, 1}) {
      const Node& conv = *n.inputs()[k].node;
      const Edge& other = n.inputs()[1 - k];
      if (conv.op != &kBlockedConv || !once(conv) || conv.attrs().as<BlockedConvAttrs>().relu ||
          !same_type(type_of(other), conv.outputs()[0]))
        continue;
      SmallVector<Edge, 4> inputs{other};
      for (uint32_t i = 0; i < conv.n_inputs; ++i) inputs.push_back(conv.inputs()[i]);
      return remember(r.add(kBlockedConvAdd, inputs, conv.attrs()));
    }
  }
  return {};
}

}  // namespace

Graph fold_norms(Graph g) {
  const std::vector<int> uses = count_uses(g);
  Rewriter r(std::move(g));
  for (const NodePtr& n : r.nodes()) {
    r.enter(*n);
    const Edge value = folded(r, *n, uses);
    if (!value.node || !r.replace(*n, value)) r.keep(*n);
  }
  return r.finish();
}

Graph join_ends(Graph g) {
  std::vector<int> uses = count_uses(g);
  Rewriter r(std::move(g));
  for (const NodePtr& n : r.nodes()) {
    r.enter(*n);
    const Edge value = joined(r, *n, uses);
    if (!value.node || !r.replace(*n, value)) r.keep(*n);
  }
  return r.finish();
}

}  // namespace tandem::layouts
