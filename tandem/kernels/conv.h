#pragma once

#include <cstdint>

#include "tandem/core/dtype.h"
#include "tandem/core/shape.h"

namespace tandem::kernels {

/// One convolution of x [batch, in_channels, in...] with w [out_channels, in_channels / groups,
/// kernel...] to y [batch, out_channels, out...].
///
/// Its two gradients are told by the same form, and a transposed convolution is the gradient by x.
/// Element o of y starts at element o * stride - begin of x. `end` is what x is padded by behind
/// its last element; negative where the last elements are not reached.
struct ConvForm {
  int64_t spatial = 2;  // 1 to 3
  int64_t batch = 0, groups = 1, in_channels = 0, out_channels = 0;
  int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1}, kernel[3] = {1, 1, 1};
  int64_t stride[3] = {1, 1, 1}, begin[3] = {0, 0, 0}, end[3] = {0, 0, 0};
  int64_t dilation[3] = {1, 1, 1};

  int64_t in_numel() const { return in[0] * in[1] * in[2]; }
  int64_t out_numel() const { return out[0] * out[1] * out[2]; }
  int64_t kernel_numel() const { return kernel[0] * kernel[1] * kernel[2]; }
  friend bool operator==(const ConvForm&, const ConvForm&) = default;
};

/// Which of the three is computed from the other two.
enum class ConvPart : int64_t { y, x, w };

/// y = x * w + bias; bias may be null. All of one dtype, not bool; inputs may have any strides,
/// results are contiguous. 16-bit floats are computed in float32; integers wrap around.
///
/// float64, integers and small products are computed by matrix products in an order fixed by the
/// shape; larger float32 ones by oneDNN, unless deterministic_algorithms() is on.
void conv_forward(const ConvForm& f, const Array& x, const Array& w, const Array* bias,
                  const Array& y);
/// x = the gradient by x of sum(y * conv(x, w)), plus bias, one number for each channel of x.
void conv_input(const ConvForm& f, const Array& y, const Array& w, const Array* bias,
                const Array& x);
/// w = the gradient by w of sum(y * conv(x, w)).
void conv_weight(const ConvForm& f, const Array& x, const Array& y, const Array& w);

/// columns [batch, in_channels * kernel, out] of x: what a convolution multiplies its weights with.
/// Groups and out_channels do not matter.
void im2col(const ConvForm& f, const Array& x, const Array& columns);
/// The sum of the columns at the places where im2col took them from.
void col2im(const ConvForm& f, const Array& columns, const Array& x);

/// Blocked layouts: what oneDNN's own loops read and write, as ordinary dense tensors.
///
/// Eight channels lie side by side: x is [batch, channels / 8, height, width, 8]. Weights have an
/// order for each of the three parts of a convolution.
inline constexpr int64_t kChannelBlock = 8;
enum class WeightOrder : uint8_t {
  in_out,           // [out / 8, in / 8, h, w, 8 in, 8 out]: for y, and of the gradient by w
  out_in,           // [out / 8, in / 8, h, w, 8 out, 8 in]: for x
  plain_in,         // [out / 8, h, w, in, 8 out]: for an x of few channels, which stays as it is
  depthwise,        // [channels / 8, h, w, 8]: each channel by itself
  winograd,         // [16 points, out / 16, in, 16]: transformed for y; there is no way back
  winograd_turned,  // [16 points, in / 16, out, 16]: for x
};
/// How a blocked convolution ends.
struct ConvEnd {
  bool bias = false, add = false, relu = false;  // y = relu(conv + bias + what y held before)
};

/// True iff there is a fast loop for this part with blocked operands, oneDNN's or Winograd's;
/// `order` is set to the weights' order. float32 and two spatial dimensions only.
bool blocked_conv_order(ConvPart part, const ConvForm& f, WeightOrder* order);
/// One part from the other two, blocked and contiguous; see blocked_conv_order.
void blocked_conv(ConvPart part, const ConvForm& f, const float* a, const float* b,
                  const float* bias, float* out, ConvEnd end = {});

/// The gradient by the weight in row-major order, from blocked x and y; the same bits for any
/// number of threads. For channels of each group divisible by eight and two spatial dimensions.
bool has_blocked_conv_weight(const ConvForm& f);
/// True iff it takes less time than blocked_conv and a reorder.
bool prefers_blocked_conv_weight(const ConvForm& f);
void blocked_conv_weight(const ConvForm& f, const float* x, const float* y, float* w);

/// [batch, channels, positions] to and from [batch, channels / 8, positions, 8], of any dtype.
void to_blocked(DType dtype, int64_t batch, int64_t channels, int64_t positions, const void* x,
                void* y);
void from_blocked(DType dtype, int64_t batch, int64_t channels, int64_t positions, const void* x,
                  void* y);
/// [out, in, places] to and from an order for weights. For depthwise `in` is 1.
void to_blocked_weight(WeightOrder order, int64_t out, int64_t in, int64_t places, const float* w,
                       float* to);
void from_blocked_weight(WeightOrder order, int64_t out, int64_t in, int64_t places, const float* w,
                         float* to);

}  // namespace tandem::kernels
