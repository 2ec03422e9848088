#include "tandem/core/apply.h"
#include "tandem/kernels/pool.h"
#include "tandem/ops/batch_detail.h"
#include "tandem/ops/creation.h"
#include "tandem/ops/pool.h"
#include "tandem/ops/pool_detail.h"
#include "tandem/ops/pool_op.h"

namespace tandem {
namespace {

using detail::as_extents;
using detail::PooledDims;

void check_number_type(const InferArgs& a) {
  TANDEM_CHECK_TYPE(a.in().dtype != kBool, a.op.name, ": expected numbers, got ", a.in());
}

// True iff numbers within a window fit in 8 bits.
bool fits_byte(IntArrayRef kernel) {
  int64_t volume = 1;
  for (const int64_t k : kernel) volume = std::min<int64_t>(volume * k, 1 << 20);
  return volume <= 256;
}

void set_outputs(const InferArgs& a, const Dims& sizes, DType index) {
  a.out(0) = {sizes, a.in().dtype, a.in().device};
  a.out(1) = {sizes, index, a.in().device};
}

kernels::PoolShape shape_of(const MaxPoolAttrs& p, const Array& x, const Array& out) {
  kernels::PoolShape s = detail::pool_shape(x, out, p.kernel.size(), p.channels_inner);
  s.kernel = as_extents(p.kernel, 1);
  s.stride = as_extents(p.stride, 1);
  s.padding = as_extents(p.padding, 0);
  s.dilation = as_extents(p.dilation, 1);
  return s;
}

kernels::PoolShape shape_of(const PoolIndexAttrs& p, const Array& pooled, const Array& result) {
  kernels::PoolShape s = detail::pool_shape(pooled, result, p.input.size(), p.channels_inner);
  if (p.kernel.empty()) return s;
  s.kernel = as_extents(p.kernel, 1);
  s.stride = as_extents(p.stride, 1);
  s.padding = as_extents(p.padding, 0);
  s.dilation = as_extents(p.dilation, 1);
  return s;
}

PoolIndexAttrs index_attrs(const MaxPoolAttrs& p, const TensorType& x) {
  const PooledDims dims("max_pool", x, p.kernel.size(), p.channels_inner);
  if (p.plane_index) return {dims.extents(x.sizes), {}, {}, {}, {}, p.channels_inner};
  return {dims.extents(x.sizes), p.kernel, p.stride, p.padding, p.dilation, p.channels_inner};
}

// The values and indices of in(0) and in(1), one of which comes from the other by `p`.
void check_indices(const InferArgs& a, const PoolIndexAttrs& p) {
  const size_t n = p.input.size();
  TANDEM_CHECK_TYPE(a.in(1).dtype == kLong || a.in(1).dtype == kByte, a.op.name,
                    ": indices are int64 or uint8, not ", a.in(1));
  TANDEM_CHECK_TYPE(a.in(0).dtype != kBool, a.op.name, ": expected numbers, got ", a.in(0));
  for (const int64_t e : p.input)
    TANDEM_CHECK_SHAPE(e >= 0, a.op.name, ": what was pooled cannot have the extents ", p.input);
  if (a.in(1).dtype == kByte || !p.kernel.empty())
    detail::check_windows(a.op.name, n, p.kernel, p.stride, p.padding, p.dilation);
  TANDEM_CHECK(a.in(1).dtype == kLong || fits_byte(p.kernel), a.op.name, ": a window of ", p.kernel,
               " has too many elements for indices of 8 bits");
}

PoolIndexAttrs plane_attrs(const char* op, const TensorType& x, size_t n, int64_t inner) {
  return {PooledDims(op, x, n, inner).extents(x.sizes), {}, {}, {}, {}, inner};
}

Grads index_vjp(const VjpArgs& a, const PoolIndexAttrs& p) {
  return {apply(kMaxPoolBackward, {a.grad_or_zeros(0), a.output(1)}, p)};
}

}  // namespace

TANDEM_OP(kMaxPoolBackward) = {
    .name = "max_pool_backward",
    .infer =
        [](const InferArgs& a) {
          const auto& p = a.attrs<PoolIndexAttrs>();
          check_indices(a, p);
          TANDEM_CHECK_SHAPE(a.in(0).sizes == a.in(1).sizes, a.op.name, ": a gradient ", a.in(0),
                             " with indices ", a.in(1));
          const PooledDims dims(a.op.name, a.in(0), p.input.size(), p.channels_inner);
          a.out() = {dims.with(a.in().sizes, p.input), a.in().dtype, a.in().device};
        },
    .kernel =
        [](const KernelArgs& a) {
          kernels::pool_scatter(a.in(0), a.in(1),
                                shape_of(a.attrs<PoolIndexAttrs>(), a.out(), a.in(0)), a.out());
        },
    .saves = Saves::each(Saves::in(1)),
    .vjp = [](const VjpArgs& a) -> Grads {
      if (!a.needs(0)) return {Tensor(), Tensor()};
      return {apply(kMaxPoolGather, {a.grad(), a.input(1)}, a.attr_ref()), Tensor()};
    },
    .attrs = attrs_of<PoolIndexAttrs>,
    .batch = batch_leading,
    .inputs = 2,
};

TANDEM_OP(kMaxPoolGather) = {
    .name = "max_pool_gather",
    .infer =
        [](const InferArgs& a) {
          const auto& p = a.attrs<PoolIndexAttrs>();
          check_indices(a, p);
          const PooledDims dims(a.op.name, a.in(0), p.input.size(), p.channels_inner);
          const PooledDims index_dims(a.op.name, a.in(1), p.input.size(), p.channels_inner);
          const Dims result = index_dims.extents(a.in(1).sizes);
          TANDEM_CHECK_SHAPE(a.in(0).dim() == a.in(1).dim() &&
                                 dims.extents(a.in(0).sizes) == IntArrayRef(p.input) &&
                                 dims.with(a.in(0).sizes, result) == IntArrayRef(a.in(1).sizes),
                             a.op.name, ": indices ", a.in(1), " into ", a.in(0));
          a.out() = {a.in(1).sizes, a.in(0).dtype, a.in(0).device};
        },
    .kernel =
        [](const KernelArgs& a) {
          kernels::pool_gather(a.in(0), a.in(1),
                               shape_of(a.attrs<PoolIndexAttrs>(), a.in(0), a.out()), a.out());
        },
    .saves = Saves::each(Saves::in(1)),
    .vjp = [](const VjpArgs& a) -> Grads {
      if (!a.needs(0)) return {Tensor(), Tensor()};
      return {apply(kMaxPoolBackward, {a.grad(), a.input(1)}, a.attr_ref()), Tensor()};
    },
    .attrs = attrs_of<PoolIndexAttrs>,
    .batch = batch_leading,
    .inputs = 2,
};

TANDEM_OP(kMaxPool) = {
    .name = "max_pool",
    .infer =
        [](const InferArgs& a) {
          const auto& p = a.attrs<MaxPoolAttrs>();
          check_number_type(a);
          const PooledDims dims(a.op.name, a.in(), p.kernel.size(), p.channels_inner);
          detail::check_windows(a.op.name, p.kernel.size(), p.kernel, p.stride, p.padding,
                                p.dilation);
          TANDEM_CHECK(p.plane_index || fits_byte(p.kernel), a.op.name, ": a window of ", p.kernel,
                       " has too many elements for indices of 8 bits");
          const Dims extents =
              detail::pooled_extents(a.op.name, dims.extents(a.in().sizes), p.kernel, p.stride,
                                     p.padding, p.dilation, p.ceil_mode);
          set_outputs(a, dims.with(a.in().sizes, extents), p.plane_index ? kLong : kByte);
        },
    .kernel =
        [](const KernelArgs& a) {
          kernels::max_pool(a.in(), shape_of(a.attrs<MaxPoolAttrs>(), a.in(), a.out()), a.out(0),
                            a.out(1));
        },
    .saves = Saves::output(1),
    .vjp = [](const VjpArgs& a) -> Grads {
      return index_vjp(a, index_attrs(a.attrs<MaxPoolAttrs>(), a.input_type()));
    },
    .outputs = 2,
    .attrs = attrs_of<MaxPoolAttrs>,
    .batch = batch_leading,
    .inputs = 1,
};

TANDEM_OP(kAdaptiveMaxPool) = {
    .name = "adaptive_max_pool",
    .infer =
        [](const InferArgs& a) {
          const auto& p = a.attrs<AdaptivePoolAttrs>();
          check_number_type(a);
          const PooledDims dims(a.op.name, a.in(), p.output.size(), p.channels_inner);
          for (const int64_t e : p.output)
            TANDEM_CHECK_SHAPE(e >= 0, a.op.name, ": output_size ", p.output);
          for (const int64_t e : dims.extents(a.in().sizes))
            TANDEM_CHECK_SHAPE(e > 0, a.op.name, ": there is nothing to pool in ", a.in());
          set_outputs(a, dims.with(a.in().sizes, p.output), kLong);
        },
    .kernel =
        [](const KernelArgs& a) {
          const auto& p = a.attrs<AdaptivePoolAttrs>();
          kernels::adaptive_max_pool(
              a.in(), detail::pool_shape(a.in(), a.out(), p.output.size(), p.channels_inner),
              a.out(0), a.out(1));
        },
    .saves = Saves::output(1),
    .vjp = [](const VjpArgs& a) -> Grads {
      const auto& p = a.attrs<AdaptivePoolAttrs>();
      return index_vjp(
          a, plane_attrs("adaptive_max_pool", a.input_type(), p.output.size(), p.channels_inner));
    },
    .outputs = 2,
    .attrs = attrs_of<AdaptivePoolAttrs>,
    .batch = batch_leading,
    .inputs = 1,
};

TANDEM_OP(kFractionalMaxPool) = {
    .name = "fractional_max_pool",
    .infer =
        [](const InferArgs& a) {
          const auto& p = a.attrs<FractionalPoolAttrs>();
          check_number_type(a);
          const size_t n = p.kernel.size();
          const PooledDims dims(a.op.name, a.in(), n, 1);
          TANDEM_CHECK(n >= 2 && p.output.size() == n, a.op.name, ": kernel_size ", p.kernel,
                       " and output_size ", p.output, " have 2 or 3 numbers each");
          const Dims extents = dims.extents(a.in().sizes);
          for (size_t d = 0; d < n; ++d)
            TANDEM_CHECK_SHAPE(p.kernel[d] > 0 && p.output[d] > 0 && p.kernel[d] <= extents[d] &&
                                   p.output[d] <= extents[d] - p.kernel[d] + 1,
                               a.op.name, ": windows of ", p.kernel, " that give an output of ",
                               p.output, " do not fit in an input of extents ", extents);
          Dims want(IntArrayRef(a.in(0).sizes).slice(0, static_cast<size_t>(dims.first)));
          want.push_back(static_cast<int64_t>(n));
          TANDEM_CHECK_SHAPE(is_floating(a.in(1).dtype) && a.in(1).sizes == want, a.op.name,
                             ": random_samples are real numbers of shape ", want, ", not ",
                             a.in(1));
          set_outputs(a, dims.with(a.in().sizes, p.output), kLong);
        },
    .kernel =
        [](const KernelArgs& a) {
          const auto& p = a.attrs<FractionalPoolAttrs>();
          kernels::PoolShape s = detail::pool_shape(a.in(), a.out(), p.kernel.size(), 1);
          s.kernel = as_extents(p.kernel, 1);
          kernels::fractional_max_pool(a.in(0), a.in(1), s, a.out(0), a.out(1));
        },
    .saves = Saves::output(1),
    .vjp = [](const VjpArgs& a) -> Grads {
      if (!a.needs(0)) return {Tensor(), Tensor()};
      const PoolIndexAttrs p = plane_attrs("fractional_max_pool", a.input_type(),
                                           a.attrs<FractionalPoolAttrs>().kernel.size(), 1);
      return {apply(kMaxPoolBackward, {a.grad_or_zeros(0), a.output(1)}, p), Tensor()};
    },
    .outputs = 2,
    .attrs = attrs_of<FractionalPoolAttrs>,
    .batch = batch_leading,
    .inputs = 2,
};

namespace {

std::array<Tensor, 2> pooled(const char* op, const Tensor& x, size_t n, IntArrayRef kernel_size,
                             IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,
                             bool ceil_mode, bool plane_index) {
  detail::check_pool_input(op, x, static_cast<int64_t>(n));
  MaxPoolAttrs p;
  p.kernel = detail::expanded(op, "kernel_size", kernel_size, n);
  p.stride = detail::expanded(op, "stride", stride, n, p.kernel);
  p.padding = detail::expanded(op, "padding", padding, n);
  p.dilation = detail::expanded(op, "dilation", dilation, n);
  p.ceil_mode = ceil_mode;
  p.plane_index = plane_index;
  // Said again by the op, but with the name of the function that was called.
  detail::check_windows(op, n, p.kernel, p.stride, p.padding, p.dilation);
  TANDEM_CHECK_TYPE(x.dtype() != kBool, op, ": expected numbers, got ", x.type_of());
  detail::pooled_extents(op, x.sizes().slice(static_cast<size_t>(x.dim()) - n), p.kernel, p.stride,
                         p.padding, p.dilation, ceil_mode);
  p.plane_index = plane_index || !fits_byte(p.kernel);
  return apply_n<2>(kMaxPool, {x}, p);
}

std::tuple<Tensor, Tensor> both(std::array<Tensor, 2> r) {
  return {std::move(r[0]), std::move(r[1])};
}

std::tuple<Tensor, Tensor> adaptive(const char* op, const Tensor& x, size_t n,
                                    IntArrayRef output_size) {
  detail::check_pool_input(op, x, static_cast<int64_t>(n));
  TANDEM_CHECK_TYPE(x.dtype() != kBool, op, ": expected numbers, got ", x.type_of());
  return both(
      apply_n<2>(kAdaptiveMaxPool, {x},
                 AdaptivePoolAttrs{{}, detail::expanded(op, "output_size", output_size, n), 1}));
}

std::tuple<Tensor, Tensor> fractional(const char* op, const Tensor& x, size_t n,
                                      IntArrayRef kernel_size, IntArrayRef output_size,
                                      const Tensor& random_samples) {
  detail::check_pool_input(op, x, static_cast<int64_t>(n));
  TANDEM_CHECK_TYPE(x.dtype() != kBool, op, ": expected numbers, got ", x.type_of());
  Dims want(x.sizes().slice(0, static_cast<size_t>(x.dim()) - n));
  want.push_back(static_cast<int64_t>(n));
  TANDEM_CHECK_SHAPE(random_samples.numel() == numel_of(want) && random_samples.dim() == 3 &&
                         random_samples.size(-1) == static_cast<int64_t>(n),
                     op, ": random_samples of shape ", random_samples.sizes(),
                     " for an input of shape ", x.sizes());
  return both(apply_n<2>(kFractionalMaxPool, {x, random_samples.reshape(want)},
                         FractionalPoolAttrs{detail::expanded(op, "kernel_size", kernel_size, n),
                                             detail::expanded(op, "output_size", output_size, n)}));
}

// Planes side by side, each with its elements in a row.
Tensor unpooled(const char* op, const Tensor& x, const Tensor& indices, size_t n,
                IntArrayRef output_size) {
  detail::check_pool_input(op, x, static_cast<int64_t>(n));
  TANDEM_CHECK_TYPE(indices.dtype() == kLong, op,
                    "(): elements in indices should be type int64 but got: ", indices.dtype());
  TANDEM_CHECK_SHAPE(x.sizes() == indices.sizes(), op,
                     "(): Expected shape of indices to be same as that of the input tensor (",
                     x.sizes(), ") but got indices tensor with shape: ", indices.sizes());
  TANDEM_CHECK_SHAPE(output_size.size() == n, op, "(): output_size has ", n, " numbers, not ",
                     output_size.size());
  const size_t leading = static_cast<size_t>(x.dim()) - n;
  Dims sizes(x.sizes().slice(0, leading)), flat = sizes;
  for (size_t d = 0; d < n; ++d) {
    TANDEM_CHECK_SHAPE(output_size[d] >= 0 && (x.numel() == 0 || x.size(leading + d) > 0), op,
                       "(): Expected input and output_size to have positive extents, but got ",
                       x.sizes(), " and ", output_size);
    sizes.push_back(output_size[d]);
  }
  flat.push_back(-1);
  Dims one_row(flat);
  one_row.back() = numel_of(output_size);
  const Tensor zeros = tandem::zeros(one_row, x.options());
  if (x.numel() == 0) return zeros.view(sizes);
  return zeros.scatter(-1, indices.reshape(flat), x.reshape(flat)).view(sizes);
}

}  // namespace

Tensor max_pool1d(const Tensor& x, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding,
                  IntArrayRef dilation, bool ceil_mode) {
  return pooled("max_pool1d", x, 1, kernel_size, stride, padding, dilation, ceil_mode, false)[0];
}
Tensor max_pool2d(const Tensor& x, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding,
                  IntArrayRef dilation, bool ceil_mode) {
  return pooled("max_pool2d", x, 2, kernel_size, stride, padding, dilation, ceil_mode, false)[0];
}
Tensor max_pool3d(const Tensor& x, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding,
                  IntArrayRef dilation, bool ceil_mode) {
  return pooled("max_pool3d", x, 3, kernel_size, stride, padding, dilation, ceil_mode, false)[0];
}
std::tuple<Tensor, Tensor> max_pool1d_with_indices(const Tensor& x, IntArrayRef kernel_size,
                                                   IntArrayRef stride, IntArrayRef padding,
                                                   IntArrayRef dilation, bool ceil_mode) {
  return both(pooled("max_pool1d_with_indices", x, 1, kernel_size, stride, padding, dilation,
                     ceil_mode, true));
}
std::tuple<Tensor, Tensor> max_pool2d_with_indices(const Tensor& x, IntArrayRef kernel_size,
                                                   IntArrayRef stride, IntArrayRef padding,
                                                   IntArrayRef dilation, bool ceil_mode) {
  return both(pooled("max_pool2d_with_indices", x, 2, kernel_size, stride, padding, dilation,
                     ceil_mode, true));
}
std::tuple<Tensor, Tensor> max_pool3d_with_indices(const Tensor& x, IntArrayRef kernel_size,
                                                   IntArrayRef stride, IntArrayRef padding,
                                                   IntArrayRef dilation, bool ceil_mode) {
  return both(pooled("max_pool3d_with_indices", x, 3, kernel_size, stride, padding, dilation,
                     ceil_mode, true));
}

std::tuple<Tensor, Tensor> adaptive_max_pool1d(const Tensor& x, IntArrayRef output_size) {
  return adaptive("adaptive_max_pool1d", x, 1, output_size);
}
std::tuple<Tensor, Tensor> adaptive_max_pool2d(const Tensor& x, IntArrayRef output_size) {
  return adaptive("adaptive_max_pool2d", x, 2, output_size);
}
std::tuple<Tensor, Tensor> adaptive_max_pool3d(const Tensor& x, IntArrayRef output_size) {
  return adaptive("adaptive_max_pool3d", x, 3, output_size);
}

std::tuple<Tensor, Tensor> fractional_max_pool2d(const Tensor& x, IntArrayRef kernel_size,
                                                 IntArrayRef output_size,
                                                 const Tensor& random_samples) {
  return fractional("fractional_max_pool2d", x, 2, kernel_size, output_size, random_samples);
}
std::tuple<Tensor, Tensor> fractional_max_pool3d(const Tensor& x, IntArrayRef kernel_size,
                                                 IntArrayRef output_size,
                                                 const Tensor& random_samples) {
  return fractional("fractional_max_pool3d", x, 3, kernel_size, output_size, random_samples);
}

Tensor max_unpool2d(const Tensor& x, const Tensor& indices, IntArrayRef output_size) {
  return unpooled("max_unpool2d", x, indices, 2, output_size);
}
Tensor max_unpool3d(const Tensor& x, const Tensor& indices, IntArrayRef output_size,
                    IntArrayRef stride, IntArrayRef padding) {
  TANDEM_CHECK(stride.size() == 3 && padding.size() == 3,
               "max_unpool3d(): stride and padding have three numbers, not ", stride, " and ",
               padding);
  for (const int64_t s : stride)
    TANDEM_CHECK(s > 0,
                 "max_unpool3d(): strides should be greater than zero, but got stride: ", stride);
  return unpooled("max_unpool3d", x, indices, 3, output_size);
}

}  // namespace tandem
