#include "tandem/graph/lives.h"

#include <numeric>

namespace tandem {

Lives::Lives(const Graph& g) : bytes_(g.nodes.size(), 0), owner_(g.nodes.size()) {
  g.number();
  readers_.resize(g.nodes.size());
  reads_.resize(g.nodes.size());
  for (size_t i = 0; i < g.nodes.size(); ++i) {
    const Node& n = *g.nodes[i];
    owner_[i] = n.op->is_view() ? owner_[n.inputs()[0].node->walk_slot] : i;
    if (owner_[i] == i && n.op != &kInputOp && n.op != &kConstantOp)
      for (uint32_t k = 0; k < n.n_outputs; ++k)
        bytes_[i] +=
            numel_of(n.outputs()[k].sizes) * static_cast<int64_t>(size_of(n.outputs()[k].dtype));
    for (uint32_t k = 0; k < n.n_inputs; ++k) {
      const size_t value = owner_[n.inputs()[k].node->walk_slot];
      auto& readers = readers_[value];
      if (!readers.empty() && readers.back() == i) continue;
      readers.push_back(i);
      reads_[i].push_back(value);
    }
  }
  for (const Edge& e : g.outputs) readers_[owner_[e.node->walk_slot]].push_back(g.nodes.size());
}

Lives::Peak Lives::peak_of(const std::vector<size_t>& order) const {
  std::vector<size_t> left(readers_.size());
  for (size_t i = 0; i < left.size(); ++i) left[i] = readers_[i].size();
  int64_t alive = 0;
  Peak peak;
  for (size_t at = 0; at < order.size(); ++at) {
    const size_t i = order[at];
    alive += bytes_[i];
    if (alive > peak.bytes) peak = {alive, at};
    for (const size_t value : reads_[i])
      if (--left[value] == 0) alive -= bytes_[value];
    if (left[i] == 0) alive -= bytes_[i];
  }
  return peak;
}

Lives::Peak Lives::peak() const {
  std::vector<size_t> order(readers_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  return peak_of(order);
}

}  // namespace tandem
