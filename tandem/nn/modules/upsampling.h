#pragma once

#include "tandem/nn/cloneable.h"
#include "tandem/nn/functional/upsampling.h"
#include "tandem/nn/options/upsampling.h"
#include "tandem/nn/pimpl.h"

namespace tandem::nn {

/// The image in another size:
///     Upsample(UpsampleOptions().scale_factor(std::vector<double>{2, 2}).mode(kBilinear))
class UpsampleImpl : public Cloneable<UpsampleImpl> {
 public:
  explicit UpsampleImpl(const UpsampleOptions& options = {});
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  UpsampleOptions options;
};
TANDEM_NN_MODULE(Upsample);

}  // namespace tandem::nn
