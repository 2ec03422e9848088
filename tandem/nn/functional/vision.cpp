#include "tandem/nn/functional/vision.h"

#include <algorithm>

#include "tandem/ops/vision.h"

namespace tandem::nn::functional {

Tensor affine_grid(const Tensor& theta, const IntArrayRef& size, bool align_corners) {
  TANDEM_CHECK_TYPE(theta.is_floating_point(),
                    "Expected theta to have floating point type, but got ", name_of(theta.dtype()));
  TANDEM_CHECK_SHAPE(size.size() == 4 || size.size() == 5,
                     "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, "
                     "respectively. Got size ",
                     size);
  const int64_t n = static_cast<int64_t>(size.size()) - 2;
  TANDEM_CHECK_SHAPE(theta.dim() == 3 && theta.size(-2) == n && theta.size(-1) == n + 1,
                     "Expected a batch of ", n, "D affine matrices of shape Nx", n, "x", n + 1,
                     " for size ", size, ". Got ", theta.sizes(), ".");
  TANDEM_CHECK_SHAPE(*std::min_element(size.begin(), size.end()) > 0,
                     "Expected non-zero, positive output size. Got ", size);
  return affine_grid_generator(theta, size, align_corners);
}

Tensor grid_sample(const Tensor& input, const Tensor& grid, const GridSampleFuncOptions& options) {
  // The choices stand in the order that grid_sampler numbers them in.
  return grid_sampler(input, grid, static_cast<int64_t>(options.mode().index()),
                      static_cast<int64_t>(options.padding_mode().index()),
                      options.align_corners().value_or(false));
}

}  // namespace tandem::nn::functional
