#pragma once

#include "tandem/core/graph.h"

namespace tandem {

/// Dead code: drops nodes whose values nobody reads.
///
/// Recording keeps everything that a function does, and other passes leave behind what they have
/// found a way around. Inputs stay, for callers count on them, and so do ops that do more than
/// compute their result.
Graph dce(Graph g);

}  // namespace tandem
