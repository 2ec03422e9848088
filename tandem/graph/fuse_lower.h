#pragma once

#include "tandem/core/fused.h"
#include "tandem/graph/fuse_groups.h"

namespace tandem::fusing {

/// What becomes of a group: its kernel as data, and what the fused node reads and gives.
struct Lowered {
  std::shared_ptr<FusedGroup> group;
  std::vector<Edge> inputs;  // values of the graph, in the order of the body's inputs
  std::vector<Tensor>
      numbers;               // the body's other inputs: single values that kernels are not made for
  std::vector<int> outputs;  // nodes whose results are needed outside, in the order of the body's
};

/// Turns a group into a loop nest and a body. `needed` are the members whose results leave it.
Lowered lower(const Graph& g, const Analysis& analysis, const Grouping& grouping, int group,
              const std::vector<int>& needed);

}  // namespace tandem::fusing
