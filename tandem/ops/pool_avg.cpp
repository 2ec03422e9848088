#include "tandem/core/apply.h"
#include "tandem/kernels/pool.h"
#include "tandem/ops/batch_detail.h"
#include "tandem/ops/pool.h"
#include "tandem/ops/pool_detail.h"
#include "tandem/ops/pool_op.h"

namespace tandem {
namespace {

using detail::as_extents;
using detail::PooledDims;

void check_real(const char* op, const TensorType& x) {
  TANDEM_CHECK_TYPE(is_floating(x.dtype), op, ": expected a floating point tensor, got ", x);
}

kernels::PoolShape shape_of(const AvgPoolAttrs& p, const Array& pooled, const Array& result) {
  kernels::PoolShape s = detail::pool_shape(pooled, result, p.kernel.size(), p.channels_inner);
  s.kernel = as_extents(p.kernel, 1);
  s.stride = as_extents(p.stride, 1);
  s.padding = as_extents(p.padding, 0);
  return s;
}

// The extents of the result for what is pooled; throws where the attributes make no sense.
Dims average_extents(const char* op, IntArrayRef pooled, const AvgPoolAttrs& p) {
  const Dims dense(p.kernel.size(), 1);
  detail::check_windows(op, p.kernel.size(), p.kernel, p.stride, p.padding, dense);
  TANDEM_CHECK(!p.divisor_override || *p.divisor_override != 0, op, ": divisor must be not zero");
  return detail::pooled_extents(op, pooled, p.kernel, p.stride, p.padding, dense, p.ceil_mode);
}

void check_output(const char* op, IntArrayRef output) {
  for (const int64_t e : output)
    TANDEM_CHECK_SHAPE(e >= 0, op, ": elements of output_size must be greater than or equal to 0 ",
                       "but received ", output);
}

void check_pooled(const char* op, IntArrayRef extents) {
  for (const int64_t e : extents)
    TANDEM_CHECK_SHAPE(e > 0, op, ": there is nothing to pool in extents ", extents);
}

}  // namespace

TANDEM_OP(kAvgPoolBackward) = {
    .name = "avg_pool_backward",
    .infer =
        [](const InferArgs& a) {
          const auto& p = a.attrs<AvgPoolAttrs>();
          check_real(a.op.name, a.in());
          const PooledDims dims(a.op.name, a.in(), p.kernel.size(), p.channels_inner);
          TANDEM_CHECK_SHAPE(
              p.input.size() == p.kernel.size() &&
                  average_extents(a.op.name, p.input, p) == IntArrayRef(dims.extents(a.in().sizes)),
              a.op.name, ": a gradient ", a.in(), " of what pooled the extents ", p.input);
          a.out() = {dims.with(a.in().sizes, p.input), a.in().dtype, a.in().device};
        },
    .kernel =
        [](const KernelArgs& a) {
          const auto& p = a.attrs<AvgPoolAttrs>();
          kernels::avg_pool_transposed(a.in(), shape_of(p, a.out(), a.in()),
                                       {p.count_include_pad, p.divisor_override}, a.out());
        },
    .vjp = [](const VjpArgs& a) -> Grads {
      AvgPoolAttrs p = a.attrs<AvgPoolAttrs>();
      p.input = {};
      return {apply(kAvgPool, {a.grad()}, p)};
    },
    .attrs = attrs_of<AvgPoolAttrs>,
    .batch = batch_leading,
    .inputs = 1,
};

TANDEM_OP(kAvgPool) = {
    .name = "avg_pool",
    .infer =
        [](const InferArgs& a) {
          const auto& p = a.attrs<AvgPoolAttrs>();
          check_real(a.op.name, a.in());
          const PooledDims dims(a.op.name, a.in(), p.kernel.size(), p.channels_inner);
          const Dims extents = average_extents(a.op.name, dims.extents(a.in().sizes), p);
          a.out() = {dims.with(a.in().sizes, extents), a.in().dtype, a.in().device};
        },
    .kernel =
        [](const KernelArgs& a) {
          const auto& p = a.attrs<AvgPoolAttrs>();
          kernels::avg_pool(a.in(), shape_of(p, a.in(), a.out()),
                            {p.count_include_pad, p.divisor_override}, a.out());
        },
    .vjp = [](const VjpArgs& a) -> Grads {
      AvgPoolAttrs p = a.attrs<AvgPoolAttrs>();
      const PooledDims dims("avg_pool", a.input_type(), p.kernel.size(), p.channels_inner);
      p.input = dims.extents(a.input_type().sizes);
      return {apply(kAvgPoolBackward, {a.grad()}, p)};
    },
    .attrs = attrs_of<AvgPoolAttrs>,
    .batch = batch_leading,
    .inputs = 1,
};

TANDEM_OP(kAdaptiveAvgPoolBackward) = {
    .name = "adaptive_avg_pool_backward",
    .infer =
        [](const InferArgs& a) {
          const auto& p = a.attrs<AdaptivePoolAttrs>();
          check_real(a.op.name, a.in());
          const PooledDims dims(a.op.name, a.in(), p.output.size(), p.channels_inner);
          TANDEM_CHECK_SHAPE(p.input.size() == p.output.size() &&
                                 dims.extents(a.in().sizes) == IntArrayRef(p.output),
                             a.op.name, ": a gradient ", a.in(), " of what pooled ", p.input,
                             " to ", p.output);
          check_pooled(a.op.name, p.input);
          a.out() = {dims.with(a.in().sizes, p.input), a.in().dtype, a.in().device};
        },
    .kernel =
        [](const KernelArgs& a) {
          const auto& p = a.attrs<AdaptivePoolAttrs>();
          kernels::adaptive_avg_pool_transposed(
              a.in(), detail::pool_shape(a.out(), a.in(), p.output.size(), p.channels_inner),
              a.out());
        },
    .vjp = [](const VjpArgs& a) -> Grads {
      AdaptivePoolAttrs p = a.attrs<AdaptivePoolAttrs>();
      p.input = {};
      return {apply(kAdaptiveAvgPool, {a.grad()}, p)};
    },
    .attrs = attrs_of<AdaptivePoolAttrs>,
    .batch = batch_leading,
    .inputs = 1,
};

TANDEM_OP(kAdaptiveAvgPool) = {
    .name = "adaptive_avg_pool",
    .infer =
        [](const InferArgs& a) {
          const auto& p = a.attrs<AdaptivePoolAttrs>();
          check_real(a.op.name, a.in());
          const PooledDims dims(a.op.name, a.in(), p.output.size(), p.channels_inner);
          check_output(a.op.name, p.output);
          check_pooled(a.op.name, dims.extents(a.in().sizes));
          a.out() = {dims.with(a.in().sizes, p.output), a.in().dtype, a.in().device};
        },
    .kernel =
        [](const KernelArgs& a) {
          const auto& p = a.attrs<AdaptivePoolAttrs>();
          kernels::adaptive_avg_pool(
              a.in(), detail::pool_shape(a.in(), a.out(), p.output.size(), p.channels_inner),
              a.out());
        },
    .vjp = [](const VjpArgs& a) -> Grads {
      AdaptivePoolAttrs p = a.attrs<AdaptivePoolAttrs>();
      const PooledDims dims("adaptive_avg_pool", a.input_type(), p.output.size(), p.channels_inner);
      p.input = dims.extents(a.input_type().sizes);
      return {apply(kAdaptiveAvgPoolBackward, {a.grad()}, p)};
    },
    .attrs = attrs_of<AdaptivePoolAttrs>,
    .batch = batch_leading,
    .inputs = 1,
};

namespace {

Tensor averaged(const char* op, const Tensor& x, size_t n, IntArrayRef kernel_size,
                IntArrayRef stride, IntArrayRef padding, bool ceil_mode, bool count_include_pad,
                std::optional<int64_t> divisor_override) {
  detail::check_pool_input(op, x, static_cast<int64_t>(n));
  check_real(op, x.type_of());
  AvgPoolAttrs p;
  p.kernel = detail::expanded(op, "kernel_size", kernel_size, n);
  p.stride = detail::expanded(op, "stride", stride, n, p.kernel);
  p.padding = detail::expanded(op, "padding", padding, n);
  p.ceil_mode = ceil_mode;
  p.count_include_pad = count_include_pad;
  p.divisor_override = divisor_override;
  // Said again by the op, but with the name of the function that was called.
  average_extents(op, x.sizes().slice(static_cast<size_t>(x.dim()) - n), p);
  return apply(kAvgPool, {x}, p);
}

Tensor adaptive(const char* op, const Tensor& x, size_t n, IntArrayRef output_size) {
  detail::check_pool_input(op, x, static_cast<int64_t>(n));
  check_real(op, x.type_of());
  return apply(kAdaptiveAvgPool, {x},
               AdaptivePoolAttrs{{}, detail::expanded(op, "output_size", output_size, n), 1});
}

}  // namespace

Tensor avg_pool1d(const Tensor& x, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding,
                  bool ceil_mode, bool count_include_pad) {
  return averaged("avg_pool1d", x, 1, kernel_size, stride, padding, ceil_mode, count_include_pad,
                  std::nullopt);
}
Tensor avg_pool2d(const Tensor& x, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding,
                  bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor_override) {
  return averaged("avg_pool2d", x, 2, kernel_size, stride, padding, ceil_mode, count_include_pad,
                  divisor_override);
}
Tensor avg_pool3d(const Tensor& x, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding,
                  bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor_override) {
  return averaged("avg_pool3d", x, 3, kernel_size, stride, padding, ceil_mode, count_include_pad,
                  divisor_override);
}
Tensor adaptive_avg_pool1d(const Tensor& x, IntArrayRef output_size) {
  return adaptive("adaptive_avg_pool1d", x, 1, output_size);
}
Tensor adaptive_avg_pool2d(const Tensor& x, IntArrayRef output_size) {
  return adaptive("adaptive_avg_pool2d", x, 2, output_size);
}
Tensor adaptive_avg_pool3d(const Tensor& x, IntArrayRef output_size) {
  return adaptive("adaptive_avg_pool3d", x, 3, output_size);
}

}  // namespace tandem
