#pragma once

#include "tandem/core/graph.h"

namespace tandem {

/// Lets convolutions read and write the blocked layout that their loops are made for.
///
/// On its own a convolution takes plain tensors, so what it does begins and ends with a reorder of
/// everything. In a network most of that is there and back again: the next convolution, and the
/// gradients of both, want the very layout that was just left. A blocked tensor is an ordinary
/// dense one with a dimension more, [batch, channels / 8, height, width, 8], so this pass needs
/// nothing new of the rest of the system: it replaces each 2-d float32 convolution that has a fast
/// blocked loop by one on blocked tensors, lets pointwise ops, sums over channels, batch norms and
/// pooling follow in the layout of what they read, and converts where somebody wants the other one:
/// at the ends of the network. Weights are reordered once for each use of all convolutions that
/// share them.
///
/// Numbers of a channel, such as a norm's scale, are repeated along a row of the image, so that
/// what is fused afterwards walks whole rows and not eight channels at a time.
///
/// Also where convolutions end: a norm with given statistics goes into weight and bias, and a sum
/// with another tensor and a relu into the convolution.
///
/// A graph with a single convolution is left as it is: there is nothing to be saved between two. So
/// is every graph that is made under use_deterministic_algorithms(true).
Graph layout(Graph g);

}  // namespace tandem
