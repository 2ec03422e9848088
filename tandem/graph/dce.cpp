#include "tandem/graph/dce.h"

namespace tandem {

Graph dce(Graph g) {
  g.number();
  std::vector<char> live(g.nodes.size());
  for (const Edge& e : g.outputs) live[e.node->walk_slot] = true;
  size_t n_live = 0;
  for (size_t i = g.nodes.size(); i-- > 0;) {
    const Node& n = *g.nodes[i];
    live[i] |= n.op == &kInputOp || n.op->impure;
    if (!live[i]) continue;
    ++n_live;
    for (uint32_t k = 0; k < n.n_inputs; ++k) live[n.inputs()[k].node->walk_slot] = true;
  }
  if (n_live == g.nodes.size()) return g;
  std::vector<NodePtr> nodes;
  nodes.reserve(n_live);
  for (size_t i = 0; i < g.nodes.size(); ++i)
    if (live[i]) nodes.push_back(std::move(g.nodes[i]));
  g.nodes = std::move(nodes);
  g.number();
  return g;
}

}  // namespace tandem
