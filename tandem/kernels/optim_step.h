#pragma once

#include "tandem/core/shape.h"

/// One step of an optimiser for a list of tensors, in one pass over all their elements.
namespace tandem::kernels {

/// How a step changes an element, by name of the optimiser.
enum class StepRule : uint8_t { sgd, adam, rmsprop, adagrad, lion };

inline constexpr int kMaxStepState = 3;  // tensors that a rule remembers

/// What a rule needs to know beside the elements. Computed in double; the loops round it to the
/// type that they compute in. Unused members do not matter.
struct StepNumbers {
  double rate = 0;    // what the update is multiplied with
  double decay = 0;   // added to the gradient, times the parameter
  double shrink = 1;  // the parameter is multiplied with it before anything else
  double beta1 = 0, rest1 = 0, beta2 = 0, rest2 = 0;  // the weights of two running averages
  double eps = 0;
  double correction = 1;  // Adam divides the root of its second average by it
  bool decays = false, shrinks = false;
  bool first = false;     // sgd: the momentum begins as the gradient
  bool nesterov = false;  // sgd
  bool averages = false;  // rmsprop: state 1 is the average of the gradient
  bool momentum = false;  // rmsprop: the last state is a momentum
};

/// One tensor of the list. Outputs may be the same memory as the inputs of the same name.
struct StepTensor {
  const Array *grad, *param, *state[kMaxStepState];
  const Array *param_out, *state_out[kMaxStepState];
  const StepNumbers* numbers;
};

/// All arrays of one tensor have the same shape and the same floating point dtype.
void step_list(StepRule rule, int n_state, const StepTensor* tensors, int64_t count);

}  // namespace tandem::kernels
