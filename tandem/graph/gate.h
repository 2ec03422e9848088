#pragma once

#include "tandem/core/graph.h"

namespace tandem {

/// The gradient of a batch norm with a ReLU behind it reads the gradient that came through the ReLU
/// twice: in the sums over channels, and where they are used. Made once it is a pass that writes
/// and two that read. Here both find out by themselves from the norm's input, which they read
/// anyway, where the ReLU let something through; nothing is written in between.
Graph gate_norms(Graph g);

}  // namespace tandem
