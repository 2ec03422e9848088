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

  /// The different values in whose memory node i reads.
  const std::vector<size_t>& reads(size_t i) const { return reads_[i]; }

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
  std::vector<int64_t> bytes_;
  std::vector<size_t> owner_;
  std::vector<std::vector<size_t>> readers_, reads_;
};

}  // namespace tandem
