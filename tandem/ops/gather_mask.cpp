// Masks: elements chosen by truth values.
#include "tandem/kernels/index.h"
#include "tandem/ops/creation.h"
#include "tandem/ops/fits_detail.h"
#include "tandem/ops/gather.h"
#include "tandem/ops/indexing_op.h"
#include "tandem/ops/ternary.h"
#include "tandem/ops/view.h"

namespace tandem {

namespace {

Tensor checked_mask(const char* op, const Tensor& mask) {
  TANDEM_CHECK_TYPE(mask.dtype() == kBool || mask.dtype() == kByte, op,
                    " only supports boolean masks, but got mask with dtype ", mask.dtype());
  return mask.dtype() == kBool ? mask : mask.to(kBool);
}

Tensor fill_value(const Tensor& x, const Tensor& value) {
  TANDEM_CHECK_SHAPE(value.dim() == 0,
                     "masked_fill only supports a 0-dimensional value tensor, but got tensor with ",
                     value.dim(), " dimension(s).");
  return value.to(x.dtype());
}

Tensor fill_value(const Tensor& x, const Scalar& value) {
  detail::check_fits("masked_fill", value, x.dtype());
  return full({}, value, x.options());
}

}  // namespace

extern const OpDef kWhere;

Tensor Tensor::masked_fill(const Tensor& mask, const Scalar& value) const {
  return tandem::where(checked_mask("masked_fill", mask), fill_value(*this, value), *this);
}
Tensor Tensor::masked_fill(const Tensor& mask, const Tensor& value) const {
  return tandem::where(checked_mask("masked_fill", mask), fill_value(*this, value), *this);
}
Tensor& Tensor::masked_fill_(const Tensor& mask, const Scalar& value) const {
  return apply_inplace(kWhere, *this,
                       {checked_mask("masked_fill_", mask), fill_value(*this, value), *this});
}
Tensor& Tensor::masked_fill_(const Tensor& mask, const Tensor& value) const {
  return apply_inplace(kWhere, *this,
                       {checked_mask("masked_fill_", mask), fill_value(*this, value), *this});
}

namespace {

// All index tensors of a mask's true elements.
std::vector<Tensor> true_places(const Tensor& mask) { return nonzero(mask).unbind(1); }

Dims all_dims(const Tensor& x) {
  Dims dims;
  for (int64_t d = 0; d < x.dim(); ++d) dims.push_back(d);
  return dims;
}

}  // namespace

Tensor Tensor::masked_select(const Tensor& mask) const {
  const Tensor m = checked_mask("masked_select", mask);
  const Dims shape = broadcast_shapes("masked_select", sizes(), m.sizes());
  const Tensor x = atleast_1d(expand(shape));
  return index_at("masked_select", x, all_dims(x), true_places(atleast_1d(m.expand(shape))));
}

Tensor Tensor::masked_scatter(const Tensor& mask, const Tensor& src) const {
  const Tensor m = checked_mask("masked_scatter", mask);
  TANDEM_CHECK_TYPE(src.dtype() == dtype(),
                    "masked_scatter: expected self and source to have same dtypes but got ",
                    dtype(), " and ", src.dtype());
  const Dims shape = broadcast_shapes("masked_scatter", sizes(), m.sizes());
  const Tensor x = atleast_1d(expand(shape));
  const auto places = true_places(atleast_1d(m.expand(shape)));
  const int64_t n = places[0].numel();
  TANDEM_CHECK_SHAPE(src.numel() >= n, "masked_scatter: expected number of elements of source (",
                     src.numel(), ") to be at least the number of ones in the mask (", n, ")");
  return index_put_at("masked_scatter", x, all_dims(x), places, src.reshape({-1}).narrow(0, 0, n),
                      false)
      .view(shape);
}
Tensor& Tensor::masked_scatter_(const Tensor& mask, const Tensor& src) const {
  return copy_(masked_scatter(mask, src));
}

TANDEM_OP(kNonzero) = {
    .name = "nonzero",
    .infer = nullptr,
    .dynamic =
        [](const KernelArgs& a, Tensor* outputs) {
          outputs[0] = empty({kernels::count_true(a.in()), a.in().ndim}, kLong);
          kernels::find_true(a.in(), outputs[0].impl()->array());
        },
    .inputs = 1,
};

Tensor Tensor::nonzero() const { return apply(kNonzero, {to(kBool)}); }
Tensor Tensor::argwhere() const { return nonzero(); }
std::vector<Tensor> Tensor::nonzero_numpy() const {
  return dim() == 0 ? view({1}).nonzero().unbind(1) : nonzero().unbind(1);
}

}  // namespace tandem
