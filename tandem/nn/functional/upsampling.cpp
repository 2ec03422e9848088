#include "tandem/nn/functional/upsampling.h"

#include <cmath>

#include "tandem/ops/ops.h"

namespace tandem::nn::functional {
namespace {

using Mode = InterpolateFuncOptions::mode_t;

template <class E>
bool is(const Mode& mode) {
  return std::holds_alternative<E>(mode);
}

Dims output_size(const Tensor& input, const InterpolateFuncOptions& o) {
  const int64_t dim = input.dim() - 2;
  TANDEM_CHECK(o.size() || o.scale_factor(), "either size or scale_factor should be defined");
  TANDEM_CHECK(!o.size() || !o.scale_factor(),
               "only one of size or scale_factor should be defined");
  if (o.size()) return Dims(*o.size());
  TANDEM_CHECK(static_cast<int64_t>(o.scale_factor()->size()) == dim,
               "scale_factor shape must match input shape. Input is ", dim,
               "D, scale_factor size is ", ArrayRef<double>(*o.scale_factor()));
  Dims result;
  for (int64_t d = 0; d < dim; ++d) {
    const double factor = (*o.scale_factor())[static_cast<size_t>(d)];
    const double size = std::floor(static_cast<double>(input.size(d + 2)) * factor);
    TANDEM_CHECK(size >= 0 && size < 0x1p62, "interpolate: a scale_factor of ", factor);
    result.push_back(static_cast<int64_t>(size));
  }
  return result;
}

}  // namespace

Tensor interpolate(const Tensor& input, const InterpolateFuncOptions& o) {
  const Mode& mode = o.mode();
  const bool area = is<enumtype::kArea>(mode), nearest = is<enumtype::kNearest>(mode),
             exact = is<enumtype::kNearestExact>(mode), linear = is<enumtype::kLinear>(mode),
             bilinear = is<enumtype::kBilinear>(mode), bicubic = is<enumtype::kBicubic>(mode),
             trilinear = is<enumtype::kTrilinear>(mode);
  TANDEM_CHECK(!o.align_corners() || (!nearest && !area),
               "align_corners option can only be set with the interpolating modes: linear | "
               "bilinear | bicubic | trilinear");
  const bool align = o.align_corners().value_or(false);
  const int64_t dim = input.dim();
  TANDEM_CHECK(!o.antialias() || (dim == 4 && (bilinear || bicubic)),
               "Anti-alias option is only supported for bilinear and bicubic modes");
  TANDEM_CHECK(dim >= 3 && dim <= 5 && !(bicubic && dim != 4),
               "Input Error: Only 3D, 4D and 5D input Tensors supported (got ", dim,
               "D) for the modes: nearest | linear | bilinear | bicubic | trilinear (got ",
               enumtype::get_enum_name(mode), ")");
  const int64_t needed = linear ? 3 : bilinear ? 4 : trilinear ? 5 : dim;
  TANDEM_CHECK(needed == dim, "Got ", dim, "D input, but ",
               linear     ? "linear"
               : bilinear ? "bilinear"
                          : "trilinear",
               " mode needs ", needed, "D input");

  const Dims size = output_size(input, o);
  const IntArrayRef n = size;
  std::optional<double> s[3];
  if (o.scale_factor() && !o.recompute_scale_factor().value_or(false))
    for (size_t d = 0; d < o.scale_factor()->size() && d < 3; ++d) s[d] = (*o.scale_factor())[d];
  if (nearest)
    return dim == 3   ? upsample_nearest1d(input, n, s[0])
           : dim == 4 ? upsample_nearest2d(input, n, s[0], s[1])
                      : upsample_nearest3d(input, n, s[0], s[1], s[2]);
  if (exact)
    return dim == 3   ? _upsample_nearest_exact1d(input, n, s[0])
           : dim == 4 ? _upsample_nearest_exact2d(input, n, s[0], s[1])
                      : _upsample_nearest_exact3d(input, n, s[0], s[1], s[2]);
  if (area)
    return dim == 3   ? adaptive_avg_pool1d(input, n)
           : dim == 4 ? adaptive_avg_pool2d(input, n)
                      : adaptive_avg_pool3d(input, n);
  if (linear) return upsample_linear1d(input, n, align, s[0]);
  if (trilinear) return upsample_trilinear3d(input, n, align, s[0], s[1], s[2]);
  if (bilinear)
    return o.antialias() ? _upsample_bilinear2d_aa(input, n, align, s[0], s[1])
                         : upsample_bilinear2d(input, n, align, s[0], s[1]);
  return o.antialias() ? _upsample_bicubic2d_aa(input, n, align, s[0], s[1])
                       : upsample_bicubic2d(input, n, align, s[0], s[1]);
}

}  // namespace tandem::nn::functional
