#pragma once

#include "tandem/core/apply.h"

namespace tandem {

/// Runs an op with several outputs and writes them over its first inputs, output k over input k.
/// The op's kernel must be one that may do so, element by element (`inplace`). For updates of many
/// tensors at once, such as an optimiser's: nothing is recorded for backward, so no input may be
/// part of what is being differentiated.
void apply_inplace_list(const OpDef& op, TensorArgs inputs, AttrRef attrs = {});

/// True iff some of these tensors share memory, or might.
bool any_shared_memory(TensorArgs tensors);

}  // namespace tandem
