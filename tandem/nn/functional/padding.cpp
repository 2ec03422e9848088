#include "tandem/nn/functional/padding.h"

#include "tandem/ops/padding.h"

namespace tandem::nn::functional {

Tensor pad(const Tensor& input, const PadFuncOptions& options) {
  static constexpr const char* kModes[] = {"constant", "reflect", "replicate", "circular"};
  return tandem::pad(input, options.pad(), kModes[options.mode().index()],
                     options.value() != 0 ? std::optional<double>(options.value()) : std::nullopt);
}

}  // namespace tandem::nn::functional
