#pragma once

#include "tandem/core/tensor.h"
#include "tandem/ops/conv_op.h"

/// Convolutions on blocked tensors: [batch, channels / 8, height, width, 8]. Nobody calls these:
/// graph/layout puts them in the place of ordinary convolutions, so they have no gradients.
namespace tandem {

/// [N, C, H, W] to [N, C / 8, H, W, 8] and back; any dtype.
extern const OpDef kToBlocked;
extern const OpDef kFromBlocked;

struct WeightOrderAttrs {
  int64_t order = 0;  // a kernels::WeightOrder
  TANDEM_FIELDS(order)
};
/// [out, in, h, w] to an order of weights and back; float32.
extern const OpDef kToBlockedWeight;
extern const OpDef kFromBlockedWeight;

struct BlockedConvAttrs {
  Dims stride, padding, dilation;
  int64_t groups = 1;
  Dims sizes;          // of y, of x or of the kernel: whichever is computed
  int64_t order = 0;   // of the weight
  bool relu = false;   // of blocked_convolution and blocked_convolution_add
  bool plain = false;  // of blocked_convolution_weight: the weight comes out as [out, in, h, w]
  TANDEM_FIELDS(stride, padding, dilation, groups, sizes, order, relu, plain)
};
/// The parts of a convolution, as in ops/conv_op.h. x is not blocked where the order is plain_in.
extern const OpDef kBlockedConv;        // x, weight [, bias] -> y
extern const OpDef kBlockedConvAdd;     // what is added, x, weight [, bias] -> y
extern const OpDef kBlockedConvInput;   // y, weight -> x
extern const OpDef kBlockedConvWeight;  // x, y -> weight

/// The shape of [out, in, h, w] in an order of weights.
Dims blocked_weight_sizes(kernels::WeightOrder order, IntArrayRef weight);

// The ops as functions, for tests.
Tensor to_blocked(const Tensor& x);
Tensor from_blocked(const Tensor& x);
Tensor to_blocked_weight(const Tensor& w, kernels::WeightOrder order);
Tensor from_blocked_weight(const Tensor& w, kernels::WeightOrder order);

}  // namespace tandem
