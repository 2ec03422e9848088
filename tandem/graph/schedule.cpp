#include "tandem/graph/schedule.h"

#include <algorithm>
#include <vector>

namespace tandem {
namespace {

/// Sizes and readers of values, seen through views: a view keeps alive what it lies in.
class Lives {
 public:
  explicit Lives(const Graph& g) : g_(g), bytes_(g.nodes.size(), 0), owner_(g.nodes.size()) {
    g.number();
    readers_.resize(g.nodes.size());
    for (size_t i = 0; i < g.nodes.size(); ++i) {
      const Node& n = *g.nodes[i];
      owner_[i] = n.op->is_view() ? owner_[n.inputs()[0].node->walk_slot] : i;
      if (owner_[i] == i && n.op != &kInputOp && n.op != &kConstantOp)
        for (uint32_t k = 0; k < n.n_outputs; ++k)
          bytes_[i] +=
              numel_of(n.outputs()[k].sizes) * static_cast<int64_t>(size_of(n.outputs()[k].dtype));
      for (uint32_t k = 0; k < n.n_inputs; ++k) {
        auto& readers = readers_[owner_[n.inputs()[k].node->walk_slot]];
        if (readers.empty() || readers.back() != i) readers.push_back(i);
      }
    }
    // Results stay: one reader that never runs.
    for (const Edge& e : g.outputs) readers_[owner_[e.node->walk_slot]].push_back(g.nodes.size());
  }

  int64_t bytes(size_t i) const { return bytes_[i]; }
  size_t readers(size_t i) const { return readers_[i].size(); }

  // Calls fn(value) for each different value in whose memory node i reads.
  template <class F>
  void for_reads(size_t i, const F& fn) const {
    const Node& n = *g_.nodes[i];
    for (uint32_t k = 0; k < n.n_inputs; ++k) {
      const size_t value = owner_[n.inputs()[k].node->walk_slot];
      bool seen = false;
      for (uint32_t j = 0; j < k && !seen; ++j)
        seen = owner_[n.inputs()[j].node->walk_slot] == value;
      if (!seen) fn(value);
    }
  }

 private:
  const Graph& g_;
  std::vector<int64_t> bytes_;
  std::vector<size_t> owner_;  // by node: the node whose memory its result lies in
  std::vector<std::vector<size_t>> readers_;
};

int64_t peak_of(const Graph& g, const Lives& lives, const std::vector<size_t>& order) {
  std::vector<size_t> left(g.nodes.size());
  for (size_t i = 0; i < left.size(); ++i) left[i] = lives.readers(i);
  int64_t alive = 0, peak = 0;
  for (size_t i : order) {
    alive += lives.bytes(i);
    peak = std::max(peak, alive);
    lives.for_reads(i, [&](size_t value) {
      if (--left[value] == 0) alive -= lives.bytes(value);
    });
    if (left[i] == 0) alive -= lives.bytes(i);
  }
  return peak;
}

}  // namespace

int64_t peak_bytes(const Graph& g) {
  const Lives lives(g);
  std::vector<size_t> order(g.nodes.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  return peak_of(g, lives, order);
}

Graph schedule(Graph g) {
  const size_t n = g.nodes.size();
  const Lives lives(g);
  // Impure nodes keep their order among each other: each waits for the one before.
  std::vector<size_t> waiting(n, 0), left(n);
  std::vector<std::vector<size_t>> next(n);
  size_t last_impure = n;
  for (size_t i = 0; i < n; ++i) {
    const Node& node = *g.nodes[i];
    left[i] = lives.readers(i);
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

  std::vector<size_t> given(n);
  for (size_t i = 0; i < n; ++i) given[i] = i;
  if (peak_of(g, lives, order) >= peak_of(g, lives, given)) return g;
  std::vector<NodePtr> nodes;
  nodes.reserve(n);
  for (size_t i : order) nodes.push_back(std::move(g.nodes[i]));
  g.nodes = std::move(nodes);
  return g;
}

}  // namespace tandem
