#pragma once

#include "tandem/core/graph.h"

namespace tandem {

/// Checks a graph against the rules it was built by: nodes in order, edges to outputs that exist,
/// inputs, captured tensors and writes that fit together, and for every node the types that its
/// op's infer gives for its inputs today.
///
/// Run after every pass in debug builds and when TANDEM_VERIFY=1. A graph that fails was made by a
/// mistake of ours: throws std::logic_error, which names the node and who made the graph (`pass`).
void verify(const Graph& g, const char* pass = "verify");

}  // namespace tandem
