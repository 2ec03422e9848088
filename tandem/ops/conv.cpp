// The three parts of a convolution as ops.
#include "tandem/ops/conv.h"

#include <climits>

#include "tandem/core/apply.h"
#include "tandem/ops/conv_op.h"
#include "tandem/ops/reduction.h"
#include "tandem/ops/view.h"

namespace tandem {
namespace {

// -- types -------------------------------------------------------------------------------------

void check_numbers(const InferArgs& a, const char* what, const Dims& values, int64_t spatial,
                   int64_t least) {
  TANDEM_CHECK_SHAPE(static_cast<int64_t>(values.size()) == spatial, a.op.name, ": expected ", what,
                     " to have ", spatial, " numbers, one for each spatial dimension, got ",
                     values);
  for (int64_t v : values)
    TANDEM_CHECK(v >= least && v <= INT_MAX, a.op.name, ": ", what, " must be ",
                 least == 0 ? "at least 0" : "positive", " and no more than ", INT_MAX, ", got ",
                 what, "=", values);
}

/// A tensor without elements may have any extent; beyond these, sums of extents would not fit.
void check_extents(const InferArgs& a, IntArrayRef sizes) {
  for (int64_t s : sizes)
    TANDEM_CHECK_SHAPE(s <= INT_MAX, a.op.name, ": extents beyond ", INT_MAX,
                       " are not supported, got shape ", sizes);
}

/// Checks what does not depend on the op: returns the number of spatial dimensions.
int64_t check_conv(const InferArgs& a, const TensorType& first, const TensorType& second) {
  const auto& c = a.attrs<ConvAttrs>();
  const int64_t spatial = first.dim() - 2;
  TANDEM_CHECK_SHAPE(spatial >= 1 && spatial <= 3, a.op.name,
                     ": expected tensors of 3 to 5 dimensions, got shape ", first.sizes);
  TANDEM_CHECK_SHAPE(second.dim() == first.dim(), a.op.name, ": expected tensors of ", first.dim(),
                     " dimensions, got shapes ", first.sizes, " and ", second.sizes);
  TANDEM_CHECK_TYPE(
      first.dtype == second.dtype, a.op.name,
      ": expected both tensors to have the same dtype, but got: ", name_of(first.dtype),
      " != ", name_of(second.dtype), " (convert one with .to(dtype))");
  TANDEM_CHECK_TYPE(first.dtype != kBool, a.op.name, ": not implemented for 'Bool'");
  check_extents(a, first.sizes);
  check_extents(a, second.sizes);
  check_extents(a, c.sizes);
  check_numbers(a, "stride", c.stride, spatial, 1);
  check_numbers(a, "padding", c.padding, spatial, 0);
  check_numbers(a, "padding_end", c.padding_end, spatial, INT_MIN);
  check_numbers(a, "dilation", c.dilation, spatial, 1);
  TANDEM_CHECK(c.groups > 0, a.op.name, ": groups must be positive, got groups=", c.groups);
  return spatial;
}

/// The extent that a kernel of k elements covers.
int64_t covered(int64_t k, int64_t dilation) { return (k - 1) * dilation + 1; }

/// Extent of y along dimension d; 0 or less if the kernel does not fit.
int64_t y_extent(const ConvAttrs& c, size_t d, int64_t x, int64_t kernel) {
  const int64_t room = x + c.padding[d] + c.padding_end[d] - covered(kernel, c.dilation[d]);
  return room < 0 ? 0 : room / c.stride[d] + 1;
}

void check_bias(const InferArgs& a, int64_t channels, DType dtype) {
  if (a.n_inputs < 3) return;
  const TensorType& b = a.in(2);
  TANDEM_CHECK_SHAPE(b.dim() == 1 && b.sizes[0] == channels, a.op.name,
                     ": expected a bias of shape [", channels,
                     "], one number for each channel of the result, got shape ", b.sizes);
  TANDEM_CHECK_TYPE(b.dtype == dtype, a.op.name,
                    ": expected the bias to have the tensors' dtype, but got: ", name_of(b.dtype),
                    " != ", name_of(dtype));
}

std::string spatial_text(IntArrayRef sizes) {
  std::string text = "(";
  for (size_t i = 0; i < sizes.size(); ++i) text += (i ? " x " : "") + std::to_string(sizes[i]);
  return text + ")";
}

void infer_forward(const InferArgs& a) {
  const TensorType &x = a.in(0), &w = a.in(1);
  const int64_t spatial = check_conv(a, x, w);
  const auto& c = a.attrs<ConvAttrs>();
  TANDEM_CHECK_SHAPE(x.sizes[1] % c.groups == 0 && x.sizes[1] / c.groups == w.sizes[1], a.op.name,
                     ": given groups=", c.groups, ", weight of shape ", w.sizes,
                     ", expected an input of ", w.sizes[1] * c.groups,
                     " channels, but got input of shape ", x.sizes, " with ", x.sizes[1],
                     " channels");
  TANDEM_CHECK_SHAPE(
      w.sizes[0] % c.groups == 0, a.op.name, ": given groups=", c.groups,
      ", expected the weight's first dimension to be divisible by it, but got weight of shape ",
      w.sizes);
  check_bias(a, w.sizes[0], x.dtype);
  TensorType& y = a.out();
  y.dtype = x.dtype;
  y.sizes = {x.sizes[0], w.sizes[0]};
  for (size_t d = 0; d < static_cast<size_t>(spatial); ++d) {
    TANDEM_CHECK_SHAPE(w.sizes[d + 2] > 0, a.op.name,
                       ": kernel size should be greater than zero, but got weight of shape ",
                       w.sizes);
    const int64_t n = y_extent(c, d, x.sizes[d + 2], w.sizes[d + 2]);
    if (n <= 0) {
      Dims padded, kernel;
      for (size_t e = 0; e < static_cast<size_t>(spatial); ++e) {
        padded.push_back(x.sizes[e + 2] + c.padding[e] + c.padding_end[e]);
        kernel.push_back(covered(w.sizes[e + 2], c.dilation[e]));
      }
      TANDEM_CHECK_SHAPE(false, a.op.name, ": the kernel, ", spatial_text(kernel),
                         " with dilation, is larger than the padded input, ", spatial_text(padded),
                         " (input of shape ", x.sizes, ", weight of shape ", w.sizes, ")");
    }
    y.sizes.push_back(n);
  }
}

void infer_input(const InferArgs& a) {
  const TensorType &y = a.in(0), &w = a.in(1);
  const int64_t spatial = check_conv(a, y, w);
  const auto& c = a.attrs<ConvAttrs>();
  TANDEM_CHECK_SHAPE(y.sizes[1] == w.sizes[0] && w.sizes[0] % c.groups == 0, a.op.name,
                     ": given groups=", c.groups, ", weight of shape ", w.sizes,
                     ", expected an input of ", w.sizes[0],
                     " channels, divisible by groups, but got input of shape ", y.sizes);
  check_bias(a, w.sizes[1] * c.groups, y.dtype);
  TANDEM_CHECK_SHAPE(static_cast<int64_t>(c.sizes.size()) == spatial, a.op.name,
                     ": expected the sizes of the result to have ", spatial, " numbers, got ",
                     c.sizes);
  TensorType& x = a.out();
  x.dtype = y.dtype;
  x.sizes = {y.sizes[0], w.sizes[1] * c.groups};
  for (size_t d = 0; d < static_cast<size_t>(spatial); ++d) {
    TANDEM_CHECK_SHAPE(c.sizes[d] >= 0 && w.sizes[d + 2] > 0 &&
                           y.sizes[d + 2] <= y_extent(c, d, c.sizes[d], w.sizes[d + 2]),
                       a.op.name, ": a convolution of sizes ", c.sizes, " with weight of shape ",
                       w.sizes, " has no result of shape ", y.sizes);
    x.sizes.push_back(c.sizes[d]);
  }
}

void infer_weight(const InferArgs& a) {
  const TensorType &x = a.in(0), &y = a.in(1);
  const int64_t spatial = check_conv(a, x, y);
  const auto& c = a.attrs<ConvAttrs>();
  TANDEM_CHECK_SHAPE(x.sizes[0] == y.sizes[0], a.op.name, ": batches differ: ", x.sizes, " and ",
                     y.sizes);
  TANDEM_CHECK_SHAPE(x.sizes[1] % c.groups == 0 && y.sizes[1] % c.groups == 0, a.op.name,
                     ": the channels of ", x.sizes, " and ", y.sizes,
                     " are not divisible by groups=", c.groups);
  TANDEM_CHECK_SHAPE(static_cast<int64_t>(c.sizes.size()) == spatial, a.op.name,
                     ": expected the kernel to have ", spatial, " sizes, got ", c.sizes);
  TensorType& w = a.out();
  w.dtype = x.dtype;
  w.sizes = {y.sizes[1], x.sizes[1] / c.groups};
  for (size_t d = 0; d < static_cast<size_t>(spatial); ++d) {
    TANDEM_CHECK_SHAPE(
        c.sizes[d] > 0 && y.sizes[d + 2] <= y_extent(c, d, x.sizes[d + 2], c.sizes[d]), a.op.name,
        ": a convolution of shape ", x.sizes, " with a kernel of ", c.sizes,
        " has no result of shape ", y.sizes);
    w.sizes.push_back(c.sizes[d]);
  }
}

// -- kernels -----------------------------------------------------------------------------------

void forward_kernel(const KernelArgs& a) {
  kernels::conv_forward(
      conv_form(a.attrs<ConvAttrs>(), a.in(0).shape(), a.in(1).shape(), a.out().shape()), a.in(0),
      a.in(1), a.n_inputs > 2 ? &a.in(2) : nullptr, a.out());
}
void input_kernel(const KernelArgs& a) {
  kernels::conv_input(
      conv_form(a.attrs<ConvAttrs>(), a.out().shape(), a.in(1).shape(), a.in(0).shape()), a.in(0),
      a.in(1), a.n_inputs > 2 ? &a.in(2) : nullptr, a.out());
}
void weight_kernel(const KernelArgs& a) {
  kernels::conv_weight(
      conv_form(a.attrs<ConvAttrs>(), a.in(0).shape(), a.out().shape(), a.in(1).shape()), a.in(0),
      a.in(1), a.out());
}

// -- gradients ---------------------------------------------------------------------------------

Dims spatial_of(IntArrayRef sizes) { return Dims(sizes.slice(2)); }

/// y from x and weight, with exactly these spatial extents: a transposed convolution may have got
/// more padding than its stride, and its gradient then leaves the last elements out.
Tensor y_of(const Tensor& x, const Tensor& weight, ConvAttrs c, const Dims& extents) {
  c.sizes = {};
  for (size_t d = 0; d < extents.size(); ++d)
    if (y_extent(c, d, x.size(static_cast<int64_t>(d) + 2),
                 weight.size(static_cast<int64_t>(d) + 2)) != extents[d])
      c.padding_end[d] = (extents[d] - 1) * c.stride[d] +
                         covered(weight.size(static_cast<int64_t>(d) + 2), c.dilation[d]) -
                         x.size(static_cast<int64_t>(d) + 2) - c.padding[d];
  return apply(kConvForward, {x, weight}, c);
}
Tensor x_of(const Tensor& y, const Tensor& weight, ConvAttrs c, const Dims& extents) {
  c.sizes = extents;
  return apply(kConvInput, {y, weight}, c);
}
Tensor w_of(const Tensor& x, const Tensor& y, ConvAttrs c, const Dims& extents) {
  c.sizes = extents;
  return apply(kConvWeight, {x, y}, c);
}
Tensor bias_gradient(const Tensor& grad) {
  Dims dims{0};
  for (int64_t d = 2; d < grad.dim(); ++d) dims.push_back(d);
  return grad.sum(dims);
}

Grads forward_vjp(const VjpArgs& a) {
  const auto& c = a.attrs<ConvAttrs>();
  Grads g(static_cast<size_t>(a.n_inputs()));
  if (a.needs(0)) g[0] = x_of(a.grad(), a.input(1), c, spatial_of(a.input_type(0).sizes));
  if (a.needs(1)) g[1] = w_of(a.input(0), a.grad(), c, spatial_of(a.input_type(1).sizes));
  if (a.n_inputs() > 2 && a.needs(2)) g[2] = bias_gradient(a.grad());
  return g;
}
Grads input_vjp(const VjpArgs& a) {
  const auto& c = a.attrs<ConvAttrs>();
  Grads g(static_cast<size_t>(a.n_inputs()));
  if (a.needs(0)) g[0] = y_of(a.grad(), a.input(1), c, spatial_of(a.input_type(0).sizes));
  if (a.needs(1)) g[1] = w_of(a.grad(), a.input(0), c, spatial_of(a.input_type(1).sizes));
  if (a.n_inputs() > 2 && a.needs(2)) g[2] = bias_gradient(a.grad());
  return g;
}
Grads weight_vjp(const VjpArgs& a) {
  const auto& c = a.attrs<ConvAttrs>();
  Grads g(2);
  if (a.needs(0)) g[0] = x_of(a.input(1), a.grad(), c, spatial_of(a.input_type(0).sizes));
  if (a.needs(1)) g[1] = y_of(a.input(0), a.grad(), c, spatial_of(a.input_type(1).sizes));
  return g;
}

}  // namespace

TANDEM_OP(kConvForward) = {
    .name = "convolution",
    .infer = infer_forward,
    .kernel = forward_kernel,
    .saves = Saves::each(Saves::in(1), Saves::in(0)),
    .vjp = forward_vjp,
    .attrs = attrs_of<ConvAttrs>,
    .batch = conv_forward_batch,
};

TANDEM_OP(kConvInput) = {
    .name = "convolution_input",
    .infer = infer_input,
    .kernel = input_kernel,
    .saves = Saves::each(Saves::in(1), Saves::in(0)),
    .vjp = input_vjp,
    .attrs = attrs_of<ConvAttrs>,
    .batch = conv_input_batch,
};

TANDEM_OP(kConvWeight) = {
    .name = "convolution_weight",
    .infer = infer_weight,
    .kernel = weight_kernel,
    .saves = Saves::each(Saves::in(1), Saves::in(0)),
    .vjp = weight_vjp,
    .attrs = attrs_of<ConvAttrs>,
    .batch = conv_weight_batch,
    .inputs = 2,
};

kernels::ConvForm conv_form(const ConvAttrs& a, IntArrayRef x, IntArrayRef weight, IntArrayRef y) {
  kernels::ConvForm f;
  f.spatial = static_cast<int64_t>(x.size()) - 2;
  f.batch = x[0];
  f.groups = a.groups;
  f.in_channels = x[1];
  f.out_channels = y[1];
  for (size_t d = 0; d < static_cast<size_t>(f.spatial); ++d) {
    f.in[d] = x[d + 2];
    f.out[d] = y[d + 2];
    f.kernel[d] = weight[d + 2];
    f.stride[d] = a.stride[d];
    f.begin[d] = a.padding[d];
    f.dilation[d] = a.dilation[d];
    f.end[d] =
        (f.out[d] - 1) * f.stride[d] + covered(f.kernel[d], f.dilation[d]) - f.in[d] - f.begin[d];
  }
  return f;
}

}  // namespace tandem
