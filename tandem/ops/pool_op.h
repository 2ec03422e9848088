#pragma once

#include "tandem/core/op.h"

// The pooling ops. They pool the last dimensions of their input, as many as `kernel` (or `output`)
// has numbers, for any number of dimensions before. With channels_inner > 1 the very last dimension
// holds that many channels side by side, behind the pooled ones: [samples, channels / 8, rows,
// columns, 8].
namespace tandem {

struct MaxPoolAttrs {
  Dims kernel, stride, padding, dilation;
  bool ceil_mode = false;
  /// True: indices are int64 and count within a plane. False: uint8, within the window.
  bool plane_index = true;
  int64_t channels_inner = 1;
  TANDEM_FIELDS(kernel, stride, padding, dilation, ceil_mode, plane_index, channels_inner)
};

/// Of ops that follow indices. Those that count within a plane need no more than `input`.
struct PoolIndexAttrs {
  Dims input;  // extents of what was pooled
  Dims kernel, stride, padding, dilation;
  int64_t channels_inner = 1;
  TANDEM_FIELDS(input, kernel, stride, padding, dilation, channels_inner)
};

struct AvgPoolAttrs {
  Dims input;  // extents of what was pooled; empty in the forward op
  Dims kernel, stride, padding;
  bool ceil_mode = false;
  bool count_include_pad = true;
  std::optional<int64_t> divisor_override;
  int64_t channels_inner = 1;
  TANDEM_FIELDS(input, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override,
                channels_inner)
};

struct AdaptivePoolAttrs {
  Dims input;  // extents of what was pooled; empty in the forward ops
  Dims output;
  int64_t channels_inner = 1;
  TANDEM_FIELDS(input, output, channels_inner)
};

struct FractionalPoolAttrs {
  Dims kernel, output;
  TANDEM_FIELDS(kernel, output)
};

/// x -> values, indices.
extern const OpDef kMaxPool;
extern const OpDef kAdaptiveMaxPool;
/// x, random numbers -> values, indices.
extern const OpDef kFractionalMaxPool;
/// gradient, indices -> gradient by what was pooled: each element added where its index points.
extern const OpDef kMaxPoolBackward;
/// x, indices -> the elements of x that the indices point to.
extern const OpDef kMaxPoolGather;
extern const OpDef kAvgPool;
extern const OpDef kAvgPoolBackward;
extern const OpDef kAdaptiveAvgPool;
extern const OpDef kAdaptiveAvgPoolBackward;

}  // namespace tandem
