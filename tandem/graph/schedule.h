#pragma once

#include "tandem/core/graph.h"

namespace tandem {

/// Puts the nodes in an order that needs little memory: of the nodes that could come next, the one
/// that frees the most, or takes the least. Backward recorded after forward leaves many values
/// waiting that could have been used and freed at once (a gradient's update, for example, as soon
/// as it is known). Between equals the recorded order stays, so that the result is the same in
/// every process.
///
/// If the order found needs no less than the one given, the one given stays.
Graph schedule(Graph g);

/// The most bytes that are alive at once when the nodes run in their order: what each makes, until
/// its last reader has run. Inputs and constants are not counted, results to the end.
int64_t peak_bytes(const Graph& g);

}  // namespace tandem
