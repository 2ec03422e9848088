#include "tandem/graph/schedule.h"

#include <vector>

#include "tandem/graph/lives.h"

namespace tandem {

int64_t peak_bytes(const Graph& g) { return Lives(g).peak().bytes; }

Graph schedule(Graph g) {
  const size_t n = g.nodes.size();
  const Lives lives(g);
  // Impure nodes keep their order among each other: each waits for the one before.
  std::vector<size_t> waiting(n, 0), left(n);
  std::vector<std::vector<size_t>> next(n);
  size_t last_impure = n;
  for (size_t i = 0; i < n; ++i) {
    const Node& node = *g.nodes[i];
    left[i] = lives.readers(i).size();
    for (uint32_t k = 0; k < node.n_inputs; ++k) {
      next[node.inputs()[k].node->walk_slot].push_back(i);
      ++waiting[i];
    }
    if (!node.op->impure) continue;
    if (last_impure < n) {
      next[last_impure].push_back(i);
      ++waiting[i];
    }
    last_impure = i;
  }

  std::vector<size_t> ready, order;
  order.reserve(n);
  for (size_t i = 0; i < n; ++i)
    if (waiting[i] == 0) ready.push_back(i);
  while (!ready.empty()) {
    size_t best = 0;
    int64_t best_growth = 0;
    for (size_t r = 0; r < ready.size(); ++r) {
      int64_t growth = lives.bytes(ready[r]);
      lives.for_reads(ready[r], [&](size_t value) {
        if (left[value] == 1) growth -= lives.bytes(value);
      });
      if (r == 0 || growth < best_growth || (growth == best_growth && ready[r] < ready[best])) {
        best = r;
        best_growth = growth;
      }
    }
    const size_t i = ready[best];
    ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(best));
    order.push_back(i);
    lives.for_reads(i, [&](size_t value) { --left[value]; });
    for (size_t k : next[i])
      if (--waiting[k] == 0) ready.push_back(k);
  }
  TANDEM_ASSERT(order.size() == n, "schedule: the graph's nodes depend on each other in a ring");

  if (lives.peak_of(order).bytes >= lives.peak().bytes) return g;
  std::vector<NodePtr> nodes;
  nodes.reserve(n);
  for (size_t i : order) nodes.push_back(std::move(g.nodes[i]));
  g.nodes = std::move(nodes);
  return g;
}

}  // namespace tandem
