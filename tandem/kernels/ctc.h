#pragma once

#include <cstdint>

#include "tandem/core/shape.h"

namespace tandem::kernels {

/// Connectionist temporal classification: loss[n] = -log of the probability that the first
/// input_lengths[n] steps of log_probs [T, N, C] spell sample n's labels, summed over all
/// alignments. inf where there is none (0 if `zero_infinity`).
///
/// Labels are the first target_lengths[n] of row n of targets [N, S], or follow one another without
/// gaps in a targets of one dimension. `grad` [T, N, C] may be null: it becomes the gradient of
/// loss[n] by whatever log_probs is the log_softmax of, which is 0 beyond a sample's last step.
///
/// Lengths and labels that do not fit are refused.
void ctc_loss(const Array& log_probs, const Array& targets, const Array& input_lengths,
              const Array& target_lengths, int64_t blank, bool zero_infinity, const Array& loss,
              const Array* grad);

}  // namespace tandem::kernels
