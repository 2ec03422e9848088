#pragma once

#include "tests/ops/op_table.h"

namespace tandem::table {

/// Results that gradients can flow from.
List floating_only(const List& tensors);
/// Gradients of the floating results, weighted with given numbers, by the inputs that require one;
/// zeros where nothing flows.
List gradients(const List& results, const List& inputs, const List& weights, bool create_graph);
/// Numbers between 0.5 and 1.5, one for each element of each floating result.
List some_weights(const List& results);

}  // namespace tandem::table
