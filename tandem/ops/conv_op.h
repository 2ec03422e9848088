#pragma once

#include "tandem/core/op.h"
#include "tandem/kernels/conv.h"

namespace tandem {

/// How x, weight and y of a convolution belong together. One number for each spatial dimension.
struct ConvAttrs {
  Dims stride, padding, padding_end, dilation;  // padded in front by `padding`
  int64_t groups = 1;
  Dims sizes;  // of x for conv_input, of the kernel for conv_weight; else empty
  TANDEM_FIELDS(stride, padding, padding_end, dilation, groups, sizes)
};

/// The three parts of a convolution: each from the other two, and hence each other's gradients. A
/// transposed convolution is conv_input.
extern const OpDef kConvForward;  // y from x, weight and perhaps bias
extern const OpDef kConvInput;    // x from y, weight and perhaps a bias for x
extern const OpDef kConvWeight;   // weight from x and y

/// The convolution as kernels see it, from the shapes of all three.
kernels::ConvForm conv_form(const ConvAttrs& a, IntArrayRef x, IntArrayRef weight, IntArrayRef y);

/// The rules for vmap; ops/conv_batch.cpp.
void conv_forward_batch(const BatchArgs& a);
void conv_input_batch(const BatchArgs& a);
void conv_weight_batch(const BatchArgs& a);

/// Attributes of im2col and, with the size of x, of col2im.
struct ColumnAttrs {
  Dims kernel, dilation, padding, stride, sizes;
  TANDEM_FIELDS(kernel, dilation, padding, stride, sizes)
};

}  // namespace tandem
