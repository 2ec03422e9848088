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
  /// A matrix product that members read, each at its own elements; -1: none. The product is no
  /// member.
  int product = -1;
  /// Where only members read it, one whose result has its type and is needed outside; else -1: the
  /// product is itself a result of the group.
  int product_into = -1;
  /// Reductions over the rows of members, or of values that members read (Kind::across), all of as
  /// many columns and of one dtype: results of the group, but no members.
  std::vector<int> sums;
};

struct Grouping {
  std::vector<Group> groups;  // of two members or more, or with a product or sums; by last member
  /// By node: the group that it is a member of, or a result of as a product or sum; -1: none.
  std::vector<int> group_of;
  std::vector<Level> levels;  // by node: of its result in its group
};

/// Finds groups: greedy, in the order of the nodes, without cycles between groups.
Grouping find_groups(const Graph& g, const Analysis& analysis);

}  // namespace tandem::fusing
