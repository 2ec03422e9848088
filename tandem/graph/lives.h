#pragma once

#include <vector>

#include "tandem/core/graph.h"

namespace tandem {

/// Sizes and readers of values, seen through views: a view keeps alive what it lies in. Values and
/// nodes are numbered by their position in the graph, which must not change meanwhile; all outputs
/// of a node count as one value.
class Lives {
 public:
  explicit Lives(const Graph& g);

  /// What the node's outputs take; 0 for views, inputs and constants.
  int64_t bytes(size_t i) const { return bytes_[i]; }
  /// The node whose memory the result of node i lies in.
  size_t owner(size_t i) const { return owner_[i]; }
  /// Positions of the nodes that read in the memory of i, in order. For results the last one is the
  /// number of nodes: a reader that never runs.
  const std::vector<size_t>& readers(size_t i) const { return readers_[i]; }

  /// Calls fn(value) for each different value in whose memory node i reads.
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

  /// The most bytes that are alive at once when the nodes run in this order, and when that is: a
  /// position in `order`.
  struct Peak {
    int64_t bytes = 0;
    size_t at = 0;
  };
  Peak peak_of(const std::vector<size_t>& order) const;
  /// The same for the order that the graph has.
  Peak peak() const;

 private:
  const Graph& g_;
  std::vector<int64_t> bytes_;
  std::vector<size_t> owner_;
  std::vector<std::vector<size_t>> readers_;
};

}  // namespace tandem
