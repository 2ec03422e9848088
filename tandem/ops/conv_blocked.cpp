#include <climits>
#include <memory>

#include "tandem/core/apply.h"
#include "tandem/kernels/map.h"
#include "tandem/ops/batch_detail.h"
#include "tandem/ops/conv_blocked_op.h"
#include "tandem/ops/view.h"

namespace tandem {
namespace {

using kernels::ConvPart;
using kernels::WeightOrder;
constexpr int64_t kBlock = kernels::kChannelBlock;

// -- layouts -----------------------------------------------------------------------------------

void infer_to(const InferArgs& a) {
  const TensorType& x = a.in();
  TANDEM_CHECK_SHAPE(x.dim() == 4 && x.sizes[1] % kBlock == 0, a.op.name,
                     ": expected [batch, channels, height, width] with channels divisible by ",
                     kBlock, ", got shape ", x.sizes);
  a.out().dtype = x.dtype;
  a.out().sizes = {x.sizes[0], x.sizes[1] / kBlock, x.sizes[2], x.sizes[3], kBlock};
}
void infer_from(const InferArgs& a) {
  const TensorType& x = a.in();
  TANDEM_CHECK_SHAPE(x.dim() == 5 && x.sizes[4] == kBlock, a.op.name,
                     ": expected [batch, channels / 8, height, width, 8], got shape ", x.sizes);
  a.out().dtype = x.dtype;
  a.out().sizes = {x.sizes[0], x.sizes[1] * kBlock, x.sizes[2], x.sizes[3]};
}

/// A contiguous array with the values of another.
class Dense {
 public:
  explicit Dense(const Array& a) : array_(a) {
    if (a.contiguous) return;
    strides_ = contiguous_strides(a.shape());
    memory_.reset(new char[static_cast<size_t>(a.numel) * size_of(a.dtype)]);
    array_.data = memory_.get();
    array_.strides = strides_.data();
    array_.contiguous = true;
    kernels::copy(a, array_);
  }
  const Array& get() const { return array_; }
  const float* floats() const { return array_.ptr<float>(); }

