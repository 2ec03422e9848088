#pragma once

#include "tandem/core/graph.h"

namespace tandem {

/// Algebra: replaces nodes by simpler ones that give the same bits.
///
/// Gradients are written for the general case and multiply by one, sum what was never spread and
/// convert to the type that is there; recording turns writes through views into copies of the
/// whole. Only what holds for every float is used: x * 1 is x, but x + 0 is not where x is -0.0,
/// and x * 0 is not where x is infinite.
///
/// The one pass that knows ops by name.
Graph simplify(Graph g);

}  // namespace tandem
