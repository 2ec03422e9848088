// The public functions around convolutions.
#include <algorithm>
#include <climits>

#include "tandem/core/apply.h"
#include "tandem/ops/conv.h"
#include "tandem/ops/conv_op.h"
#include "tandem/ops/reduction.h"
#include "tandem/ops/view.h"

namespace tandem {
namespace {

/// One number for each spatial dimension, from a list of them or a single one.
Dims expanded(const char* op, const char* what, IntArrayRef values, int64_t spatial) {
  if (values.size() == 1) {
    Dims out;
    for (int64_t d = 0; d < spatial; ++d) out.push_back(values[0]);
    return out;
  }
  TANDEM_CHECK_SHAPE(static_cast<int64_t>(values.size()) == spatial, op, ": expected ", what,
                     " to be a single number or a list of ", spatial,
                     " numbers, one for each spatial dimension, but got ", what, "=", values);
  return Dims(values);
}

void check_at_least(const char* op, const char* what, const Dims& values, int64_t least) {
  for (int64_t v : values)
    TANDEM_CHECK(v >= least && v <= INT_MAX, op, ": ", what, " must be ",
                 least ? "positive" : "at least 0", ", got ", what, "=", values);
}

bool has(const std::optional<Tensor>& bias) { return bias && bias->defined(); }

Tensor run(const OpDef& op, const Tensor& x, const Tensor& weight,
           const std::optional<Tensor>& bias, const ConvAttrs& c) {
  return has(bias) ? apply(op, {x, weight, *bias}, c) : apply(op, {x, weight}, c);
}

int64_t spatial_dims(const char* op, const Tensor& x, const Tensor& weight) {
  TANDEM_CHECK(x.defined() && weight.defined(), op, ": the input or the weight is undefined");
  const int64_t spatial = weight.dim() - 2;
  TANDEM_CHECK_SHAPE(spatial >= 1 && spatial <= 3, op,
                     ": expected a weight of 3 to 5 dimensions, got shape ", weight.sizes());
  TANDEM_CHECK_SHAPE(x.dim() == weight.dim(), op, ": expected an input of ", weight.dim(),
                     " dimensions for weight of shape ", weight.sizes(),
                     ", but got input of shape ", x.sizes());
  return spatial;
}

Tensor transposed_conv(const char* op, const Tensor& x, const Tensor& weight,
                       const std::optional<Tensor>& bias, ConvAttrs c, const Dims& output_padding) {
  for (size_t d = 0; d < c.stride.size(); ++d) {
    const int64_t extra = output_padding[d], kernel = weight.size(static_cast<int64_t>(d) + 2);
    TANDEM_CHECK(extra < c.stride[d] || extra < c.dilation[d], op,
                 ": output padding must be smaller than either stride or dilation, but got "
                 "output_padding=",
                 output_padding, ", stride=", c.stride, ", dilation=", c.dilation);
    TANDEM_CHECK_SHAPE(x.size(static_cast<int64_t>(d) + 2) <= INT_MAX && kernel <= INT_MAX, op,
                       ": extents beyond ", INT_MAX, " are not supported, got shapes ", x.sizes(),
                       " and ", weight.sizes());
    const int64_t n = (x.size(static_cast<int64_t>(d) + 2) - 1) * c.stride[d] - 2 * c.padding[d] +
                      c.dilation[d] * (kernel - 1) + extra + 1;
    TANDEM_CHECK_SHAPE(n > 0, op, ": the result would have extent ", n, " in spatial dimension ", d,
                       " for input of shape ", x.sizes(), ", weight of shape ", weight.sizes(),
                       ", stride=", c.stride, ", padding=", c.padding);
    c.sizes.push_back(n);
  }
  return run(kConvInput, x, weight, bias, c);
}

ConvAttrs conv_attrs(const char* op, int64_t spatial, IntArrayRef stride, IntArrayRef padding,
                     IntArrayRef dilation, int64_t groups) {
  ConvAttrs c;
  c.stride = expanded(op, "stride", stride, spatial);
  c.padding = c.padding_end = expanded(op, "padding", padding, spatial);
  c.dilation = expanded(op, "dilation", dilation, spatial);
  c.groups = groups;
  check_at_least(op, "stride", c.stride, 1);
  check_at_least(op, "padding", c.padding, 0);
  check_at_least(op, "dilation", c.dilation, 1);
  TANDEM_CHECK(groups > 0, op, ": groups must be positive, got groups=", groups);
  return c;
}

Tensor conv(const char* op, const Tensor& x, const Tensor& weight,
            const std::optional<Tensor>& bias, IntArrayRef stride, IntArrayRef padding,
            IntArrayRef dilation, bool transposed, IntArrayRef output_padding, int64_t groups) {
  const int64_t spatial = spatial_dims(op, x, weight);
  const ConvAttrs c = conv_attrs(op, spatial, stride, padding, dilation, groups);
  if (!transposed) return run(kConvForward, x, weight, bias, c);
  const Dims extra = expanded(op, "output_padding", output_padding, spatial);
  check_at_least(op, "output_padding", extra, 0);
  return transposed_conv(op, x, weight, bias, c, extra);
}

/// Runs fn on a batch: x itself, or x as a batch of one.
template <class F>
Tensor batched(const char* op, const Tensor& x, int64_t spatial, const F& fn) {
  TANDEM_CHECK(x.defined(), op, ": the input is undefined");
  if (x.dim() == spatial + 1) return fn(x.unsqueeze(0)).squeeze(0);
  TANDEM_CHECK_SHAPE(x.dim() == spatial + 2, op, ": expected a ", spatial + 1,
                     "D (a single sample) or ", spatial + 2, "D (a batch) input, but got shape ",
                     x.sizes());
  return fn(x);
}

void check_weight(const char* op, const Tensor& weight, int64_t spatial) {
  TANDEM_CHECK(weight.defined(), op, ": the weight is undefined");
  TANDEM_CHECK_SHAPE(weight.dim() == spatial + 2, op, ": expected a weight of ", spatial + 2,
                     " dimensions, but got shape ", weight.sizes());
}

Tensor conv_nd(const char* op, int64_t spatial, const Tensor& x, const Tensor& weight,
               const std::optional<Tensor>& bias, IntArrayRef stride, IntArrayRef padding,
               IntArrayRef dilation, int64_t groups) {
  check_weight(op, weight, spatial);
  return batched(op, x, spatial, [&](const Tensor& b) {
    return conv(op, b, weight, bias, stride, padding, dilation, false, 0, groups);
  });
}

Tensor conv_nd(const char* op, int64_t spatial, const Tensor& x, const Tensor& weight,
               const std::optional<Tensor>& bias, IntArrayRef stride, std::string_view padding,
               IntArrayRef dilation, int64_t groups) {
  if (padding == "valid")
    return conv_nd(op, spatial, x, weight, bias, stride, IntArrayRef(0), dilation, groups);
  TANDEM_CHECK(padding == "same", op, ": padding in words must be 'same' or 'valid', got '",
               padding, "'");
  check_weight(op, weight, spatial);
  ConvAttrs c = conv_attrs(op, spatial, stride, 0, dilation, groups);
  for (size_t d = 0; d < c.stride.size(); ++d) {
    TANDEM_CHECK(
        c.stride[d] == 1, op,
        ": padding='same' is not supported for strided convolutions, got stride=", c.stride);
    const int64_t kernel = weight.size(static_cast<int64_t>(d) + 2);
    TANDEM_CHECK_SHAPE(
        kernel > 0 && c.dilation[d] * (std::min<int64_t>(kernel, INT_MAX) - 1) <= INT_MAX, op,
        ": no kernel of that size can be padded: weight of shape ", weight.sizes(),
        ", dilation=", c.dilation);
    // What cannot be halved goes to the end.
    const int64_t all = c.dilation[d] * (kernel - 1);
    c.padding[d] = all / 2;
    c.padding_end[d] = all - all / 2;
  }
  return batched(op, x, spatial,
                 [&](const Tensor& b) { return run(kConvForward, b, weight, bias, c); });
}

Tensor transpose_nd(const char* op, int64_t spatial, const Tensor& x, const Tensor& weight,
                    const std::optional<Tensor>& bias, IntArrayRef stride, IntArrayRef padding,
                    IntArrayRef output_padding, int64_t groups, IntArrayRef dilation) {
  check_weight(op, weight, spatial);
  return batched(op, x, spatial, [&](const Tensor& b) {
    return conv(op, b, weight, bias, stride, padding, dilation, true, output_padding, groups);
  });
}

}  // namespace

Tensor convolution(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias,
                   IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, bool transposed,
                   IntArrayRef output_padding, int64_t groups) {
  return conv("convolution", x, weight, bias, stride, padding, dilation, transposed, output_padding,
              groups);
}

std::tuple<Tensor, Tensor, Tensor> convolution_backward(
    const Tensor& grad_output, const Tensor& x, const Tensor& weight,
    OptionalIntArrayRef bias_sizes, IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,
    bool transposed, IntArrayRef output_padding, int64_t groups, std::array<bool, 3> output_mask) {
  constexpr const char* kName = "convolution_backward";
  const int64_t spatial = spatial_dims(kName, x, weight);
  ConvAttrs c = conv_attrs(kName, spatial, stride, padding, dilation, groups);
  expanded(kName, "output_padding", output_padding, spatial);
  std::tuple<Tensor, Tensor, Tensor> out;
  auto& [gx, gw, gb] = out;
  if (output_mask[0]) {
    ConvAttrs own = c;
    if (!transposed) own.sizes = Dims(x.sizes().slice(2));
    gx = apply(transposed ? kConvForward : kConvInput, {grad_output, weight}, own);
  }
  if (output_mask[1]) {
    ConvAttrs own = c;
    own.sizes = Dims(weight.sizes().slice(2));
    gw = transposed ? apply(kConvWeight, {grad_output, x}, own)
                    : apply(kConvWeight, {x, grad_output}, own);
  }
  if (output_mask[2]) {
    Dims dims{0};
    for (int64_t d = 2; d < grad_output.dim(); ++d) dims.push_back(d);
    gb = grad_output.sum(dims);
    if (bias_sizes.has_value())
      TANDEM_CHECK_SHAPE(gb.sizes() == *bias_sizes, kName, ": expected a bias of shape ",
                         gb.sizes(), ", got bias_sizes=", *bias_sizes);
  }
  return out;
}

Tensor conv1d(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias,
              IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, int64_t groups) {
  return conv_nd("conv1d", 1, x, weight, bias, stride, padding, dilation, groups);
}
Tensor conv1d(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias,
              IntArrayRef stride, std::string_view padding, IntArrayRef dilation, int64_t groups) {
  return conv_nd("conv1d", 1, x, weight, bias, stride, padding, dilation, groups);
}
Tensor conv2d(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias,
              IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, int64_t groups) {
  return conv_nd("conv2d", 2, x, weight, bias, stride, padding, dilation, groups);
}
Tensor conv2d(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias,
              IntArrayRef stride, std::string_view padding, IntArrayRef dilation, int64_t groups) {
  return conv_nd("conv2d", 2, x, weight, bias, stride, padding, dilation, groups);
}
Tensor conv3d(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias,
              IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, int64_t groups) {
  return conv_nd("conv3d", 3, x, weight, bias, stride, padding, dilation, groups);
}
Tensor conv3d(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias,
              IntArrayRef stride, std::string_view padding, IntArrayRef dilation, int64_t groups) {
  return conv_nd("conv3d", 3, x, weight, bias, stride, padding, dilation, groups);
}

Tensor conv_transpose1d(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias,
                        IntArrayRef stride, IntArrayRef padding, IntArrayRef output_padding,
                        int64_t groups, IntArrayRef dilation) {
  return transpose_nd("conv_transpose1d", 1, x, weight, bias, stride, padding, output_padding,
                      groups, dilation);
}
Tensor conv_transpose2d(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias,
                        IntArrayRef stride, IntArrayRef padding, IntArrayRef output_padding,
                        int64_t groups, IntArrayRef dilation) {
  return transpose_nd("conv_transpose2d", 2, x, weight, bias, stride, padding, output_padding,
                      groups, dilation);
}
Tensor conv_transpose3d(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias,
                        IntArrayRef stride, IntArrayRef padding, IntArrayRef output_padding,
                        int64_t groups, IntArrayRef dilation) {
  return transpose_nd("conv_transpose3d", 3, x, weight, bias, stride, padding, output_padding,
                      groups, dilation);
}

Tensor conv_tbc(const Tensor& x, const Tensor& weight, const Tensor& bias, int64_t pad) {
  TANDEM_CHECK(x.defined() && weight.defined() && bias.defined(),
               "conv_tbc: the input, the weight or the bias is undefined");
  TANDEM_CHECK_SHAPE(x.dim() == 3,
                     "conv_tbc: the input must be [time, batch, channels], got shape ", x.sizes());
  TANDEM_CHECK_SHAPE(weight.dim() == 3, "conv_tbc: the weight must be [width, in, out], got shape ",
                     weight.sizes());
  TANDEM_CHECK_SHAPE(
      bias.dim() == 1 && bias.size(0) == weight.size(2) && x.size(2) == weight.size(1),
      "conv_tbc: input of shape ", x.sizes(), ", weight of shape ", weight.sizes(),
      " and bias of shape ", bias.sizes(), " do not fit together");
  return conv("conv_tbc", x.permute({1, 2, 0}), weight.permute({2, 1, 0}), bias, 1, pad, 1, false,
              0, 1)
      .permute({2, 0, 1});
}

}  // namespace tandem
