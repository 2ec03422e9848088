// im2col and col2im, which are each other's gradients.
#include <climits>

#include "tandem/core/apply.h"
#include "tandem/ops/batch_detail.h"
#include "tandem/ops/conv.h"
#include "tandem/ops/conv_op.h"
#include "tandem/ops/view.h"

namespace tandem {

extern const OpDef kIm2col;
extern const OpDef kCol2im;

namespace {

void check_numbers(const InferArgs& a, const char* what, const Dims& values, int64_t least) {
  TANDEM_CHECK_SHAPE(values.size() == 2, a.op.name, ": expected ", what, " to have 2 numbers, got ",
                     values);
  for (int64_t v : values)
    TANDEM_CHECK(v >= least && v <= INT_MAX, a.op.name, ": ", what, " must be ",
                 least ? "positive" : "at least 0", ", got ", what, "=", values);
}

void check_attrs(const InferArgs& a) {
  const auto& c = a.attrs<ColumnAttrs>();
  check_numbers(a, "kernel_size", c.kernel, 1);
  check_numbers(a, "dilation", c.dilation, 1);
  check_numbers(a, "padding", c.padding, 0);
  check_numbers(a, "stride", c.stride, 1);
}

/// How often the kernel fits along dimension d of that extent; 0 if it does not.
int64_t positions(const ColumnAttrs& c, size_t d, int64_t extent) {
  const int64_t room = extent + 2 * c.padding[d] - c.dilation[d] * (c.kernel[d] - 1) - 1;
  return room < 0 ? 0 : room / c.stride[d] + 1;
}

kernels::ConvForm form_of(const ColumnAttrs& c, IntArrayRef x) {
  ConvAttrs own{c.stride, c.padding, c.padding, c.dilation, 1, {}};
  const Dims kernel{1, x[1], c.kernel[0], c.kernel[1]};
  const Dims y{x[0], 1, positions(c, 0, x[2]), positions(c, 1, x[3])};
  return conv_form(own, x, kernel, y);
}

void infer_im2col(const InferArgs& a) {
  check_attrs(a);
  const auto& c = a.attrs<ColumnAttrs>();
  const TensorType& x = a.in();
  TANDEM_CHECK_TYPE(x.dtype != kBool, a.op.name, ": not implemented for 'Bool'");
  TANDEM_CHECK_SHAPE(
      x.dim() == 4 && x.sizes[1] > 0 && x.sizes[2] > 0 && x.sizes[3] > 0, a.op.name,
      ": expected an input of 3 or 4 dimensions with at least one element a sample, got shape ",
      x.sizes);
  const int64_t h = positions(c, 0, x.sizes[2]), w = positions(c, 1, x.sizes[3]);
  const auto pair = [](const Dims& d) { return str("(", d[0], ", ", d[1], ")"); };
  TANDEM_CHECK_SHAPE(h > 0 && w > 0, a.op.name, ": Given input with spatial size (", x.sizes[2],
                     ", ", x.sizes[3], "), kernel_size=", pair(c.kernel),
                     ", dilation=", pair(c.dilation), ", padding=", pair(c.padding),
                     ", calculated shape of the array of sliding blocks as (", h, ", ", w,
                     "), but its components must be at least one.");
  a.out().dtype = x.dtype;
  a.out().sizes = {x.sizes[0], numel_of({x.sizes[1], c.kernel[0], c.kernel[1]}), numel_of({h, w})};
}

void infer_col2im(const InferArgs& a) {
  check_attrs(a);
  const auto& c = a.attrs<ColumnAttrs>();
  check_numbers(a, "output_size", c.sizes, 1);
  const TensorType& x = a.in();
  TANDEM_CHECK_TYPE(x.dtype != kBool, a.op.name, ": not implemented for 'Bool'");
  TANDEM_CHECK_SHAPE(
      x.dim() == 3 && x.sizes[1] > 0 && x.sizes[2] > 0, a.op.name,
      ": expected an input of 2 or 3 dimensions with at least one element a sample, got shape ",
      x.sizes);
  const int64_t places = numel_of({c.kernel[0], c.kernel[1]});
  TANDEM_CHECK_SHAPE(
      x.sizes[1] % places == 0, a.op.name,
      ": expected the size of dimension 1 to be divisible by the product of kernel_size=", c.kernel,
      ", got input of shape ", x.sizes);
  const int64_t h = positions(c, 0, c.sizes[0]), w = positions(c, 1, c.sizes[1]);
  TANDEM_CHECK_SHAPE(numel_of({h, w}) == x.sizes[2], a.op.name, ": given output_size=", c.sizes,
                     ", kernel_size=", c.kernel, ", dilation=", c.dilation, ", padding=", c.padding,
                     ", stride=", c.stride, ", expected the size of dimension 2 to be ", h, " * ",
                     w, " = ", h * w, ", got input of shape ", x.sizes);
  a.out().dtype = x.dtype;
  a.out().sizes = {x.sizes[0], x.sizes[1] / places, c.sizes[0], c.sizes[1]};
}

/// The samples are a larger batch.
void columns_batch(const BatchArgs& a) {
  const auto split = [&](const Tensor& x, IntArrayRef front, size_t from) {
    Dims sizes(front);
    for (size_t d = from; d < x.sizes().size(); ++d) sizes.push_back(x.sizes()[d]);
    return x.reshape(sizes);
  };
  const Tensor& x = a.in();
  const int64_t n = x.size(1);
  const Tensor r = apply(a.op, {split(x, {a.size * n}, 2)}, a.attr_ref);
  a.outputs[0] = split(r, {a.size, n}, 1);
}

Dims pair(const char* op, const char* what, IntArrayRef v) {
  if (v.size() == 1) return {v[0], v[0]};
  TANDEM_CHECK_SHAPE(v.size() == 2, op, ": expected ", what, " to be one or two numbers, got ",
                     what, "=", v);
  return Dims(v);
}

Tensor run(const OpDef& op, const Tensor& x, int64_t batched_dim, const ColumnAttrs& c) {
  if (x.defined() && x.dim() == batched_dim - 1) return apply(op, {x.unsqueeze(0)}, c).squeeze(0);
  return apply(op, {x}, c);
}

}  // namespace

TANDEM_OP(kIm2col) = {
    .name = "im2col",
    .infer = infer_im2col,
    .kernel =
        [](const KernelArgs& a) {
          kernels::im2col(form_of(a.attrs<ColumnAttrs>(), a.in().shape()), a.in(), a.out());
        },
    .vjp = [](const VjpArgs& a) -> Grads {
      ColumnAttrs c = a.attrs<ColumnAttrs>();
      c.sizes = {a.input_type().sizes[2], a.input_type().sizes[3]};
      return {apply(kCol2im, {a.grad()}, c)};
    },
    .attrs = attrs_of<ColumnAttrs>,
    .batch = columns_batch,
    .inputs = 1,
};

TANDEM_OP(kCol2im) = {
    .name = "col2im",
    .infer = infer_col2im,
    .kernel =
        [](const KernelArgs& a) {
          kernels::col2im(form_of(a.attrs<ColumnAttrs>(), a.out().shape()), a.in(), a.out());
        },
    .vjp = [](const VjpArgs& a) -> Grads {
      ColumnAttrs c = a.attrs<ColumnAttrs>();
      c.sizes = {};
      return {apply(kIm2col, {a.grad()}, c)};
    },
    .attrs = attrs_of<ColumnAttrs>,
    .batch = columns_batch,
    .inputs = 1,
};

Tensor im2col(const Tensor& x, IntArrayRef kernel_size, IntArrayRef dilation, IntArrayRef padding,
              IntArrayRef stride) {
  return run(kIm2col, x, 4,
             {pair("im2col", "kernel_size", kernel_size),
              pair("im2col", "dilation", dilation),
              pair("im2col", "padding", padding),
              pair("im2col", "stride", stride),
              {}});
}

Tensor col2im(const Tensor& columns, IntArrayRef output_size, IntArrayRef kernel_size,
              IntArrayRef dilation, IntArrayRef padding, IntArrayRef stride) {
  return run(kCol2im, columns, 3,
             {pair("col2im", "kernel_size", kernel_size), pair("col2im", "dilation", dilation),
              pair("col2im", "padding", padding), pair("col2im", "stride", stride),
              pair("col2im", "output_size", output_size)});
}

}  // namespace tandem
