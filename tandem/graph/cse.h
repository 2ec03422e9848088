#pragma once

#include "tandem/core/graph.h"

namespace tandem {

/// Common subexpressions: what is computed twice from the same values is computed once.
///
/// Backward computes again what forward had (the sign of an input, a broadcast, a conversion), and
/// programs repeat themselves. Random ops, and ops that do more than compute their result, are left
/// alone.
Graph cse(Graph g);

}  // namespace tandem
