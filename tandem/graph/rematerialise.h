#pragma once

#include "tandem/core/graph.h"

namespace tandem {

/// Forgets what is cheap to make again, where that makes room.
///
/// Backward reads much of what forward made, so that it all waits in memory until then. Some of it
/// is only a pointwise function of other values that wait as well: what a norm and a relu made of a
/// convolution's result, for example, beside that result. Such a value is forgotten after its last
/// reader before the moment at which the most memory is in use, and made again, by the same kernel
/// from the same values, hence with the same bits, for its first reader after that.
///
/// One more pass over a value is a small part of what the layer around it takes, and only values
/// that are a noticeable part of a noticeable peak are worth it. Comes last: the order of the nodes
/// decides what is alive when.
Graph rematerialise(Graph g);

}  // namespace tandem
