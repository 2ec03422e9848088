#include "tandem/core/recorder.h"
#include "tandem/ops/ops.h"

namespace tandem {

Tensor bilinear(const Tensor& x, const Tensor& y, const Tensor& weight,
                const std::optional<Tensor>& bias) {
  TANDEM_CHECK_SHAPE(weight.dim() == 3, "bilinear: the weight must be [out, in1, in2], got shape ",
                     weight.sizes());
  TANDEM_CHECK_SHAPE(x.dim() > 0 && x.dim() == y.dim(),
                     "bilinear: input dimensions do not match: got ", x.sizes(), " and ",
                     y.sizes());
  for (int64_t d = 0; d + 1 < x.dim(); ++d)
    TANDEM_CHECK_SHAPE(x.size(d) == y.size(d),
                       "bilinear: input batch dimensions do not match at dim ", d, ": got ",
                       x.size(d), " and ", y.size(d));
  TANDEM_CHECK_SHAPE(x.size(-1) == weight.size(1) && y.size(-1) == weight.size(2),
                     "bilinear: inputs of shapes ", x.sizes(), " and ", y.sizes(),
                     " do not fit a weight of shape ", weight.sizes(), " [out, in1, in2]");
  const int64_t out = weight.size(0), in1 = weight.size(1), in2 = weight.size(2);
  const bool has_bias = bias && bias->defined();
  TANDEM_CHECK_SHAPE(!has_bias || (bias->dim() == 1 && bias->size(0) == out),
                     "bilinear: bias of shape ", has_bias ? bias->sizes() : IntArrayRef(),
                     " does not fit ", out, " outputs");
  const OwnerScope owner(x.impl()->is_pending() ? x : y);
  Dims sizes(x.sizes());
  sizes.back() = out;
  const int64_t rows = numel_of(IntArrayRef(x.sizes()).slice(0, x.dim() - 1));
  // x^T W for all W at once, [rows, out, in2]; then each with its own y.
  const Tensor w = weight.permute({1, 0, 2}).reshape({in1, out * in2});
  const Tensor left = mm(x.reshape({rows, in1}), w).reshape({rows, out, in2});
  const Tensor z = bmm(left, y.reshape({rows, in2, 1})).reshape(sizes);
  return has_bias ? z + *bias : z;
}

}  // namespace tandem
