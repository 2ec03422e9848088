#include "tandem/core/graph.h"

#include <sstream>
#include <unordered_map>

namespace tandem {

Graph Graph::of(ArrayRef<Tensor> results) {
  Graph g;
  // 0: seen, its inputs not all placed yet; 1: placed.
  std::unordered_map<Node*, int> state;
  std::vector<std::pair<Node*, uint32_t>> stack;
  for (const Tensor& t : results) {
    if (!t.defined() || !t.requires_grad()) continue;
    g.outputs.push_back(t.impl()->edge);
    if (state.try_emplace(t.impl()->edge.node.get(), 0).second)
      stack.emplace_back(t.impl()->edge.node.get(), 0);
    while (!stack.empty()) {
      auto& [node, next] = stack.back();
      if (next == node->n_inputs) {
        g.nodes.push_back(NodePtr(node));
        stack.pop_back();
        continue;
      }
      Node* from = node->inputs()[next++].node.get();
      if (from && state.try_emplace(from, 0).second) stack.emplace_back(from, 0);
    }
  }
  return g;
}

std::string Graph::str() const {
  std::ostringstream out;
  std::unordered_map<const Node*, size_t> number;
  for (const NodePtr& n : nodes) number.emplace(n.get(), number.size());
  auto name = [&](const Edge& e) {
    if (!e.node) return std::string("_");
    std::string s = "%" + std::to_string(number.at(e.node.get()));
    if (e.node->n_outputs > 1) s += "." + std::to_string(e.index);
    return s;
  };
  for (const NodePtr& n : nodes) {
    out << '%' << number.at(n.get()) << " = " << n->op->name << '(';
    for (uint32_t i = 0; i < n->n_inputs; ++i) out << (i ? ", " : "") << name(n->inputs()[i]);
    out << ')';
    if (AttrRef a = n->attrs(); a.type) {
      out << " {";
      a.type->print(out, a.data);
      out << '}';
    }
    out << " : ";
    for (uint32_t i = 0; i < n->n_outputs; ++i) out << (i ? ", " : "") << n->outputs()[i];
    out << '\n';
  }
  out << "return ";
  for (size_t i = 0; i < outputs.size(); ++i) out << (i ? ", " : "") << name(outputs[i]);
  out << '\n';
  return out.str();
}

std::ostream& operator<<(std::ostream& out, const Graph& g) { return out << g.str(); }


}  // namespace tandem
