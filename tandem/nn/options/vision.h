#pragma once

#include <optional>
#include <variant>

#include "tandem/base/arg.h"
#include "tandem/base/enum.h"

namespace tandem::nn::functional {

struct GridSampleFuncOptions {
  using mode_t = std::variant<enumtype::kBilinear, enumtype::kNearest, enumtype::kBicubic>;
  using padding_mode_t = std::variant<enumtype::kZeros, enumtype::kBorder, enumtype::kReflection>;
  TANDEM_ARG(mode_t, mode) = kBilinear;
  /// What lies outside of the image.
  TANDEM_ARG(padding_mode_t, padding_mode) = kZeros;
  /// -1 and 1 are the centres of the outermost elements, not their outer borders.
  TANDEM_ARG(std::optional<bool>, align_corners) = std::nullopt;
};

}  // namespace tandem::nn::functional
