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

namespace {

void check_enough(int64_t values, const Tensor& mask) {
  const auto n = mask.sum().item<int64_t>();
  TANDEM_CHECK_SHAPE(values >= n, "masked_scatter: expected number of elements of source (", values,
                     ") to be at least the number of ones in the mask (", n, ")");
}

}  // namespace

Tensor Tensor::masked_scatter(const Tensor& mask, const Tensor& src) const {
  const Tensor m = checked_mask("masked_scatter", mask);
  TANDEM_CHECK_TYPE(src.dtype() == dtype(),
                    "masked_scatter: expected self and source to have same dtypes but got ",
                    dtype(), " and ", src.dtype());
  const Dims shape = broadcast_shapes("masked_scatter", sizes(), m.sizes());
  if (src.numel() == 0) {
    // Nothing may be chosen.
    m.impl()->need_values("masked_scatter");
    check_enough(0, m.expand(shape));
    return expand(shape).clone();
  }
  // The n-th true element is given the n-th value; the others read the first, and ignore it.
  const Tensor flat = m.expand(shape).reshape({-1});
  const Tensor number = tandem::where(flat, flat.cumsum(0).sub(1), 0);
  Tensor chosen;
  try {
    chosen = src.reshape({-1}).take(number);
  } catch (const IndexError&) {
    check_enough(src.numel(), flat);
    throw;
  }
  return tandem::where(m, chosen.view(shape), *this);
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
