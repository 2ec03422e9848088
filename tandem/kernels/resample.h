#pragma once

#include <optional>

#include "tandem/kernels/pool.h"

// Images of another size. The last dimensions of an array, as many as `count` says, are resampled
// one after another; those before are planes.
namespace tandem::kernels {

enum class ResampleMode : uint8_t { Nearest, NearestExact, Linear, Cubic };

struct Resampling {
  ResampleMode mode = ResampleMode::Nearest;
  bool align_corners = false;  // the outermost elements lie upon each other, not the borders
  bool antialias = false;      // a smaller image averages over all that it leaves out
  /// How many times larger the result is, where that was said; otherwise the extents say it.
  std::optional<double> scales[3] = {std::nullopt, std::nullopt, std::nullopt};
};

/// `in` and `out` of the shape are the extents of x and of the result.
void resample(const Array& x, const PoolShape& shape, const Resampling& how, const Array& out);
/// resample transposed: its gradient. g has the extents `out`, the result `in`.
void resample_transposed(const Array& g, const PoolShape& shape, const Resampling& how,
                         const Array& out);

}  // namespace tandem::kernels
