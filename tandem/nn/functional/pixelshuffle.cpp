#include "tandem/nn/functional/pixelshuffle.h"

#include "tandem/ops/vision.h"

namespace tandem::nn::functional {

Tensor pixel_shuffle(const Tensor& input, const PixelShuffleFuncOptions& options) {
  return tandem::pixel_shuffle(input, options.upscale_factor());
}
Tensor pixel_unshuffle(const Tensor& input, const PixelUnshuffleFuncOptions& options) {
  return tandem::pixel_unshuffle(input, options.downscale_factor());
}

}  // namespace tandem::nn::functional
