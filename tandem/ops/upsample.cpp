#include "tandem/ops/upsample.h"

#include <algorithm>
#include <cmath>

#include "tandem/core/apply.h"
#include "tandem/kernels/resample.h"
#include "tandem/ops/attr_checks_detail.h"
#include "tandem/ops/batch_detail.h"
#include "tandem/ops/pool_detail.h"

namespace tandem {

extern const OpDef kUpsample;

namespace {

using kernels::ResampleMode;
using Scale = std::optional<double>;

struct UpsampleAttrs {
  Dims input;   // extents of what is resampled; empty in the forward op
  Dims output;  // extents of the result
  ResampleMode mode;
  bool align_corners = false;
  bool antialias = false;
  SmallVector<double, 3> scales;  // 0: the extents say it
  TANDEM_FIELDS(input, output, mode, align_corners, antialias, scales)
};

bool moves_only(ResampleMode mode) {
  return mode == ResampleMode::Nearest || mode == ResampleMode::NearestExact;
}

// Checks the attributes for a tensor whose last dimensions have the extents `there`.
detail::PooledDims check(const InferArgs& a, const UpsampleAttrs& p, bool backward) {
  detail::check_choice(a, p.mode, ResampleMode::Cubic);
  const detail::PooledDims dims(a.op.name, a.in(), p.output.size(), 1);
  TANDEM_CHECK_TYPE(is_floating(a.in().dtype) || (moves_only(p.mode) && !backward), a.op.name,
                    ": expected a floating point tensor, got ", a.in());
  TANDEM_CHECK(p.scales.size() == p.output.size(), a.op.name, ": ", p.scales.size(),
               " scales for an output of extents ", p.output);
  const Dims input = backward ? p.input : dims.extents(a.in().sizes);
  bool fits = input.size() == p.output.size();
  for (size_t d = 0; fits && d < input.size(); ++d)
    fits = input[d] > 0 && p.output[d] > 0 && std::max(input[d], p.output[d]) < (int64_t{1} << 31);
  TANDEM_CHECK_SHAPE(
      fits, a.op.name,
      ": Input and output sizes should be greater than 0 and below 2^31, but got input ", input,
      " and output ", p.output);
  return dims;
}

kernels::Resampling how(const UpsampleAttrs& p) {
  kernels::Resampling r;
  r.mode = p.mode;
  r.align_corners = p.align_corners;
  r.antialias = p.antialias;
  for (size_t i = 0; i < p.scales.size(); ++i)
    if (p.scales[i] > 0) r.scales[3 - p.scales.size() + i] = p.scales[i];
  return r;
}

}  // namespace

TANDEM_OP(kUpsampleBackward) = {
    .name = "upsample_backward",
    .infer =
        [](const InferArgs& a) {
          const auto& p = a.attrs<UpsampleAttrs>();
          const detail::PooledDims dims = check(a, p, true);
          TANDEM_CHECK_SHAPE(dims.extents(a.in().sizes) == IntArrayRef(p.output), a.op.name,
                             ": a gradient ", a.in(), " of an output of extents ", p.output);
          a.out() = {dims.with(a.in().sizes, p.input), a.in().dtype, a.in().device};
        },
    .kernel =
        [](const KernelArgs& a) {
          const auto& p = a.attrs<UpsampleAttrs>();
          kernels::resample_transposed(
              a.in(), detail::pool_shape(a.out(), a.in(), p.output.size(), 1), how(p), a.out());
        },
    .vjp = [](const VjpArgs& a) -> Grads {
      UpsampleAttrs p = a.attrs<UpsampleAttrs>();
      p.input = {};
      return {apply(kUpsample, {a.grad()}, p)};
    },
    .attrs = attrs_of<UpsampleAttrs>,
    .batch = batch_leading,
    .inputs = 1,
};

TANDEM_OP(kUpsample) = {
    .name = "upsample",
    .infer =
        [](const InferArgs& a) {
          const auto& p = a.attrs<UpsampleAttrs>();
          const detail::PooledDims dims = check(a, p, false);
          a.out() = {dims.with(a.in().sizes, p.output), a.in().dtype, a.in().device};
        },
    .kernel =
        [](const KernelArgs& a) {
          const auto& p = a.attrs<UpsampleAttrs>();
          kernels::resample(a.in(), detail::pool_shape(a.in(), a.out(), p.output.size(), 1), how(p),
                            a.out());
        },
    .vjp = [](const VjpArgs& a) -> Grads {
      UpsampleAttrs p = a.attrs<UpsampleAttrs>();
      p.input = Dims(
          IntArrayRef(a.input_type().sizes).slice(a.input_type().sizes.size() - p.output.size()));
      return {apply(kUpsampleBackward, {a.grad()}, p)};
    },
    .attrs = attrs_of<UpsampleAttrs>,
    .batch = batch_leading,
    .inputs = 1,
};

namespace {

Tensor upsampled(const char* op, const Tensor& x, size_t n, IntArrayRef output_size,
                 ResampleMode mode, bool align_corners, bool antialias,
                 std::initializer_list<Scale> scales) {
  TANDEM_CHECK_SHAPE(output_size.size() == n, op, ": It is expected output_size equals to ", n,
                     ", but got size ", output_size.size());
  TANDEM_CHECK_SHAPE(x.dim() == static_cast<int64_t>(n) + 2, op,
                     ": It is expected input_size equals to ", n + 2, ", but got size ", x.dim(),
                     ": ", x.sizes());
  TANDEM_CHECK_TYPE(moves_only(mode) || x.is_floating_point(), op,
                    ": expected a floating point tensor, got ", x.type_of());
  UpsampleAttrs p{{}, Dims(output_size), mode, align_corners, antialias, {}};
  for (const Scale& s : scales) {
    TANDEM_CHECK(!s || std::isfinite(*s), op, ": a scale of ", *s);
    p.scales.push_back(s.value_or(0));
  }
  bool fits = true;
  for (size_t d = 0; d < n; ++d)
    fits = fits && output_size[d] > 0 && x.size(static_cast<int64_t>(d) + 2) > 0;
  TANDEM_CHECK_SHAPE(fits, op, ": Input and output sizes should be greater than 0, but got input ",
                     x.sizes(), " and output_size ", output_size);
  return apply(kUpsample, {x}, p);
}

// The extents of the result where factors are given in their stead.
Dims extents_of(const char* op, const Tensor& x, size_t n, const OptionalIntArrayRef& output_size,
                const ScaleFactors& factors) {
  TANDEM_CHECK(output_size.has_value() != factors.has_value(), op,
               ": Must specify exactly one of output_size and scale_factors");
  if (output_size) return Dims(*output_size);
  TANDEM_CHECK(factors->size() == n && x.dim() == static_cast<int64_t>(n) + 2, op, ": ",
               factors->size(), " factors for an input of shape ", x.sizes());
  Dims result;
  for (size_t d = 0; d < n; ++d) {
    const double size = static_cast<double>(x.size(static_cast<int64_t>(d) + 2)) * (*factors)[d];
    TANDEM_CHECK(size >= 0 && size < 0x1p62, op, ": a scale factor of ", (*factors)[d]);
    result.push_back(static_cast<int64_t>(size));
  }
  return result;
}

Scale factor(const ScaleFactors& factors, size_t d) {
  return factors ? Scale((*factors)[d]) : std::nullopt;
}

}  // namespace

Tensor upsample_nearest1d(const Tensor& x, IntArrayRef output_size, Scale scales) {
  return upsampled("upsample_nearest1d", x, 1, output_size, ResampleMode::Nearest, false, false,
                   {scales});
}
Tensor upsample_nearest1d(const Tensor& x, OptionalIntArrayRef output_size, ScaleFactors factors) {
  const Dims sizes = extents_of("upsample_nearest1d", x, 1, output_size, factors);
  return upsample_nearest1d(x, IntArrayRef(sizes), factor(factors, 0));
}

Tensor upsample_nearest2d(const Tensor& x, IntArrayRef output_size, Scale scales_h,
                          Scale scales_w) {
  return upsampled("upsample_nearest2d", x, 2, output_size, ResampleMode::Nearest, false, false,
                   {scales_h, scales_w});
}
Tensor upsample_nearest2d(const Tensor& x, OptionalIntArrayRef output_size, ScaleFactors factors) {
  const Dims sizes = extents_of("upsample_nearest2d", x, 2, output_size, factors);
  return upsample_nearest2d(x, IntArrayRef(sizes), factor(factors, 0), factor(factors, 1));
}

Tensor upsample_nearest3d(const Tensor& x, IntArrayRef output_size, Scale scales_d, Scale scales_h,
                          Scale scales_w) {
  return upsampled("upsample_nearest3d", x, 3, output_size, ResampleMode::Nearest, false, false,
                   {scales_d, scales_h, scales_w});
}
Tensor upsample_nearest3d(const Tensor& x, OptionalIntArrayRef output_size, ScaleFactors factors) {
  const Dims sizes = extents_of("upsample_nearest3d", x, 3, output_size, factors);
  return upsample_nearest3d(x, IntArrayRef(sizes), factor(factors, 0), factor(factors, 1),
                            factor(factors, 2));
}

Tensor _upsample_nearest_exact1d(const Tensor& x, IntArrayRef output_size, Scale scales) {
  return upsampled("_upsample_nearest_exact1d", x, 1, output_size, ResampleMode::NearestExact,
                   false, false, {scales});
}
Tensor _upsample_nearest_exact1d(const Tensor& x, OptionalIntArrayRef output_size,
                                 ScaleFactors factors) {
  const Dims sizes = extents_of("_upsample_nearest_exact1d", x, 1, output_size, factors);
  return _upsample_nearest_exact1d(x, IntArrayRef(sizes), factor(factors, 0));
}

Tensor _upsample_nearest_exact2d(const Tensor& x, IntArrayRef output_size, Scale scales_h,
                                 Scale scales_w) {
  return upsampled("_upsample_nearest_exact2d", x, 2, output_size, ResampleMode::NearestExact,
                   false, false, {scales_h, scales_w});
}
Tensor _upsample_nearest_exact2d(const Tensor& x, OptionalIntArrayRef output_size,
                                 ScaleFactors factors) {
  const Dims sizes = extents_of("_upsample_nearest_exact2d", x, 2, output_size, factors);
  return _upsample_nearest_exact2d(x, IntArrayRef(sizes), factor(factors, 0), factor(factors, 1));
}

Tensor _upsample_nearest_exact3d(const Tensor& x, IntArrayRef output_size, Scale scales_d,
                                 Scale scales_h, Scale scales_w) {
  return upsampled("_upsample_nearest_exact3d", x, 3, output_size, ResampleMode::NearestExact,
                   false, false, {scales_d, scales_h, scales_w});
}
Tensor _upsample_nearest_exact3d(const Tensor& x, OptionalIntArrayRef output_size,
                                 ScaleFactors factors) {
  const Dims sizes = extents_of("_upsample_nearest_exact3d", x, 3, output_size, factors);
  return _upsample_nearest_exact3d(x, IntArrayRef(sizes), factor(factors, 0), factor(factors, 1),
                                   factor(factors, 2));
}

Tensor upsample_linear1d(const Tensor& x, IntArrayRef output_size, bool align_corners,
                         Scale scales) {
  return upsampled("upsample_linear1d", x, 1, output_size, ResampleMode::Linear, align_corners,
                   false, {scales});
}
Tensor upsample_linear1d(const Tensor& x, OptionalIntArrayRef output_size, bool align_corners,
                         ScaleFactors factors) {
  const Dims sizes = extents_of("upsample_linear1d", x, 1, output_size, factors);
  return upsample_linear1d(x, IntArrayRef(sizes), align_corners, factor(factors, 0));
}

Tensor upsample_bilinear2d(const Tensor& x, IntArrayRef output_size, bool align_corners,
                           Scale scales_h, Scale scales_w) {
  return upsampled("upsample_bilinear2d", x, 2, output_size, ResampleMode::Linear, align_corners,
                   false, {scales_h, scales_w});
}
Tensor upsample_bilinear2d(const Tensor& x, OptionalIntArrayRef output_size, bool align_corners,
                           ScaleFactors factors) {
  const Dims sizes = extents_of("upsample_bilinear2d", x, 2, output_size, factors);
  return upsample_bilinear2d(x, IntArrayRef(sizes), align_corners, factor(factors, 0),
                             factor(factors, 1));
}

Tensor upsample_bicubic2d(const Tensor& x, IntArrayRef output_size, bool align_corners,
                          Scale scales_h, Scale scales_w) {
  return upsampled("upsample_bicubic2d", x, 2, output_size, ResampleMode::Cubic, align_corners,
                   false, {scales_h, scales_w});
}
Tensor upsample_bicubic2d(const Tensor& x, OptionalIntArrayRef output_size, bool align_corners,
                          ScaleFactors factors) {
  const Dims sizes = extents_of("upsample_bicubic2d", x, 2, output_size, factors);
  return upsample_bicubic2d(x, IntArrayRef(sizes), align_corners, factor(factors, 0),
                            factor(factors, 1));
}

Tensor upsample_trilinear3d(const Tensor& x, IntArrayRef output_size, bool align_corners,
                            Scale scales_d, Scale scales_h, Scale scales_w) {
  return upsampled("upsample_trilinear3d", x, 3, output_size, ResampleMode::Linear, align_corners,
                   false, {scales_d, scales_h, scales_w});
}
Tensor upsample_trilinear3d(const Tensor& x, OptionalIntArrayRef output_size, bool align_corners,
                            ScaleFactors factors) {
  const Dims sizes = extents_of("upsample_trilinear3d", x, 3, output_size, factors);
  return upsample_trilinear3d(x, IntArrayRef(sizes), align_corners, factor(factors, 0),
                              factor(factors, 1), factor(factors, 2));
}

Tensor _upsample_bilinear2d_aa(const Tensor& x, IntArrayRef output_size, bool align_corners,
                               Scale scales_h, Scale scales_w) {
  return upsampled("_upsample_bilinear2d_aa", x, 2, output_size, ResampleMode::Linear,
                   align_corners, true, {scales_h, scales_w});
}
Tensor _upsample_bilinear2d_aa(const Tensor& x, OptionalIntArrayRef output_size, bool align_corners,
                               ScaleFactors factors) {
  const Dims sizes = extents_of("_upsample_bilinear2d_aa", x, 2, output_size, factors);
  return _upsample_bilinear2d_aa(x, IntArrayRef(sizes), align_corners, factor(factors, 0),
                                 factor(factors, 1));
}

Tensor _upsample_bicubic2d_aa(const Tensor& x, IntArrayRef output_size, bool align_corners,
                              Scale scales_h, Scale scales_w) {
  return upsampled("_upsample_bicubic2d_aa", x, 2, output_size, ResampleMode::Cubic, align_corners,
                   true, {scales_h, scales_w});
}
Tensor _upsample_bicubic2d_aa(const Tensor& x, OptionalIntArrayRef output_size, bool align_corners,
                              ScaleFactors factors) {
  const Dims sizes = extents_of("_upsample_bicubic2d_aa", x, 2, output_size, factors);
  return _upsample_bicubic2d_aa(x, IntArrayRef(sizes), align_corners, factor(factors, 0),
                                factor(factors, 1));
}

}  // namespace tandem
