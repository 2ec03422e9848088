#pragma once

#include "tandem/nn/cloneable.h"
#include "tandem/nn/functional/pixelshuffle.h"
#include "tandem/nn/options/pixelshuffle.h"
#include "tandem/nn/pimpl.h"

namespace tandem::nn {

/// Channels become pixels: [..., c * r * r, rows, columns] is [..., c, rows * r, columns * r].
struct PixelShuffleImpl : Cloneable<PixelShuffleImpl> {
  explicit PixelShuffleImpl(const PixelShuffleOptions& options);
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
  void reset() override;

  PixelShuffleOptions options;
};
TANDEM_NN_MODULE(PixelShuffle);

/// The other way round.
struct PixelUnshuffleImpl : Cloneable<PixelUnshuffleImpl> {
  explicit PixelUnshuffleImpl(const PixelUnshuffleOptions& options);
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
  void reset() override;

  PixelUnshuffleOptions options;
};
TANDEM_NN_MODULE(PixelUnshuffle);

}  // namespace tandem::nn
