#pragma once

#include <vector>

#include "tandem/core/graph.h"

namespace tandem::fusing {

/// A graph in which ops that have a kernel of their own for eager speed are what they are made of
/// (OpDef::decompose), so that their parts can join their neighbours.
struct Expanded {
  Graph graph;
  std::vector<int> composite;  // by node: the number of the node that it is part of; -1 if of none
};

/// True iff the graph has such an op.
bool has_composites(const Graph& g);
/// Nodes i of g with keep[i] stay what they are.
Expanded expand(const Graph& g, const std::vector<bool>& keep);

}  // namespace tandem::fusing
