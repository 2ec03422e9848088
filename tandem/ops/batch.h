#pragma once

#include <string>
#include <vector>

#include "tandem/core/apply.h"

namespace tandem {

/// Runs an op for `size` samples at once by its batching rule. The samples lie along dimension 0 of
/// the inputs that are batched, and of all outputs.
void apply_batched(const OpDef& op, ArrayRef<Tensor> inputs, const bool* batched, int64_t size,
                   AttrRef attrs, Tensor* outputs);

/// Names of the ops that have run one sample after the other in this process because they have no
/// rule that takes all at once.
std::vector<std::string> batch_fallbacks();

}  // namespace tandem
