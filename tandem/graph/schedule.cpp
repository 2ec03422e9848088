#include "tandem/graph/schedule.h"

#include <queue>
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

  // By how much memory grows if the node is next. It changes when of all readers of a value one is
  // left: that one will free it.
  std::vector<int64_t> growth(n);
  for (size_t i = 0; i < n; ++i) {
    growth[i] = lives.bytes(i);
    for (const size_t value : lives.reads(i))
      if (left[value] == 1) growth[i] -= lives.bytes(value);
  }
  // The first is the one that grows least, then the one that came first. An entry whose growth has
  // changed since is passed over.
  using Entry = std::pair<int64_t, size_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> ready;
  std::vector<size_t> order;
  std::vector<char> done(n, false);
  order.reserve(n);
  for (size_t i = 0; i < n; ++i)
    if (waiting[i] == 0) ready.emplace(growth[i], i);
  while (!ready.empty()) {
    const auto [grows, i] = ready.top();
    ready.pop();
    if (done[i] || grows != growth[i]) continue;
    done[i] = true;
    order.push_back(i);
    for (const size_t value : lives.reads(i)) {
      if (--left[value] != 1) continue;
      for (const size_t reader : lives.readers(value)) {
        if (reader == n || done[reader]) continue;
        growth[reader] -= lives.bytes(value);
        if (waiting[reader] == 0) ready.emplace(growth[reader], reader);
      }
    }
    for (size_t k : next[i])
      if (--waiting[k] == 0) ready.emplace(growth[k], k);
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
