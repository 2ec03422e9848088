#include "tandem/ops/rearrange.h"

#include "tandem/core/apply.h"
#include "tandem/kernels/index.h"
#include "tandem/ops/attr_checks_detail.h"
#include "tandem/ops/batch_detail.h"
#include "tandem/ops/creation.h"
#include "tandem/ops/view.h"

namespace tandem {
namespace {

void same_type(const InferArgs& a) {
  a.out().sizes = a.in().sizes;
  a.out().dtype = a.in().dtype;
}

struct FlipAttrs {
  Dims dims;
  TANDEM_FIELDS(dims)
};
struct RollAttrs {
  int64_t dim, shift;
  TANDEM_FIELDS(dim, shift)
};
struct TriangleAttrs {
  int64_t diagonal;
  bool upper;
  TANDEM_FIELDS(diagonal, upper)
};

}  // namespace

TANDEM_OP(kFlip) = {
    .name = "flip",
    .infer =
        [](const InferArgs& a) {
          for (const int64_t d : a.attrs<FlipAttrs>().dims) detail::check_dim(a, d);
          same_type(a);
        },
    .kernel =
        [](const KernelArgs& a) { kernels::flip(a.in(), a.out(), a.attrs<FlipAttrs>().dims); },
    .vjp = [](const VjpArgs& a) -> Grads { return {a.grad().flip(a.attrs<FlipAttrs>().dims)}; },
    .attrs = attrs_of<FlipAttrs>,
    .batch = batch_dims<FlipAttrs>,
    .inputs = 1,
};

TANDEM_OP(kRoll) = {
    .name = "roll",
    .infer =
        [](const InferArgs& a) {
          // Unlike other ops, its kernel walks along a dimension that has to be there.
          TANDEM_CHECK_SHAPE(a.in().dim() > 0, "roll: a 0-d tensor has no dimension to roll along");
          detail::check_dim(a, a.attrs<RollAttrs>().dim);
          same_type(a);
        },
    .kernel =
        [](const KernelArgs& a) {
          kernels::roll(a.in(), a.out(), a.attrs<RollAttrs>().dim, a.attrs<RollAttrs>().shift);
        },
    .vjp = [](const VjpArgs& a) -> Grads {
      const auto& r = a.attrs<RollAttrs>();
      return {a.grad().roll(-r.shift, r.dim)};
    },
    .attrs = attrs_of<RollAttrs>,
    .batch = batch_dim<RollAttrs>,
    .inputs = 1,
};

// What tril and triu are: one side of a diagonal kept.
TANDEM_OP(kTriangle) = {
    .name = "triangle",
    .infer =
        [](const InferArgs& a) {
          TANDEM_CHECK_SHAPE(a.in().dim() >= 2, a.attrs<TriangleAttrs>().upper ? "triu" : "tril",
                             ": input tensor must have at least 2 dimensions, not ", a.in().sizes);
          same_type(a);
        },
    .kernel =
        [](const KernelArgs& a) {
          const auto& t = a.attrs<TriangleAttrs>();
          kernels::triangle(a.in(), a.out(), t.diagonal, t.upper);
        },
    .vjp = [](const VjpArgs& a) -> Grads {
      const auto& t = a.attrs<TriangleAttrs>();
      return {t.upper ? a.grad().triu(t.diagonal) : a.grad().tril(t.diagonal)};
    },
    .inplace = true,
    .attrs = attrs_of<TriangleAttrs>,
    .batch = batch_leading,
    .inputs = 1,
};

Tensor Tensor::flip(IntArrayRef dims) const {
  FlipAttrs attrs;
  for (int64_t d : dims) {
    const int64_t w = wrap_dim("flip", d, dim());
    for (int64_t other : attrs.dims)
      TANDEM_CHECK(other != w, "flip: dim ", w, " appears multiple times in the list of dims");
    if (dim() > 0) attrs.dims.push_back(w);
  }
  return apply(kFlip, {*this}, attrs);
}
Tensor Tensor::fliplr() const {
  TANDEM_CHECK_SHAPE(dim() >= 2, "fliplr: Input must be >= 2-d.");
  return flip({1});
}
Tensor Tensor::flipud() const {
  TANDEM_CHECK_SHAPE(dim() >= 1, "flipud: Input must be >= 1-d.");
  return flip({0});
}

Tensor Tensor::roll(IntArrayRef shifts, IntArrayRef dims) const {
  TANDEM_CHECK(!shifts.empty(), "roll: `shifts` required");
  if (dims.empty() && shifts.size() == 1) return flatten().roll(shifts[0], 0).view(sizes());
  TANDEM_CHECK(shifts.size() == dims.size(),
               "roll: shifts and dimensions must align. shifts: ", shifts.size(),
               ", dims:", dims.size());
  Tensor x = *this;
  for (size_t i = 0; i < dims.size(); ++i) {
    TANDEM_CHECK_SHAPE(dim() > 0, "roll: a 0-d tensor has no dimension to roll along");
    x = apply(kRoll, {x}, RollAttrs{wrap_dim("roll", dims[i], dim()), shifts[i]});
  }
  return x;
}

Tensor Tensor::rot90(int64_t k, IntArrayRef dims) const {
  TANDEM_CHECK(dims.size() == 2,
               "rot90: expected total rotation dims == 2, but got dims = ", dims.size());
  TANDEM_CHECK_SHAPE(dim() >= 2, "rot90: expected total dims >= 2, but got total dims = ", dim());
  const int64_t a = wrap_dim("rot90", dims[0], dim()), b = wrap_dim("rot90", dims[1], dim());
  TANDEM_CHECK(a != b, "rot90: expected rotation dims to be different, but got ", dims);
  switch ((k % 4 + 4) % 4) {
    case 1:
      return flip({b}).transpose(a, b);
    case 2:
      return flip({a, b});
    case 3:
      return flip({a}).transpose(a, b);
    default:
      return clone();
  }
}

Tensor Tensor::tril(int64_t diagonal) const {
  return apply(kTriangle, {*this}, TriangleAttrs{diagonal, false});
}
Tensor Tensor::triu(int64_t diagonal) const {
  return apply(kTriangle, {*this}, TriangleAttrs{diagonal, true});
}
Tensor& Tensor::tril_(int64_t diagonal) const {
  return apply_inplace(kTriangle, *this, {*this}, TriangleAttrs{diagonal, false});
}
Tensor& Tensor::triu_(int64_t diagonal) const {
  return apply_inplace(kTriangle, *this, {*this}, TriangleAttrs{diagonal, true});
}

// -- diagonals ------------------------------------------------------------------------------------

Tensor Tensor::diag_embed(int64_t offset, int64_t dim1, int64_t dim2) const {
  const int64_t n = dim() + 1;
  TANDEM_CHECK_SHAPE(dim() > 0, "diag_embed: the input must have at least one dimension");
  dim1 = wrap_dim("diag_embed", dim1, n);
  dim2 = wrap_dim("diag_embed", dim2, n);
  TANDEM_CHECK(dim1 != dim2, "diag_embed: diagonal dimensions cannot be identical ", dim1, ", ",
               dim2);
  Dims sizes = this->sizes();
  const int64_t length = sizes.back() + std::abs(offset);
  sizes.pop_back();
  sizes.insert(sizes.begin() + std::min(dim1, dim2), length);
  sizes.insert(sizes.begin() + std::max(dim1, dim2), length);
  const Tensor result = zeros(sizes, options());
  result.diagonal(offset, dim1, dim2).copy_(*this);
  return result;
}

Tensor Tensor::diag(int64_t diagonal) const {
  TANDEM_CHECK_SHAPE(dim() == 1 || dim() == 2, "diag(): Supports 1D or 2D tensors. Got ", dim(),
                     "D");
  return dim() == 1 ? diag_embed(diagonal) : this->diagonal(diagonal).clone();
}

Tensor Tensor::diagflat(int64_t offset) const { return flatten().diag_embed(offset); }

namespace {

// `x` copied, with src in the place that `view` shows.
template <class F>
Tensor replaced(const char* op, const Tensor& x, const Tensor& src, F view) {
  const Tensor result = x.clone();
  const Tensor part = view(result);
  TANDEM_CHECK_SHAPE(part.sizes() == src.sizes(), op,
                     ": expected src to have a size equal to the slice of self. src size = ",
                     src.sizes(), ", slice size = ", part.sizes());
  part.copy_(src);
  return result;
}

}  // namespace

Tensor Tensor::diagonal_scatter(const Tensor& src, int64_t offset, int64_t dim1,
                                int64_t dim2) const {
  return replaced("diagonal_scatter", *this, src,
                  [&](const Tensor& x) { return x.diagonal(offset, dim1, dim2); });
}
Tensor Tensor::select_scatter(const Tensor& src, int64_t dim, int64_t index) const {
  return replaced("select_scatter", *this, src,
                  [&](const Tensor& x) { return x.select(dim, index); });
}
Tensor Tensor::slice_scatter(const Tensor& src, int64_t dim, std::optional<int64_t> start,
                             std::optional<int64_t> end, int64_t step) const {
  return replaced("slice_scatter", *this, src,
                  [&](const Tensor& x) { return x.slice(dim, start, end, step); });
}
Tensor Tensor::as_strided_scatter(const Tensor& src, IntArrayRef size, IntArrayRef stride,
                                  std::optional<int64_t> offset) const {
  return replaced("as_strided_scatter", *this, src,
                  [&](const Tensor& x) { return x.as_strided(size, stride, offset); });
}

// -- free forms -----------------------------------------------------------------------------------

Tensor flip(const Tensor& x, IntArrayRef dims) { return x.flip(dims); }
Tensor fliplr(const Tensor& x) { return x.fliplr(); }
Tensor flipud(const Tensor& x) { return x.flipud(); }
Tensor roll(const Tensor& x, IntArrayRef shifts, IntArrayRef dims) { return x.roll(shifts, dims); }
Tensor rot90(const Tensor& x, int64_t k, IntArrayRef dims) { return x.rot90(k, dims); }
Tensor tril(const Tensor& x, int64_t diagonal) { return x.tril(diagonal); }
Tensor triu(const Tensor& x, int64_t diagonal) { return x.triu(diagonal); }
Tensor diag(const Tensor& x, int64_t diagonal) { return x.diag(diagonal); }
Tensor diagflat(const Tensor& x, int64_t offset) { return x.diagflat(offset); }
Tensor diag_embed(const Tensor& x, int64_t offset, int64_t dim1, int64_t dim2) {
  return x.diag_embed(offset, dim1, dim2);
}
Tensor diagonal_scatter(const Tensor& x, const Tensor& src, int64_t offset, int64_t dim1,
                        int64_t dim2) {
  return x.diagonal_scatter(src, offset, dim1, dim2);
}
Tensor select_scatter(const Tensor& x, const Tensor& src, int64_t dim, int64_t index) {
  return x.select_scatter(src, dim, index);
}
Tensor slice_scatter(const Tensor& x, const Tensor& src, int64_t dim, std::optional<int64_t> start,
                     std::optional<int64_t> end, int64_t step) {
  return x.slice_scatter(src, dim, start, end, step);
}
Tensor as_strided_scatter(const Tensor& x, const Tensor& src, IntArrayRef size, IntArrayRef stride,
                          std::optional<int64_t> offset) {
  return x.as_strided_scatter(src, size, stride, offset);
}

}  // namespace tandem
