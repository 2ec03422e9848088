#include "tandem/graph/rewrite.h"

namespace tandem {

const Node* memory_of(const Node* n) {
  while (n->op->view) n = n->inputs()[0].node.get();
  return n;
}

Rewriter::Rewriter(Graph g) : g_(std::move(g)), old_(std::move(g_.nodes)) {
  for (size_t i = 0; i < old_.size(); ++i) old_[i]->walk_slot = static_cast<uint32_t>(i);
  stands_for_.resize(old_.size());
  seen_.resize(old_.size());
  kept_.reserve(old_.size());
  for (const Edge& e : g_.outputs) mark_seen(e.node.get());
}

void Rewriter::mark_seen(const Node* n) {
  for (seen_[n->walk_slot] = true; n->op->view; seen_[n->walk_slot] = true)
    n = n->inputs()[0].node.get();
}

Edge Rewriter::now(const Edge& e) const {
  const Edge& by = stands_for_[e.node->walk_slot];
  if (!by.node) return e;
  return e.node->n_outputs == 1 ? by : Edge{by.node, e.index};
}

void Rewriter::enter(Node& n) {
  for (uint32_t i = 0; i < n.n_inputs; ++i) {
    Edge& e = n.inputs()[i];
    if (stands_for_[e.node->walk_slot].node) e = now(e);
  }
}

bool Rewriter::may_stand_for(const Node& n, const Node* value) const {
  if (!seen(n)) return true;
  const Node* to = memory_of(value);
  // A view that is a result stays a tensor of its own, in the same memory.
  if (n.op->view) return memory_of(&n) == to && value->op->view && !seen(*value);
  return !seen(*to) && to->op != &kInputOp && to->op != &kConstantOp;
}

bool Rewriter::replace(Node& n, const Edge& value) {
  TANDEM_ASSERT(n.n_outputs == 1, n.op->name, " has several outputs");
  if (!same_type(n.outputs()[0], type_of(value)) || !may_stand_for(n, value.node.get()))
    return false;
  if (seen(n)) mark_seen(value.node.get());
  stands_for_[n.walk_slot] = value;
  changed_ = true;
  return true;
}

bool Rewriter::replace_all(Node& n, Node& by) {
  if (n.n_outputs != by.n_outputs || !may_stand_for(n, &by)) return false;
  for (uint32_t k = 0; k < n.n_outputs; ++k)
    if (!same_type(n.outputs()[k], by.outputs()[k])) return false;
  if (seen(n)) mark_seen(&by);
  stands_for_[n.walk_slot] = {NodePtr(&by), 0};
  changed_ = true;
  return true;
}

Edge Rewriter::add(const OpDef& op, ArrayRef<Edge> inputs, AttrRef attrs) {
  g_.nodes.clear();
  Node& n = append(g_, op, inputs, attrs);
  n.walk_slot = static_cast<uint32_t>(stands_for_.size());
  stands_for_.emplace_back();
  seen_.push_back(false);
  kept_.push_back(NodePtr(&n));
  return {NodePtr(&n), 0};
}

Edge Rewriter::constant(const Tensor& value) {
  return add(kConstantOp, {}, ConstantAttrs{{value}});
}

Graph Rewriter::finish() {
  for (Edge& e : g_.outputs) e = now(e);
  g_.nodes = std::move(kept_);
  g_.number();
  return std::move(g_);
}

}  // namespace tandem
