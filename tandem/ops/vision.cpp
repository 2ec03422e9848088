#include "tandem/ops/vision.h"

#include "tandem/core/apply.h"
#include "tandem/ops/attr_checks_detail.h"
#include "tandem/ops/batch_detail.h"
#include "tandem/ops/ops.h"
#include "tandem/ops/vision_op.h"

namespace tandem {

namespace {

using kernels::GridMode;
using kernels::GridPadding;

template <class A>
kernels::GridSampling how(const A& p) {
  return {p.mode, p.padding, p.align_corners};
}

// The image and the grid at inputs i and i + 1; gives the type of the result.
template <class A>
TensorType check(const InferArgs& a, int i) {
  const auto& p = a.attrs<A>();
  detail::check_choice(a, p.mode, GridMode::Bicubic);
  detail::check_choice(a, p.padding, GridPadding::Reflection);
  const TensorType &x = a.in(i), &grid = a.in(i + 1);
  TANDEM_CHECK_TYPE(is_floating(x.dtype) && x.dtype == grid.dtype, a.op.name,
                    ": expected input and grid of one floating point dtype, got ", x, " and ",
                    grid);
  TANDEM_CHECK_SHAPE((x.dim() == 4 || x.dim() == 5) && grid.dim() == x.dim(), a.op.name,
                     ": expected 4D or 5D input and grid with the same number of dimensions, but "
                     "got input with sizes ",
                     x.sizes, " and grid with sizes ", grid.sizes);
  TANDEM_CHECK_SHAPE(x.sizes[0] == grid.sizes[0], a.op.name,
                     ": expected grid and input to have same batch size, but got input with sizes ",
                     x.sizes, " and grid with sizes ", grid.sizes);
  TANDEM_CHECK_SHAPE(grid.sizes[grid.dim() - 1] == x.dim() - 2, a.op.name,
                     ": expected grid to have size ", x.dim() - 2,
                     " in last dimension, but got grid with sizes ", grid.sizes);
  int64_t image = 1;
  for (int64_t d = 2; d < x.dim(); ++d) {
    TANDEM_CHECK_SHAPE(x.sizes[d] > 0, a.op.name,
                       ": expected input to have non-empty spatial dimensions, but got ", x);
    image = std::min(image * x.sizes[d], int64_t{1} << 31);
  }
  TANDEM_CHECK_SHAPE(image < (int64_t{1} << 31), a.op.name, ": an image of ", x, " is too large");
  TANDEM_CHECK(p.mode != GridMode::Bicubic || x.dim() == 4, a.op.name,
               ": bicubic interpolation only supports 4D input, not ", x);
  Dims sizes{x.sizes[0], x.sizes[1]};
  sizes.append(grid.sizes.begin() + 1, grid.sizes.end() - 1);
  return {sizes, x.dtype, x.device};
}

// Samples of vmap and samples of the op become one dimension.
void batch_samples(const BatchArgs& a) {
  SmallVector<Tensor, 4> inputs;
  int64_t each = 0;
  for (int i = 0; i < a.n_inputs; ++i) {
    const Tensor x = a.sample(i);
    each = x.size(1);
    inputs.push_back(x.flatten(0, 1));
  }
  apply_to(a.op, inputs, a.attr_ref, a.outputs);
  for (int o = 0; o < a.op.outputs; ++o) {
    Dims sizes{a.size, each};
    sizes.append(a.outputs[o].sizes().begin() + 1, a.outputs[o].sizes().end());
    a.outputs[o] = a.outputs[o].reshape(sizes);
  }
}

}  // namespace

TANDEM_OP(kGridSample) = {
    .name = "grid_sampler",
    .infer = [](const InferArgs& a) { a.out() = check<GridSampleAttrs>(a, 0); },
    .kernel =
        [](const KernelArgs& a) {
          kernels::grid_sample(a.in(0), a.in(1), how(a.attrs<GridSampleAttrs>()), a.out());
        },
    .saves = Saves::all(Saves::in(0) | Saves::in(1)),
    .vjp = [](const VjpArgs& a) -> Grads {
      const auto& p = a.attrs<GridSampleAttrs>();
      const auto [x, grid] = apply_n<2>(
          kGridSampleBackward, {a.grad(), a.input(0), a.input(1)},
          GridSampleBackwardAttrs{p.mode, p.padding, p.align_corners, a.needs(0), a.needs(1)});
      return {a.needs(0) ? x : Tensor(), a.needs(1) ? grid : Tensor()};
    },
    .attrs = attrs_of<GridSampleAttrs>,
    .batch = batch_samples,
    .inputs = 2,
};

TANDEM_OP(kGridSampleBackward) = {
    .name = "grid_sampler_backward",
    .infer =
        [](const InferArgs& a) {
          const auto& p = a.attrs<GridSampleBackwardAttrs>();
          const TensorType result = check<GridSampleBackwardAttrs>(a, 1);
          TANDEM_CHECK_SHAPE(a.in(0).sizes == result.sizes && a.in(0).dtype == result.dtype,
                             a.op.name, ": a gradient ", a.in(0), " of a result ", result);
          const Dims none{a.in(1).sizes[0], 0};
          a.out(0) = {p.by_input ? a.in(1).sizes : none, a.in(1).dtype, a.in(1).device};
          a.out(1) = {p.by_grid ? a.in(2).sizes : none, a.in(2).dtype, a.in(2).device};
        },
    .kernel =
        [](const KernelArgs& a) {
          kernels::grid_sample_backward(a.in(0), a.in(1), a.in(2),
                                        how(a.attrs<GridSampleBackwardAttrs>()), a.out(0),
                                        a.out(1));
        },
    .saves = Saves::each(Saves::in(2), 0, Saves::in(0) | Saves::in(2)),
    .vjp = [](const VjpArgs& a) -> Grads {
      TANDEM_CHECK(!a.has_grad(1),
                   "grid_sampler: its gradient by the grid cannot be differentiated again, only "
                   "its gradient by the input");
      // What reaches the image is <gradient, image through the grid>, with the new gradient for the
      // image.
      const auto& p = a.attrs<GridSampleBackwardAttrs>();
      Grads grads(3);
      if (a.needs(0))
        grads[0] = apply(kGridSample, {a.grad(0), a.input(2)},
                         GridSampleAttrs{p.mode, p.padding, p.align_corners});
      if (a.needs(2))
        grads[2] =
            apply_n<2>(kGridSampleBackward, {a.input(0), a.grad(0), a.input(2)},
                       GridSampleBackwardAttrs{p.mode, p.padding, p.align_corners, false, true})[1];
      return grads;
    },
    .outputs = 2,
    .attrs = attrs_of<GridSampleBackwardAttrs>,
    .batch = batch_samples,
    .inputs = 3,
};

namespace {

Tensor sampled(const char* op, const Tensor& x, const Tensor& grid, int64_t interpolation_mode,
               int64_t padding_mode, bool align_corners) {
  TANDEM_CHECK(interpolation_mode >= 0 && interpolation_mode <= 2, op,
               ": interpolation modes are 0, 1 and 2, not ", interpolation_mode);
  TANDEM_CHECK(padding_mode >= 0 && padding_mode <= 2, op, ": padding modes are 0, 1 and 2, not ",
               padding_mode);
  return apply(kGridSample, {x, grid},
               GridSampleAttrs{static_cast<GridMode>(interpolation_mode),
                               static_cast<GridPadding>(padding_mode), align_corners});
}

// n places from -1 to 1: the centres of elements, or the outermost ones at the ends.
Tensor places(int64_t n, bool align_corners, const TensorOptions& options) {
  if (n <= 1) return zeros({n}, options);
  const Tensor range = linspace(-1, 1, n, options);
  return align_corners ? range : range * (static_cast<double>(n - 1) / static_cast<double>(n));
}

}  // namespace

Tensor grid_sampler(const Tensor& x, const Tensor& grid, int64_t interpolation_mode,
                    int64_t padding_mode, bool align_corners) {
  return sampled("grid_sampler", x, grid, interpolation_mode, padding_mode, align_corners);
}
Tensor grid_sampler_2d(const Tensor& x, const Tensor& grid, int64_t interpolation_mode,
                       int64_t padding_mode, bool align_corners) {
  TANDEM_CHECK_SHAPE(x.dim() == 4, "grid_sampler_2d: expected a 4D input, but got ", x.sizes());
  return sampled("grid_sampler_2d", x, grid, interpolation_mode, padding_mode, align_corners);
}
Tensor grid_sampler_3d(const Tensor& x, const Tensor& grid, int64_t interpolation_mode,
                       int64_t padding_mode, bool align_corners) {
  TANDEM_CHECK_SHAPE(x.dim() == 5, "grid_sampler_3d: expected a 5D input, but got ", x.sizes());
  return sampled("grid_sampler_3d", x, grid, interpolation_mode, padding_mode, align_corners);
}

Tensor affine_grid_generator(const Tensor& theta, IntArrayRef size, bool align_corners) {
  TANDEM_CHECK(size.size() == 4 || size.size() == 5,
               "affine_grid_generator: AffineGridGenerator needs 4d (spatial) or 5d (volumetric) "
               "inputs, not the size ",
               size);
  const auto n = static_cast<int64_t>(size.size()) - 2;
  TANDEM_CHECK_TYPE(theta.is_floating_point(),
                    "affine_grid_generator: expected theta to have floating point type, got ",
                    theta.type_of());
  TANDEM_CHECK_SHAPE(theta.sizes() == IntArrayRef(Dims{size[0], n, n + 1}),
                     "affine_grid_generator: Expected a batch of ", n, "x", n + 1,
                     " affine matrices of shape [", size[0], ", ", n, ", ", n + 1, "] for size ",
                     size, ", but got ", theta.sizes());
  for (const int64_t s : size.slice(2))
    TANDEM_CHECK_SHAPE(s > 0, "affine_grid_generator: the size ", size, " has an empty dimension");
  const IntArrayRef extents = size.slice(2);
  // Columns first, as the grid has it, then a one for what the maps add.
  std::vector<Tensor> parts;
  for (int64_t d = n - 1; d >= 0; --d) {
    Dims shape(static_cast<size_t>(n), 1);
    shape[d] = extents[d];
    parts.push_back(places(extents[d], align_corners, theta.options()).view(shape).expand(extents));
  }
  parts.push_back(ones(extents, theta.options()));
  const Tensor base = stack(parts, -1).view({-1, n + 1});
  Dims sizes{size[0]};
  sizes.append(extents.begin(), extents.end());
  sizes.push_back(n);
  return matmul(base, theta.transpose(1, 2)).view(sizes);
}

Tensor pixel_shuffle(const Tensor& x, int64_t upscale_factor) {
  const int64_t r = upscale_factor;
  TANDEM_CHECK_SHAPE(x.dim() >= 3,
                     "pixel_shuffle: expected input to have at least 3 dimensions, but got input "
                     "with ",
                     x.dim(), " dimension(s)");
  TANDEM_CHECK(r > 0 && r < (1 << 20),
               "pixel_shuffle: expected a positive upscale_factor, but got ", r);
  TANDEM_CHECK_SHAPE(x.size(-3) % (r * r) == 0,
                     "pixel_shuffle: expected its input's 'channel' dimension to be divisible by "
                     "the square of upscale_factor, but input.size(-3)=",
                     x.size(-3), " is not divisible by ", r * r);
  Dims split(x.sizes().slice(0, static_cast<size_t>(x.dim()) - 3)), joined = split, order;
  const auto n = static_cast<int64_t>(split.size());
  const int64_t channels = x.size(-3) / (r * r), rows = x.size(-2), columns = x.size(-1);
  for (int64_t d = 0; d < n; ++d) order.push_back(d);
  for (const int64_t e : {channels, r, r, rows, columns}) split.push_back(e);
  for (const int64_t d : {0, 3, 1, 4, 2}) order.push_back(n + d);
  for (const int64_t e : {channels, rows * r, columns * r}) joined.push_back(e);
  return x.reshape(split).permute(order).reshape(joined);
}

Tensor pixel_unshuffle(const Tensor& x, int64_t downscale_factor) {
  const int64_t r = downscale_factor;
  TANDEM_CHECK_SHAPE(x.dim() >= 3,
                     "pixel_unshuffle: expected input to have at least 3 dimensions, but got input "
                     "with ",
                     x.dim(), " dimension(s)");
  TANDEM_CHECK(r > 0 && r < (1 << 20),
               "pixel_unshuffle: expected a positive downscale_factor, but got ", r);
  TANDEM_CHECK_SHAPE(x.size(-2) % r == 0 && x.size(-1) % r == 0,
                     "pixel_unshuffle: expected height and width to be divisible by "
                     "downscale_factor ",
                     r, ", but the input has the shape ", x.sizes());
  Dims split(x.sizes().slice(0, static_cast<size_t>(x.dim()) - 3)), joined = split, order;
  const auto n = static_cast<int64_t>(split.size());
  const int64_t channels = x.size(-3), rows = x.size(-2) / r, columns = x.size(-1) / r;
  for (int64_t d = 0; d < n; ++d) order.push_back(d);
  for (const int64_t e : {channels, rows, r, columns, r}) split.push_back(e);
  for (const int64_t d : {0, 2, 4, 1, 3}) order.push_back(n + d);
  for (const int64_t e : {channels * r * r, rows, columns}) joined.push_back(e);
  return x.reshape(split).permute(order).reshape(joined);
}

Tensor channel_shuffle(const Tensor& x, int64_t groups) {
  TANDEM_CHECK_SHAPE(x.dim() > 2,
                     "channel_shuffle: expected an input with more than 2 dimensions, ", "but got ",
                     x.sizes());
  TANDEM_CHECK(groups > 0 && x.size(1) % groups == 0,
               "channel_shuffle: Number of channels must be divisible by groups. Got ", x.size(1),
               " channels and ", groups, " groups.");
  Dims split(x.sizes());
  split[1] = groups;
  split.insert(split.begin() + 2, x.size(1) / groups);
  return x.reshape(split).transpose(1, 2).reshape(x.sizes());
}

}  // namespace tandem
