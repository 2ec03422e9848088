#include "tandem/graph/fuse_expand.h"

#include <algorithm>
#include <unordered_map>

#include "tandem/core/recorder.h"

namespace tandem::fusing {
namespace {

/// Records one composite on inputs of given types.
class Composite final : public Recorder {
 public:
  /// What the op is made of; its inputs are the graph's. No nodes: it looked at values, or at
  /// tensors from elsewhere, and stays as it is.
  static Graph of(const Node& n) {
    Composite recorder;
    recorder.run(n);
    return std::move(recorder.graph_);
  }

  void look(TensorImpl*, const char* call) override {
    TANDEM_ASSERT(false, "decompose: a composite calls ", call, ", which looks at values");
  }
  void look(const OpDef& op) override {
    TANDEM_ASSERT(false, "decompose: a composite calls ", op.name,
                  ", the shape of whose result depends on values");
  }

 private:
  void run(const Node& n) {
    const NoGradGuard no_grad;
    const RecorderScope scope(this);
    std::vector<Tensor> inputs, outputs(n.n_outputs);
    for (uint32_t k = 0; k < n.n_inputs; ++k) {
      const Edge& e = n.inputs()[k];
      inputs.push_back(placeholder(e.node->outputs()[e.index]));
    }
    n.op->decompose(
        {*n.op, inputs.data(), static_cast<int>(n.n_inputs), n.attrs(), outputs.data()});
    for (uint32_t k = 0; k < n.n_outputs; ++k) {
      const Edge e = value_of(outputs[k].impl());
      TANDEM_ASSERT(e.node->outputs()[e.index] == n.outputs()[k], "decompose: ", n.op->name,
                    " gives ", n.outputs()[k], ", what it is made of ", e.node->outputs()[e.index]);
      graph_.outputs.push_back(e);
    }
    graph_.inputs = arguments_;
    if (!captured_.empty()) graph_ = Graph();
  }
};

// Composites may reduce over dimensions that kernels of nothing never look at.
bool is_empty(const Node& n) {
  for (uint32_t k = 0; k < n.n_inputs; ++k) {
    const Edge& e = n.inputs()[k];
    if (numel_of(e.node->outputs()[e.index].sizes) == 0) return true;
  }
  return false;
}

class Expander {
 public:
  Expander(const Graph& g, const std::vector<bool>& keep) : g_(g), keep_(keep) {}

  Expanded run() {
    g_.number();
    values_.resize(g_.nodes.size());
    for (const NodePtr& n : g_.nodes) {
      SmallVector<Edge, 4> inputs;
      for (uint32_t k = 0; k < n->n_inputs; ++k) inputs.push_back(moved(n->inputs()[k]));
      const int number = static_cast<int>(n->walk_slot);
      if (n->op->decompose && !keep_[n->walk_slot] && !is_empty(*n)) {
        const Graph parts = Composite::of(*n);
        if (!parts.nodes.empty()) {
          splice(parts, inputs, number);
          continue;
        }
      }
      const NodePtr copy = add(*n, inputs, -1);
      for (uint32_t k = 0; k < n->n_outputs; ++k) values_[n->walk_slot].push_back({copy, k});
    }
    Graph& out = out_.graph;
    for (const NodePtr& n : g_.inputs) out.inputs.push_back(values_[n->walk_slot][0].node);
    for (const Edge& e : g_.outputs) out.outputs.push_back(moved(e));
    out.captured = g_.captured;
    out.writes = g_.writes;
    out.n_results = g_.n_results;
    return std::move(out_);
  }

 private:
  const Edge& moved(const Edge& e) const { return values_[e.node->walk_slot][e.index]; }

  NodePtr add(const Node& n, ArrayRef<Edge> inputs, int composite) {
    NodePtr copy = Node::make(*n.op, inputs.size(), n.n_outputs, 0, n.attrs());
    for (size_t k = 0; k < inputs.size(); ++k) copy->inputs()[k] = inputs[k];
    for (uint32_t k = 0; k < n.n_outputs; ++k) copy->outputs()[k] = n.outputs()[k];
    out_.graph.nodes.push_back(copy);
    out_.composite.push_back(composite);
    return copy;
  }

  void splice(const Graph& parts, ArrayRef<Edge> inputs, int number) {
    std::unordered_map<const Node*, NodePtr> made;
    const auto value = [&](const Edge& e) -> Edge {
      for (size_t k = 0; k < inputs.size(); ++k)
        if (parts.inputs[k] == e.node) return inputs[k];
      return {made.at(e.node.get()), e.index};
    };
    // Only what leads to the outputs.
    parts.number();
    std::vector<bool> live(parts.nodes.size(), false);
    for (const Edge& e : parts.outputs) live[e.node->walk_slot] = true;
    for (size_t i = parts.nodes.size(); i-- > 0;)
      for (uint32_t k = 0; live[i] && k < parts.nodes[i]->n_inputs; ++k)
        live[parts.nodes[i]->inputs()[k].node->walk_slot] = true;
    for (const NodePtr& n : parts.nodes) {
      if (n->op == &kInputOp || !live[n->walk_slot]) continue;
      SmallVector<Edge, 4> edges;
      for (uint32_t k = 0; k < n->n_inputs; ++k) edges.push_back(value(n->inputs()[k]));
      made[n.get()] = add(*n, edges, number);
    }
    for (const Edge& e : parts.outputs) values_[static_cast<size_t>(number)].push_back(value(e));
  }

  const Graph& g_;
  const std::vector<bool>& keep_;
  Expanded out_;
  std::vector<SmallVector<Edge, 1>> values_;  // by node of g_: its outputs in the new graph
};

}  // namespace

bool has_composites(const Graph& g) {
  return std::any_of(g.nodes.begin(), g.nodes.end(),
                     [](const NodePtr& n) { return n->op->decompose != nullptr; });
}

Expanded expand(const Graph& g, const std::vector<bool>& keep) { return Expander(g, keep).run(); }

}  // namespace tandem::fusing
