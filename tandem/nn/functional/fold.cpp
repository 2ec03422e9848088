#include "tandem/nn/functional/fold.h"

#include "tandem/ops/conv.h"

namespace tandem::nn::functional {

Tensor fold(const Tensor& input, const FoldFuncOptions& o) {
  TANDEM_CHECK_SHAPE(
      input.dim() == 3 || input.dim() == 2,
      "fold: Input Error: Only unbatched (2D) or batched (3D) input Tensors are supported (got ",
      input.dim(), "D), the input has shape ", input.sizes());
  return col2im(input, o.output_size(), o.kernel_size(), o.dilation(), o.padding(), o.stride());
}

Tensor unfold(const Tensor& input, const UnfoldFuncOptions& o) {
  TANDEM_CHECK_SHAPE(input.dim() == 4,
                     "unfold: Input Error: Only 4D input Tensors are supported (got ", input.dim(),
                     "D), the input has shape ", input.sizes());
  return im2col(input, o.kernel_size(), o.dilation(), o.padding(), o.stride());
}

}  // namespace tandem::nn::functional