 private:
  Array array_;
  Dims strides_;
  std::unique_ptr<char[]> memory_;
};

void to_kernel(const KernelArgs& a) {
  const Dense x(a.in());
  const Array& in = a.in();
  if (in.numel == 0) return;
  kernels::to_blocked(in.dtype, in.sizes[0], in.sizes[1], in.sizes[2] * in.sizes[3], x.get().data,
                      a.out().data);
}
void from_kernel(const KernelArgs& a) {
  const Dense x(a.in());
  const Array& out = a.out();
  if (out.numel == 0) return;
  kernels::from_blocked(out.dtype, out.sizes[0], out.sizes[1], out.sizes[2] * out.sizes[3],
                        x.get().data, out.data);
}

/// The samples of vmap are a larger batch.
void batch_larger(const BatchArgs& a) {
  const auto merged = [](const Tensor& x, IntArrayRef front, size_t from) {
    Dims sizes(front);
    for (size_t d = from; d < x.sizes().size(); ++d) sizes.push_back(x.sizes()[d]);
    return x.reshape(sizes);
  };
  const int64_t n = a.in().size(1);
  a.outputs[0] = merged(apply(a.op, {merged(a.in(), {a.size * n}, 2)}), {a.size, n}, 1);
}

WeightOrder order_of(const InferArgs& a, int64_t order) {
  TANDEM_CHECK(order >= 0 && order <= static_cast<int64_t>(WeightOrder::winograd_turned), a.op.name,
               ": no such order of weights: ", order);
  return static_cast<WeightOrder>(order);
}

bool is_transformed(WeightOrder order) {
  return order == WeightOrder::winograd || order == WeightOrder::winograd_turned;
}

/// The shape in row-major order of weights that have this shape in an order.
Dims plain_weight_sizes(const char* op, WeightOrder order, IntArrayRef w) {
  const auto check = [&](bool good) {
    TANDEM_CHECK_SHAPE(good && w.back() == kBlock, op, ": not a blocked weight: shape ", w);
  };
  const auto check_transformed = [&] {
    TANDEM_CHECK_SHAPE(w.size() == 4 && w[0] == 16 && w[3] == 16, op,
                       ": not a transformed weight: shape ", w);
  };
  switch (order) {
    case WeightOrder::in_out:
    case WeightOrder::out_in:
      check(w.size() == 6 && w[4] == kBlock);
      return {w[0] * kBlock, w[1] * kBlock, w[2], w[3]};
    case WeightOrder::plain_in:
      check(w.size() == 5);
      return {w[0] * kBlock, w[3], w[1], w[2]};
    case WeightOrder::depthwise:
      check(w.size() == 4);
      return {w[0] * kBlock, 1, w[1], w[2]};
    case WeightOrder::winograd:
      check_transformed();
      return {w[1] * 16, w[2], 3, 3};
    case WeightOrder::winograd_turned:
      check_transformed();
      return {w[2], w[1] * 16, 3, 3};
  }
  return {};
}

void infer_to_weight(const InferArgs& a) {
  const TensorType& w = a.in();
  const WeightOrder order = order_of(a, a.attrs<WeightOrderAttrs>().order);
  const bool both = order == WeightOrder::in_out || order == WeightOrder::out_in;
  TANDEM_CHECK_SHAPE(
      w.dim() == 4 && w.sizes[0] % kBlock == 0 && (!both || w.sizes[1] % kBlock == 0) &&
          (order != WeightOrder::depthwise || w.sizes[1] == 1) &&
          (!is_transformed(order) ||
           (w.sizes[0] % 16 == 0 && w.sizes[1] % 16 == 0 && w.sizes[2] == 3 && w.sizes[3] == 3)),
      a.op.name, ": a weight of shape ", w.sizes, " does not have that order");
  TANDEM_CHECK_TYPE(w.dtype == kFloat, a.op.name, ": expected float32, got ", name_of(w.dtype));
  a.out().dtype = w.dtype;
  a.out().sizes = blocked_weight_sizes(order, w.sizes);
}
void infer_from_weight(const InferArgs& a) {
  const TensorType& w = a.in();
  TANDEM_CHECK_SHAPE(w.dim() > 0, a.op.name, ": not a blocked weight: shape ", w.sizes);
  TANDEM_CHECK_TYPE(w.dtype == kFloat, a.op.name, ": expected float32, got ", name_of(w.dtype));
  TANDEM_CHECK(!is_transformed(order_of(a, a.attrs<WeightOrderAttrs>().order)), a.op.name,
               ": transformed weights have no way back");
  a.out().dtype = w.dtype;
  a.out().sizes =
      plain_weight_sizes(a.op.name, order_of(a, a.attrs<WeightOrderAttrs>().order), w.sizes);
}

void to_weight_kernel(const KernelArgs& a) {
  const Array& w = a.in();
  if (w.numel == 0) return;
  const Dense dense(w);
  kernels::to_blocked_weight(static_cast<WeightOrder>(a.attrs<WeightOrderAttrs>().order),
                             w.sizes[0], w.sizes[1], w.sizes[2] * w.sizes[3], dense.floats(),
                             a.out().ptr<float>());
}
void from_weight_kernel(const KernelArgs& a) {
  const Array& w = a.out();
  if (w.numel == 0) return;
  const Dense dense(a.in());
  kernels::from_blocked_weight(static_cast<WeightOrder>(a.attrs<WeightOrderAttrs>().order),
                               w.sizes[0], w.sizes[1], w.sizes[2] * w.sizes[3], dense.floats(),
                               a.out().ptr<float>());
}

// -- convolutions ------------------------------------------------------------------------------

/// Shapes in row-major order: x and y of a blocked or a plain tensor, the weight of an order.
Dims plain_sizes(const char* op, IntArrayRef t) {
  if (t.size() == 4) return Dims(t);
  TANDEM_CHECK_SHAPE(t.size() == 5 && t[4] == kBlock, op, ": not a blocked tensor: shape ", t);
  return {t[0], t[1] * kBlock, t[2], t[3]};
}
Dims blocked_sizes(int64_t n, int64_t c, int64_t h, int64_t w) {
  return {n, c / kBlock, h, w, kBlock};
}

/// What x, weight and y of a call are, before they were blocked.
kernels::ConvForm form_of(const char* op, ConvPart part, const BlockedConvAttrs& b,
                          IntArrayRef first, IntArrayRef second) {
  TANDEM_CHECK(b.stride.size() == 2 && b.padding.size() == 2 && b.dilation.size() == 2 &&
                   b.sizes.size() == 2 && b.groups > 0,
               op, ": expected two numbers for each of stride, padding, dilation and sizes");
  for (int64_t v : {b.stride[0], b.stride[1], b.dilation[0], b.dilation[1]})
    TANDEM_CHECK(v > 0 && v <= INT_MAX, op, ": stride and dilation must be positive");
  for (int64_t v : {b.padding[0], b.padding[1], b.sizes[0], b.sizes[1]})
    TANDEM_CHECK(v >= 0 && v <= INT_MAX, op, ": padding and sizes must not be negative");
  const auto order = static_cast<WeightOrder>(b.order);
  Dims x, w, y;
  const Dims a = plain_sizes(op, first);
  switch (part) {
    case ConvPart::y:
      w = plain_weight_sizes(op, order, second);
      x = a;
      y = {a[0], w[0], b.sizes[0], b.sizes[1]};
      break;
    case ConvPart::x:
      w = plain_weight_sizes(op, order, second);
      y = a;
      x = {a[0], w[1] * b.groups, b.sizes[0], b.sizes[1]};
      break;
    case ConvPart::w:
      x = a;
      y = plain_sizes(op, second);
      TANDEM_CHECK_SHAPE(x[1] % b.groups == 0 && x[0] == y[0], op, ": shapes do not fit: ", first,
                         " and ", second);
      w = {y[1], x[1] / b.groups, b.sizes[0], b.sizes[1]};
      break;
  }
  TANDEM_CHECK_SHAPE(x[1] == w[1] * b.groups && y[1] == w[0] && w[0] % b.groups == 0, op,
                     ": shapes do not fit: ", first, " and ", second);
  return conv_form({b.stride, b.padding, b.padding, b.dilation, b.groups, {}}, x, w, y);
}

kernels::ConvForm checked_form(const InferArgs& a, ConvPart part, int first) {
  const auto& b = a.attrs<BlockedConvAttrs>();
  order_of(a, b.order);
  for (int i = 0; i < a.n_inputs; ++i)
    TANDEM_CHECK_TYPE(a.in(i).dtype == kFloat, a.op.name, ": expected float32, got ",
                      name_of(a.in(i).dtype));
  const kernels::ConvForm f = form_of(a.op.name, part, b, a.in(first).sizes, a.in(first + 1).sizes);
  WeightOrder order;
  TANDEM_CHECK(
      kernels::blocked_conv_order(part, f, &order) && static_cast<int64_t>(order) == b.order,
      a.op.name, ": there is no loop for operands of shapes ", a.in(first).sizes, " and ",
      a.in(first + 1).sizes);
  TANDEM_CHECK_SHAPE((a.in(first).dim() == 4) == (order == WeightOrder::plain_in), a.op.name,
                     ": expected ", order == WeightOrder::plain_in ? "a plain" : "a blocked",
                     " input, got shape ", a.in(first).sizes);
  return f;
}

template <int kFirst>
void infer_y(const InferArgs& a) {
  const kernels::ConvForm f = checked_form(a, ConvPart::y, kFirst);
  a.out().dtype = kFloat;
  a.out().sizes = blocked_sizes(f.batch, f.out_channels, f.out[0], f.out[1]);
  if (kFirst)
    TANDEM_CHECK_SHAPE(a.in(0).sizes == a.out().sizes, a.op.name, ": cannot add shape ",
                       a.in(0).sizes, " to shape ", a.out().sizes);
  if (a.n_inputs > kFirst + 2)
    TANDEM_CHECK_SHAPE(a.in(kFirst + 2).sizes == IntArrayRef{f.out_channels}, a.op.name,
                       ": expected a bias of ", f.out_channels, " numbers, got shape ",
                       a.in(kFirst + 2).sizes);
}
void infer_x(const InferArgs& a) {
  const kernels::ConvForm f = checked_form(a, ConvPart::x, 0);
  a.out().dtype = kFloat;
  a.out().sizes = blocked_sizes(f.batch, f.in_channels, f.in[0], f.in[1]);
}
void infer_w(const InferArgs& a) {
  const kernels::ConvForm f = checked_form(a, ConvPart::w, 0);
  const auto& b = a.attrs<BlockedConvAttrs>();
  const Dims sizes{f.out_channels, f.in_channels / f.groups, f.kernel[0], f.kernel[1]};
  TANDEM_CHECK(!b.plain || kernels::has_blocked_conv_weight(f), a.op.name,
               ": there is no loop for a plain weight of shape ", sizes);
  a.out().dtype = kFloat;
  a.out().sizes = b.plain ? sizes : blocked_weight_sizes(static_cast<WeightOrder>(b.order), sizes);
}

template <ConvPart kPart, int kFirst>
void conv_kernel(const KernelArgs& a) {
  const auto& b = a.attrs<BlockedConvAttrs>();
  const kernels::ConvForm f =
      form_of(a.op.name, kPart, b, a.in(kFirst).shape(), a.in(kFirst + 1).shape());
  const Dense first(a.in(kFirst)), second(a.in(kFirst + 1));
  if (kPart == ConvPart::w && b.plain)
    return kernels::blocked_conv_weight(f, first.floats(), second.floats(), a.out().ptr<float>());
  const bool biased = a.n_inputs > kFirst + 2;
  const Dense bias(biased ? a.in(kFirst + 2) : a.in(kFirst));
  if (kFirst && a.in(0).data != a.out().data) kernels::copy(a.in(0), a.out());
  kernels::blocked_conv(kPart, f, first.floats(), second.floats(), biased ? bias.floats() : nullptr,
                        a.out().ptr<float>(), {.add = kFirst != 0, .relu = b.relu});
}

}  // namespace

TANDEM_OP(kToBlocked) = {
    .name = "to_blocked",
    .infer = infer_to,
    .kernel = to_kernel,
    .batch = batch_larger,
    .inputs = 1,
};
TANDEM_OP(kFromBlocked) = {
    .name = "from_blocked",
    .infer = infer_from,
    .kernel = from_kernel,
    .batch = batch_larger,
    .inputs = 1,
};
TANDEM_OP(kToBlockedWeight) = {
    .name = "to_blocked_weight",
    .infer = infer_to_weight,
    .kernel = to_weight_kernel,
    .attrs = attrs_of<WeightOrderAttrs>,
    .batch = batch_loop,
    .inputs = 1,
};
TANDEM_OP(kFromBlockedWeight) = {
    .name = "from_blocked_weight",
    .infer = infer_from_weight,
    .kernel = from_weight_kernel,
    .attrs = attrs_of<WeightOrderAttrs>,
    .batch = batch_loop,
    .inputs = 1,
};
TANDEM_OP(kBlockedConv) = {
    .name = "blocked_convolution",
    .infer = infer_y<0>,
    .kernel = conv_kernel<ConvPart::y, 0>,
    .attrs = attrs_of<BlockedConvAttrs>,
    .batch = batch_loop,
};
TANDEM_OP(kBlockedConvAdd) = {
    .name = "blocked_convolution_add",
    .infer = infer_y<1>,
    .kernel = conv_kernel<ConvPart::y, 1>,
    .inplace = true,
    .attrs = attrs_of<BlockedConvAttrs>,
    .batch = batch_loop,
};
TANDEM_OP(kBlockedConvInput) = {
    .name = "blocked_convolution_input",
    .infer = infer_x,
    .kernel = conv_kernel<ConvPart::x, 0>,
    .attrs = attrs_of<BlockedConvAttrs>,
    .batch = batch_loop,
    .inputs = 2,
};
TANDEM_OP(kBlockedConvWeight) = {
    .name = "blocked_convolution_weight",
    .infer = infer_w,
    .kernel = conv_kernel<ConvPart::w, 0>,
    .attrs = attrs_of<BlockedConvAttrs>,
    .batch = batch_loop,
    .inputs = 2,
};

Dims blocked_weight_sizes(WeightOrder order, IntArrayRef w) {
  switch (order) {
    case WeightOrder::in_out:
    case WeightOrder::out_in:
      return {w[0] / kBlock, w[1] / kBlock, w[2], w[3], kBlock, kBlock};
    case WeightOrder::plain_in:
      return {w[0] / kBlock, w[2], w[3], w[1], kBlock};
    case WeightOrder::depthwise:
      return {w[0] / kBlock, w[2], w[3], kBlock};
    case WeightOrder::winograd:
      return {16, w[0] / 16, w[1], 16};
    case WeightOrder::winograd_turned:
      return {16, w[1] / 16, w[0], 16};
  }
  return {};
}

Tensor to_blocked(const Tensor& x) { return apply(kToBlocked, {x}); }
Tensor from_blocked(const Tensor& x) { return apply(kFromBlocked, {x}); }
Tensor to_blocked_weight(const Tensor& w, WeightOrder order) {
  return apply(kToBlockedWeight, {w}, WeightOrderAttrs{static_cast<int64_t>(order)});
}
Tensor from_blocked_weight(const Tensor& w, WeightOrder order) {
  return apply(kFromBlockedWeight, {w}, WeightOrderAttrs{static_cast<int64_t>(order)});
}

}  // namespace tandem
