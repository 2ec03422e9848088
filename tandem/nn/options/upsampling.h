#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "tandem/base/arg.h"
#include "tandem/base/enum.h"

namespace tandem::nn {

/// Either a size or a factor for each dimension.
struct UpsampleOptions {
  using mode_t = std::variant<enumtype::kNearest, enumtype::kLinear, enumtype::kBilinear,
                              enumtype::kBicubic, enumtype::kTrilinear>;
  TANDEM_ARG(std::optional<std::vector<int64_t>>, size) = std::nullopt;
  TANDEM_ARG(std::optional<std::vector<double>>, scale_factor) = std::nullopt;
  TANDEM_ARG(mode_t, mode) = kNearest;
  /// The outermost elements of both images lie upon each other, not their borders.
  TANDEM_ARG(std::optional<bool>, align_corners) = std::nullopt;
};

namespace functional {

struct InterpolateFuncOptions {
  using mode_t =
      std::variant<enumtype::kNearest, enumtype::kLinear, enumtype::kBilinear, enumtype::kBicubic,
                   enumtype::kTrilinear, enumtype::kArea, enumtype::kNearestExact>;
  TANDEM_ARG(std::optional<std::vector<int64_t>>, size) = std::nullopt;
  TANDEM_ARG(std::optional<std::vector<double>>, scale_factor) = std::nullopt;
  TANDEM_ARG(mode_t, mode) = kNearest;
  TANDEM_ARG(std::optional<bool>, align_corners) = std::nullopt;
  /// The factors are those that the rounded size has, not those that were given.
  TANDEM_ARG(std::optional<bool>, recompute_scale_factor) = std::nullopt;
  /// Smaller images are averages over all that they leave out.
  TANDEM_ARG(bool, antialias) = false;
};

}  // namespace functional
}  // namespace tandem::nn
