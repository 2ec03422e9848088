#include "tandem/nn/modules/pixelshuffle.h"

#include <ostream>

namespace tandem::nn {

PixelShuffleImpl::PixelShuffleImpl(const PixelShuffleOptions& o) : options(o) {}
void PixelShuffleImpl::reset() {}
void PixelShuffleImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"PixelShuffle"} << "(upscale_factor=" << options.upscale_factor() << ")";
}
Tensor PixelShuffleImpl::forward(const Tensor& input) {
  const ForwardScope scope(*this);
  return functional::pixel_shuffle(input, options);
}

PixelUnshuffleImpl::PixelUnshuffleImpl(const PixelUnshuffleOptions& o) : options(o) {}
void PixelUnshuffleImpl::reset() {}
void PixelUnshuffleImpl::pretty_print(std::ostream& stream) const {
  stream << PrintedName{"PixelUnshuffle"} << "(downscale_factor=" << options.downscale_factor()
         << ")";
}
Tensor PixelUnshuffleImpl::forward(const Tensor& input) {
  const ForwardScope scope(*this);
  return functional::pixel_unshuffle(input, options);
}

}  // namespace tandem::nn
