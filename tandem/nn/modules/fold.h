#pragma once

#include "tandem/nn/cloneable.h"
#include "tandem/nn/options/fold.h"

namespace tandem::nn {

/// Puts the blocks of an image together; where they overlap they are added.
class FoldImpl : public Cloneable<FoldImpl> {
 public:
  FoldImpl(ExpandingArray<2> output_size, ExpandingArray<2> kernel_size)
      : FoldImpl(FoldOptions(output_size, kernel_size)) {}
  explicit FoldImpl(const FoldOptions& options);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  FoldOptions options;
};
TANDEM_NN_MODULE(Fold);

/// The blocks of an image that a sliding kernel sees, one a column.
class UnfoldImpl : public Cloneable<UnfoldImpl> {
 public:
  UnfoldImpl(ExpandingArray<2> kernel_size) : UnfoldImpl(UnfoldOptions(kernel_size)) {}
  explicit UnfoldImpl(const UnfoldOptions& options);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  UnfoldOptions options;
};
TANDEM_NN_MODULE(Unfold);

}  // namespace tandem::nn
