#pragma once

#include <vector>

#include "tandem/graph/fuse_rules.h"

namespace tandem::fusing {

/// Nodes that one kernel computes. It walks `numel` elements in rows of `columns`.
struct Group {
  std::vector<int> members;  // numbers of nodes, rising
  int64_t numel = 0;
  int64_t columns = 0;  // 0: there are no values by row
  Cuts cuts;
  /// A matrix product that only members read, each at its own elements, and the member whose result
  /// has its type and is needed outside; -1: none. The product is no member.
  int product = -1;
  int product_into = -1;
};

struct Grouping {
  std::vector<Group> groups;  // of two members or more, or with a product; by last member
  std::vector<int> group_of;  // by node: its group; -1 if it has none
  std::vector<Level> levels;  // by node: of its result in its group
};

/// Finds groups: greedy, in the order of the nodes, without cycles between groups.
Grouping find_groups(const Graph& g, const Analysis& analysis);

}  // namespace tandem::fusing
