#pragma once

#include "tandem/core/op.h"
#include "tandem/kernels/reduce_rows.h"
#include "tandem/runtime/executor.h"

namespace tandem::runtime {

/// One step with everything that it needs in place.
struct Executor::Call {
  KernelArgs args;
  Loop* loop = nullptr;  // of a fused step, with what its kernel is called with
  LoopCall loop_call = {};
  const KernelArgs* product = nullptr;  // what comes before the loop, where something does
  bool kept = false;                    // True iff the step is left out while that is valid.
};

}  // namespace tandem::runtime
