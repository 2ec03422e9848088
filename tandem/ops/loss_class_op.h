#pragma once

#include "tandem/core/op.h"
#include "tandem/core/tensor.h"
#include "tandem/ops/loss.h"

namespace tandem {

struct ClassLossAttrs {
  int64_t reduction = Reduction::Mean;
  int64_t ignore_index = -100;
  double smoothing = 0;
  TANDEM_FIELDS(reduction, ignore_index, smoothing)
};

struct NllBackwardAttrs {
  int64_t reduction = Reduction::Mean;
  int64_t ignore_index = -100;
  Dims sizes;  // of what the gradient is by
  TANDEM_FIELDS(reduction, ignore_index, sizes)
};

/// x [N, C, ...], target [N, ...], weight [C] or none -> loss, logarithms of sums, total weight.
extern const OpDef kCrossEntropy;
/// Gradient by the loss, x, target, logarithms of sums, total weight, weight or none.
extern const OpDef kCrossEntropyBackward;
/// x, target, weight or none -> loss, total weight.
extern const OpDef kNllLoss;
/// Gradient by the loss, target, total weight, weight or none.
extern const OpDef kNllLossBackward;

/// In which sums of values of t are kept.
inline DType sum_dtype(DType t) { return t == kDouble ? kDouble : kFloat; }
/// The weight of each place; 0 where it does not count.
Tensor place_weights(const Tensor& target, int64_t ignore, const Tensor& weight, DType dtype);

// Rules for vmap (loss_class_batch.cpp).
void batch_class_loss(const BatchArgs& a);
void batch_cross_entropy_backward(const BatchArgs& a);
void batch_nll_loss_backward(const BatchArgs& a);
void batch_multilabel_margin_loss(const BatchArgs& a);

}  // namespace tandem
