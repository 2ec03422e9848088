#pragma once

#include "tandem/kernels/optim_step.h"

namespace tandem::kernels {

/// Where the elements of one tensor, or of a part of it, are, one after the other.
template <class T>
struct StepStreams {
  const T* grad;
  const T* param;
  const T* state[kMaxStepState];
  T* param_out;
  T* state_out[kMaxStepState];
};

template <class T>
using StepLoop = void (*)(const StepStreams<T>& streams, int64_t n, const StepNumbers& numbers);

/// The loop for float or double.
template <class T>
StepLoop<T> step_loop(StepRule rule, int n_state);

}  // namespace tandem::kernels
