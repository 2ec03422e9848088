#pragma once

#include "tandem/core/tensor.h"

/// One step of an optimiser for a list of tensors at once, as ops: what tandem::optim is made of.
///
/// Everything that may change from one step to the next is a tensor, so that a recorded program
/// reads it anew in every run: numbers are float64 and counters int64, both without dimensions.
/// The functions that end in an underscore write over the parameters, counters and state that they
/// are given; the others return the new values: of the counters, of the parameters, and of each
/// list of state.
namespace tandem {

/// What is updated: lists of the same length.
struct StepTensors {
  TensorList params, grads;
  TensorList steps = {};  // how many steps each parameter has made; may be left out if not needed
  SmallVector<TensorList, 3> state = {};  // what the rule remembers of each parameter
};

/// state: nothing, or the momentum; with it, steps tell the first one, which begins the momentum.
struct SGDNumbers {
  Tensor lr, momentum, dampening, weight_decay;
};
void sgd_step_(const StepTensors& t, const SGDNumbers& numbers, bool nesterov = false);
std::vector<Tensor> sgd_step(const StepTensors& t, const SGDNumbers& numbers,
                             bool nesterov = false);

/// state: averages of the gradient and of its square; and for AMSGrad the largest of the latter.
struct AdamNumbers {
  Tensor lr, beta1, beta2, eps, weight_decay;
};
/// `decoupled`: AdamW's weight decay, which does not go through the averages.
void adam_step_(const StepTensors& t, const AdamNumbers& numbers, bool decoupled = false);
std::vector<Tensor> adam_step(const StepTensors& t, const AdamNumbers& numbers,
                              bool decoupled = false);

/// state: the average of the square; if `centered`, that of the gradient; with momentum, that.
struct RMSpropNumbers {
  Tensor lr, alpha, eps, weight_decay, momentum;
};
void rmsprop_step_(const StepTensors& t, const RMSpropNumbers& numbers, bool centered = false);
std::vector<Tensor> rmsprop_step(const StepTensors& t, const RMSpropNumbers& numbers,
                                 bool centered = false);

/// state: the sum of the squares.
struct AdagradNumbers {
  Tensor lr, lr_decay, weight_decay, eps;
};
void adagrad_step_(const StepTensors& t, const AdagradNumbers& numbers);
std::vector<Tensor> adagrad_step(const StepTensors& t, const AdagradNumbers& numbers);

/// state: the average of the gradient.
struct LionNumbers {
  Tensor lr, beta1, beta2, weight_decay;
};
void lion_step_(const StepTensors& t, const LionNumbers& numbers);
std::vector<Tensor> lion_step(const StepTensors& t, const LionNumbers& numbers);

}  // namespace tandem
