#pragma once

#include "tandem/base/arg.h"
#include "tandem/base/expanding_array.h"

namespace tandem::nn {

struct FoldOptions {
  FoldOptions(ExpandingArray<2> output_size, ExpandingArray<2> kernel_size)
      : output_size_(output_size), kernel_size_(kernel_size) {}
  /// Height and width of the image that the blocks are put together to.
  TANDEM_ARG(ExpandingArray<2>, output_size);
  TANDEM_ARG(ExpandingArray<2>, kernel_size);
  TANDEM_ARG(ExpandingArray<2>, dilation) = 1;
  TANDEM_ARG(ExpandingArray<2>, padding) = 0;
  TANDEM_ARG(ExpandingArray<2>, stride) = 1;
};

struct UnfoldOptions {
  UnfoldOptions(ExpandingArray<2> kernel_size) : kernel_size_(kernel_size) {}
  TANDEM_ARG(ExpandingArray<2>, kernel_size);
  TANDEM_ARG(ExpandingArray<2>, dilation) = 1;
  TANDEM_ARG(ExpandingArray<2>, padding) = 0;
  TANDEM_ARG(ExpandingArray<2>, stride) = 1;
};

namespace functional {
using FoldFuncOptions = FoldOptions;
using UnfoldFuncOptions = UnfoldOptions;
}  // namespace functional

}  // namespace tandem::nn
