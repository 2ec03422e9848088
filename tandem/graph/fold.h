#pragma once

#include "tandem/core/graph.h"

namespace tandem {

/// Constant folding: what depends on constants alone is computed now, once.
///
/// Programs work out scales, masks and steps from plain numbers. A value that is the same
/// everywhere (a `full`, a number) stays one: a pointwise op or a view of such values is again a
/// `full`, however large, so that nothing is stored and the fuser sees a number. Other results
/// become constants if they are small. Ops that look at values and may refuse them are left to the
/// run, which reports what they find.
Graph fold(Graph g);

}  // namespace tandem
