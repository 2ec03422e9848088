#include "tandem/ops/gather.h"

#include <cmath>
#include <limits>

#include "tandem/kernels/index.h"
#include "tandem/kernels/map.h"
#include "tandem/ops/attr_checks_detail.h"
#include "tandem/ops/batch_detail.h"
#include "tandem/ops/binary.h"
#include "tandem/ops/compare.h"
#include "tandem/ops/creation.h"
#include "tandem/ops/gather_op.h"
#include "tandem/ops/indexing_op.h"
#include "tandem/ops/ternary.h"
#include "tandem/ops/view.h"

namespace tandem {

extern const OpDef kScatterReduce;

namespace {

using kernels::ScatterFn;

void scatter_kernel(const KernelArgs& a) {
  const auto& s = a.attrs<ScatterAttrs>();
  const Array &x = a.in(0), &out = a.out();
  if (x.data != out.data || x.stride() != out.stride()) kernels::copy(x, out);
  naming(a.op.name, [&] { kernels::scatter_along(s.fn, out, s.dim, a.in(1), a.in(2)); });
}

// The same as check_index below, for a call that did not come by way of the public functions.
void check_index_type(const InferArgs& a, int64_t dim) {
  const TensorType &x = a.in(0), &index = a.in(1);
  detail::check_dim(a, dim);
  TANDEM_CHECK_TYPE(index.dtype == kLong, a.op.name, ": the indices are ", name_of(index.dtype),
                    ", not int64");
  bool fits = index.dim() == x.dim();
  for (int64_t d = 0; fits && d < x.dim(); ++d) fits = d == dim || index.sizes[d] <= x.sizes[d];
  TANDEM_CHECK_SHAPE(fits || numel_of(index.sizes) == 0, a.op.name, ": indices of shape ",
                     index.sizes, " along dimension ", dim, " of ", x.sizes);
}

void infer_scatter(const InferArgs& a) {
  const auto& s = a.attrs<ScatterAttrs>();
  check_index_type(a, s.dim);
  detail::check_choice(a, s.fn, ScatterFn::Max);
  TANDEM_CHECK_TYPE(a.in(2).dtype == a.in(0).dtype, a.op.name, ": ", a.in(2), " scattered into ",
                    a.in(0));
  bool fits = a.in(2).dim() == a.in(1).dim();
  for (int64_t d = 0; fits && d < a.in(1).dim(); ++d) fits = a.in(1).sizes[d] <= a.in(2).sizes[d];
  TANDEM_CHECK_SHAPE(fits, a.op.name, ": indices of shape ", a.in(1).sizes, " for values of shape ",
                     a.in(2).sizes);
  a.out().sizes = a.in().sizes;
  a.out().dtype = a.in().dtype;
}

// The gradient goes to the elements that equal the result, in equal parts.
Grads extreme_vjp(const VjpArgs& a) {
  const int64_t dim = a.attrs<ScatterAttrs>().dim;
  const Tensor x = a.input(0), index = a.input(1), src = a.input(2), out = a.output();
  const Tensor from_x = (x == out).to(x.dtype());
  const Tensor from_src = (src == out.gather(dim, index)).to(x.dtype());
  const Tensor share = a.grad() / clamp_min(from_x.scatter_add(dim, index, from_src), 1);
  return {share * from_x, Tensor(), share.gather(dim, index) * from_src};
}

// The product of all others: the result divided by the factor, unless that is 0.
Grads product_vjp(const VjpArgs& a) {
  const ScatterAttrs& s = a.attrs<ScatterAttrs>();
  const Tensor x = a.input(0), index = a.input(1), src = a.input(2);
  auto product = [&](const Tensor& base, const Tensor& factors) {
    return apply(kScatterReduce, {base, index, factors}, s);
  };
  Grads grads(3);
  if (a.needs(0)) grads[0] = a.grad() * product(ones_like(x), src);
  if (a.needs(2)) {
    // Where a place has exactly one factor 0, that one's gradient is the product with 1 in its
    // stead.
    const Tensor zero = src == 0;
    const Tensor zeros_there = zeros_like(x).scatter_add(s.dim, index, zero.to(x.dtype()));
    const Tensor only_zero = zero.logical_and(zeros_there.gather(s.dim, index) == 1);
    const Tensor without = product(x, where(only_zero, 1, src)).gather(s.dim, index);
    const Tensor others = where(only_zero, without, product(x, src).gather(s.dim, index));
    grads[2] = a.grad().gather(s.dim, index) * others / where(zero, 1, src);
  }
  return grads;
}

}  // namespace

TANDEM_OP(kGather) = {
    .name = "gather",
    .infer =
        [](const InferArgs& a) {
          check_index_type(a, a.attrs<GatherAttrs>().dim);
          a.out().sizes = a.in(1).sizes;
          a.out().dtype = a.in(0).dtype;
        },
    .kernel =
        [](const KernelArgs& a) {
          naming(a.op.name, [&] {
            kernels::gather_along(a.in(0), a.attrs<GatherAttrs>().dim, a.in(1), a.out());
          });
        },
    .saves = Saves::each(Saves::in(1)),
    .vjp = [](const VjpArgs& a) -> Grads {
      const TensorType& in = a.input_type();
      const Tensor grad = zeros(in.sizes, TensorOptions(in.dtype).device(in.device));
      return {apply_inplace(kScatter, grad, {grad, a.input(1), a.grad()},
                            ScatterAttrs{a.attrs<GatherAttrs>().dim, ScatterFn::Add})};
    },
    .checks_values = true,
    .attrs = attrs_of<GatherAttrs>,
    .batch = batch_gather<GatherAttrs>,
    .inputs = 2,
};

TANDEM_OP(kScatter) = {
    .name = "scatter",
    .infer = infer_scatter,
    .kernel = scatter_kernel,
    .saves = Saves::each(Saves::in(1), 0, Saves::in(1)),
    .vjp = [](const VjpArgs& a) -> Grads {
      const auto& s = a.attrs<ScatterAttrs>();
      Grads grads(3);
      if (a.needs(0))
        grads[0] = s.fn == ScatterFn::Add ? a.grad() : a.grad().scatter(s.dim, a.input(1), 0);
      if (a.needs(2)) grads[2] = a.grad().gather(s.dim, a.input(1));
      return grads;
    },
    .inplace = true,
    .checks_values = true,
    .attrs = attrs_of<ScatterAttrs>,
    .batch = batch_gather<ScatterAttrs>,
    .inputs = 3,
};

TANDEM_OP(kScatterReduce) = {
    .name = "scatter_reduce",
    .infer = infer_scatter,
    .kernel = scatter_kernel,
    .saves = Saves::all(Saves::in(0) | Saves::in(1) | Saves::in(2) | Saves::out(0)),
    .vjp = [](const VjpArgs& a) -> Grads {
      return a.attrs<ScatterAttrs>().fn == ScatterFn::Mul ? product_vjp(a) : extreme_vjp(a);
    },
    .inplace = true,
    .checks_values = true,
    .attrs = attrs_of<ScatterAttrs>,
    .batch = batch_gather<ScatterAttrs>,
    .inputs = 3,
};

// -- gather and scatter
// -----------------------------------------------------------------------------

namespace {

// A 0-d tensor among 1-d ones counts as 1-d.
Tensor as_dims_of(const Tensor& t, const Tensor& like) {
  return t.dim() == 0 && like.dim() == 1 ? t.view({1}) : t;
}

void check_index(const char* op, const Tensor& x, int64_t dim, const Tensor& index) {
  TANDEM_CHECK_TYPE(index.dtype() == kLong, op, "(): Expected dtype int64 for index, not ",
                    name_of(index.dtype()));
  TANDEM_CHECK_SHAPE(index.dim() == x.dim() || index.numel() == 0, op,
                     "(): Index tensor must have the same number of dimensions as input tensor: ",
                     index.sizes(), " and ", x.sizes());
  for (int64_t d = 0; d < x.dim() && index.numel(); ++d)
    TANDEM_CHECK_SHAPE(d == dim || index.size(d) <= x.size(d), op,
                       "(): Size does not match at dimension ", d, " expected index ",
                       index.sizes(), " to be no larger than self ", x.sizes(),
                       " apart from dimension ", dim);
}

struct ScatterCall {
  Tensor x, index, src;
  ScatterAttrs attrs;
};

ScatterCall scatter_call(const char* op, const Tensor& x, int64_t dim, const Tensor& index,
                         Tensor src, ScatterFn fn) {
  dim = wrap_dim(op, dim, x.dim());
  const Tensor i = as_dims_of(index, x.dim() ? x : src);
  const Tensor base = as_dims_of(x, i);
  src = as_dims_of(src, i);
  check_index(op, base, dim, i);
  TANDEM_CHECK_TYPE(src.dtype() == x.dtype(), op,
                    "(): Expected self.dtype to be equal to src.dtype: ", x.dtype(), " and ",
                    src.dtype());
  if (i.numel() == 0) return {base, zeros({0}, kLong), zeros({0}, src.options()), {0, fn}};
  TANDEM_CHECK_SHAPE(src.dim() == i.dim(), op,
                     "(): Index tensor must have the same number of dimensions as src tensor: ",
                     i.sizes(), " and ", src.sizes());
  // Of a larger src only the part that has indices is used.
  for (int64_t d = 0; d < i.dim(); ++d) {
    TANDEM_CHECK_SHAPE(i.size(d) <= src.size(d), op, "(): Expected index ", i.sizes(),
                       " to be no larger than src ", src.sizes());
    if (i.size(d) < src.size(d)) src = src.narrow(d, 0, i.size(d));
  }
  return {base, i, src, {dim, fn}};
}

const OpDef& op_of(ScatterFn fn) {
  return fn == ScatterFn::Set || fn == ScatterFn::Add ? kScatter : kScatterReduce;
}

Tensor scattered(const char* op, const Tensor& x, int64_t dim, const Tensor& index,
                 const Tensor& src, ScatterFn fn) {
  const ScatterCall c = scatter_call(op, x, dim, index, src, fn);
  if (c.index.numel() == 0) return x.clone();
  const Tensor result = apply(op_of(fn), {c.x, c.index, c.src}, c.attrs);
  return x.dim() == result.dim() ? result : result.view(x.sizes());
}

Tensor& scatter_into(const char* op, const Tensor& x, int64_t dim, const Tensor& index,
                     const Tensor& src, ScatterFn fn) {
  const ScatterCall c = scatter_call(op, x, dim, index, src, fn);
  if (c.index.numel()) apply_inplace(op_of(fn), c.x, {c.x, c.index, c.src}, c.attrs);
  return const_cast<Tensor&>(x);
}

Tensor filled(const Tensor& x, const Tensor& index, const Scalar& value) {
  return full({}, value, x.options()).expand(index.sizes());
}

ScatterFn by_name(std::string_view reduce) {
  TANDEM_CHECK(reduce == "add" || reduce == "multiply",
               "scatter: reduce argument must be either add or multiply, not ", reduce);
  return reduce == "add" ? ScatterFn::Add : ScatterFn::Mul;
}

}  // namespace

Tensor Tensor::gather(int64_t dim, const Tensor& index, bool) const {
  dim = wrap_dim("gather", dim, this->dim());
  const Tensor x = as_dims_of(*this, index), i = as_dims_of(index, *this);
  check_index("gather", x, dim, i);
  const Tensor result = apply(kGather, {x, i}, GatherAttrs{dim});
  return result.dim() == index.dim() ? result : result.view(index.sizes());
}

Tensor Tensor::take_along_dim(const Tensor& indices, std::optional<int64_t> dim) const {
  if (!dim) return flatten().gather(0, indices.flatten());
  TANDEM_CHECK_SHAPE(
      this->dim() == indices.dim(),
      "take_along_dim(): input and indices should have the same number of dimensions, "
      "but got ",
      this->dim(), " dimensions for input, and ", indices.dim(), " dimensions for indices");
  const int64_t d = wrap_dim("take_along_dim", *dim, this->dim());
  Dims a = sizes(), b = indices.sizes();
  if (a.empty()) return gather(0, indices);
  a[d] = b[d] = 1;
  Dims shape = broadcast_shapes("take_along_dim", a, b), i_shape = shape;
  shape[d] = size(d);
  i_shape[d] = indices.size(d);
  return expand(shape).gather(d, indices.expand(i_shape));
}

Tensor Tensor::scatter(int64_t dim, const Tensor& index, const Tensor& src) const {
  return scattered("scatter", *this, dim, index, src, ScatterFn::Set);
}
Tensor Tensor::scatter(int64_t dim, const Tensor& index, const Scalar& value) const {
  return scattered("scatter", *this, dim, index, filled(*this, index, value), ScatterFn::Set);
}
Tensor Tensor::scatter(int64_t dim, const Tensor& index, const Tensor& src,
                       std::string_view reduce) const {
  return scattered("scatter", *this, dim, index, src, by_name(reduce));
}
Tensor Tensor::scatter(int64_t dim, const Tensor& index, const Scalar& value,
                       std::string_view reduce) const {
  return scattered("scatter", *this, dim, index, filled(*this, index, value), by_name(reduce));
}
Tensor Tensor::scatter_add(int64_t dim, const Tensor& index, const Tensor& src) const {
  return scattered("scatter_add", *this, dim, index, src, ScatterFn::Add);
}
Tensor& Tensor::scatter_(int64_t dim, const Tensor& index, const Tensor& src) const {
  return scatter_into("scatter_", *this, dim, index, src, ScatterFn::Set);
}
Tensor& Tensor::scatter_(int64_t dim, const Tensor& index, const Scalar& value) const {
  return scatter_into("scatter_", *this, dim, index, filled(*this, index, value), ScatterFn::Set);
}
Tensor& Tensor::scatter_(int64_t dim, const Tensor& index, const Tensor& src,
                         std::string_view reduce) const {
  return scatter_into("scatter_", *this, dim, index, src, by_name(reduce));
}
Tensor& Tensor::scatter_(int64_t dim, const Tensor& index, const Scalar& value,
                         std::string_view reduce) const {
  return scatter_into("scatter_", *this, dim, index, filled(*this, index, value), by_name(reduce));
}
Tensor& Tensor::scatter_add_(int64_t dim, const Tensor& index, const Tensor& src) const {
  return scatter_into("scatter_add_", *this, dim, index, src, ScatterFn::Add);
}

namespace {

// The number that leaves what is combined with it as it is.
Scalar neutral(std::string_view reduce, DType t) {
  if (reduce == "prod") return 1;
  if (reduce == "sum" || reduce == "mean") return 0;
  const bool least = reduce == "amax";
  if (is_floating(t)) return least ? -INFINITY : INFINITY;
  return dispatch(t, [&]<class T>(T) -> Scalar {
    if constexpr (std::is_integral_v<T>)
      return static_cast<int64_t>(least ? std::numeric_limits<T>::min()
                                        : std::numeric_limits<T>::max());
    return 0;
  });
}

}  // namespace

Tensor Tensor::scatter_reduce(int64_t dim, const Tensor& index, const Tensor& src,
                              std::string_view reduce, bool include_self) const {
  ScatterFn fn = ScatterFn::Add;
  if (reduce == "prod")
    fn = ScatterFn::Mul;
  else if (reduce == "amax")
    fn = ScatterFn::Max;
  else if (reduce == "amin")
    fn = ScatterFn::Min;
  else
    TANDEM_CHECK(
        reduce == "sum" || reduce == "mean",
        "scatter_reduce: reduce argument must be either sum, prod, mean, amax or amin, got ",
        reduce);
  const Tensor start =
      include_self ? *this
                   : scattered("scatter_reduce", *this, dim, index,
                               filled(*this, index, neutral(reduce, dtype())), ScatterFn::Set);
  const Tensor result = scattered("scatter_reduce", start, dim, index, src, fn);
  if (reduce != "mean") return result;
  const Tensor ones = tandem::ones(index.sizes(), options());
  Tensor counts = include_self ? ones_like(*this) : zeros_like(*this);
  counts = tandem::clamp_min(counts.scatter_add(dim, index, ones), 1);
  return is_floating_point() ? result / counts : result.div(counts, "floor");
}
Tensor& Tensor::scatter_reduce_(int64_t dim, const Tensor& index, const Tensor& src,
                                std::string_view reduce, bool include_self) const {
  // The gradient reads the old values, which must not be the ones overwritten.
  return copy_(clone().scatter_reduce(dim, index, src, reduce, include_self));
}

// -- slices of a dimension by a 1-d index
// -------------------------------------------------------------

namespace {

Tensor vector_index(const char* op, const Tensor& index) {
  TANDEM_CHECK_SHAPE(index.dim() <= 1, op, "(): Index is supposed to be a vector, not of shape ",
                     index.sizes());
  TANDEM_CHECK_TYPE(index.dtype() == kLong || index.dtype() == kInt, op,
                    "(): Expected dtype int32 or int64 for index, not ", name_of(index.dtype()));
  return index.dim() == 0 ? index.view({1}) : index;
}

// A 0-d tensor is indexed as a 1-d one.
Tensor at_least_1d(const Tensor& x) { return x.dim() == 0 ? x.view({1}) : x; }

struct SlicesCall {
  Tensor x, index, src;
  int64_t dim;
};

SlicesCall slices_call(const char* op, const Tensor& x, int64_t dim, const Tensor& index,
                       const Tensor& src) {
  SlicesCall c{at_least_1d(x), vector_index(op, index), src, wrap_dim(op, dim, x.dim())};
  if (src.dim() == 0 && c.x.dim() == 1) c.src = src.view({1});
  Dims want = c.x.sizes();
  want[c.dim] = c.index.numel();
  TANDEM_CHECK_SHAPE(c.src.sizes() == IntArrayRef(want), op, "(): Source has shape ", src.sizes(),
                     " but self of shape ", x.sizes(), ", dim ", dim, " and an index of length ",
                     c.index.numel(), " ask for ", want);
  TANDEM_CHECK_TYPE(src.dtype() == x.dtype(), op,
                    "(): self and source expected to have the same dtype, "
                    "but got (self) ",
                    x.dtype(), " and (source) ", src.dtype());
  return c;
}

Tensor put_slices(const char* op, const Tensor& x, int64_t dim, const Tensor& index,
                  const Tensor& src, bool accumulate) {
  const SlicesCall c = slices_call(op, x, dim, index, src);
  return index_put_at(op, c.x, c.dim, c.index, c.src, accumulate, false).view(x.sizes());
}

Tensor& put_slices_(const char* op, const Tensor& x, int64_t dim, const Tensor& index,
                    const Tensor& src, bool accumulate) {
  const SlicesCall c = slices_call(op, x, dim, index, src);
  index_put_at_(op, c.x, c.dim, c.index, c.src, accumulate, false);
  return const_cast<Tensor&>(x);
}

Tensor scaled(const Tensor& src, const Scalar& alpha) { return alpha.equal(1) ? src : src * alpha; }

}  // namespace

Tensor Tensor::index_select(int64_t dim, const Tensor& index) const {
  const int64_t d = wrap_dim("index_select", dim, this->dim());
  const Tensor i = vector_index("index_select", index);
  const Tensor result = index_at("index_select", at_least_1d(*this), d, i, false);
  return this->dim() == 0 ? result.reshape({}) : result;
}

Tensor Tensor::index_add(int64_t dim, const Tensor& index, const Tensor& src,
                         const Scalar& alpha) const {
  return put_slices("index_add", *this, dim, index, scaled(src, alpha), true);
}
Tensor Tensor::index_reduce(int64_t dim, const Tensor& index, const Tensor& src,
                            std::string_view reduce, bool include_self) const {
  TANDEM_CHECK(reduce == "prod" || reduce == "mean" || reduce == "amax" || reduce == "amin",
               "index_reduce: Expected reduce to be one of prod, mean, amax or amin but got ",
               reduce, ".");
  TANDEM_CHECK_INDEX(index.dim() <= 1,
                     "index_reduce: Index is supposed to be a vector, but got dim: ", index.dim());
  if (this->dim() == 0) {
    return unsqueeze(0)
        .index_reduce(dim, index, src.reshape({-1}), reduce, include_self)
        .squeeze(0);
  }
  dim = wrap_dim("index_reduce", dim, this->dim());
  Dims wanted(sizes());
  wanted[static_cast<size_t>(dim)] = index.numel();
  TANDEM_CHECK_SHAPE(src.sizes() == wanted.ref(), "index_reduce: expected a source of shape ",
                     wanted, ", got ", src.sizes());
  Dims along(static_cast<size_t>(this->dim()), 1);
  along[static_cast<size_t>(dim)] = index.numel();
  return scatter_reduce(dim, index.reshape(along.ref()).expand(wanted.ref()), src, reduce,
                        include_self);
}
Tensor& Tensor::index_reduce_(int64_t dim, const Tensor& index, const Tensor& src,
                              std::string_view reduce, bool include_self) const {
  return copy_(clone().index_reduce(dim, index, src, reduce, include_self));
}
Tensor& Tensor::index_add_(int64_t dim, const Tensor& index, const Tensor& src,
                           const Scalar& alpha) const {
  return put_slices_("index_add_", *this, dim, index, scaled(src, alpha), true);
}
Tensor Tensor::index_copy(int64_t dim, const Tensor& index, const Tensor& src) const {
  return put_slices("index_copy", *this, dim, index, src, false);
}
Tensor& Tensor::index_copy_(int64_t dim, const Tensor& index, const Tensor& src) const {
  return put_slices_("index_copy_", *this, dim, index, src, false);
}

Tensor Tensor::index_fill(int64_t dim, const Tensor& index, const Tensor& value) const {
  return clone().index_fill_(dim, index, value);
}
Tensor Tensor::index_fill(int64_t dim, const Tensor& index, const Scalar& value) const {
  return clone().index_fill_(dim, index, value);
}
Tensor& Tensor::index_fill_(int64_t dim, const Tensor& index, const Tensor& value) const {
  TANDEM_CHECK_SHAPE(value.dim() == 0,
                     "index_fill_ only supports a 0-dimensional value tensor, but got tensor with ",
                     value.dim(), " dimension(s).");
  const int64_t d = wrap_dim("index_fill_", dim, this->dim());
  index_put_at_("index_fill_", at_least_1d(*this), d, vector_index("index_fill_", index),
                value.to(dtype()), false);
  return const_cast<Tensor&>(*this);
}
Tensor& Tensor::index_fill_(int64_t dim, const Tensor& index, const Scalar& value) const {
  return index_fill_(dim, index, full({}, value, options()));
}

// -- elements by number
// -------------------------------------------------------------------------------

Tensor Tensor::take(const Tensor& index) const {
  TANDEM_CHECK_TYPE(index.dtype() == kLong, "take(): Expected a long tensor for index, but got ",
                    index.dtype());
  return index_at("take", reshape({-1}), 0, index);
}

Tensor Tensor::put(const Tensor& index, const Tensor& src, bool accumulate) const {
  TANDEM_CHECK_TYPE(index.dtype() == kLong, "put_(): Expected a long tensor for index, but got ",
                    index.dtype());
  TANDEM_CHECK_SHAPE(
      index.numel() == src.numel(),
      "put_(): Expected source and index to have the same number of elements, but got "
      "source.numel() = ",
      src.numel(), ", index.numel() = ", index.numel());
  return index_put_at("put_", reshape({-1}), 0, index.reshape({-1}), src.reshape({-1}), accumulate)
      .view(sizes());
}
Tensor& Tensor::put_(const Tensor& index, const Tensor& src, bool accumulate) const {
  return copy_(put(index, src, accumulate));
}

// -- free forms
// ---------------------------------------------------------------------------------------

Tensor gather(const Tensor& x, int64_t dim, const Tensor& index, bool) {
  return x.gather(dim, index);
}
Tensor take_along_dim(const Tensor& x, const Tensor& indices, std::optional<int64_t> dim) {
  return x.take_along_dim(indices, dim);
}
Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src) {
  return x.scatter(dim, index, src);
}
Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, const Scalar& value) {
  return x.scatter(dim, index, value);
}
Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src,
               std::string_view reduce) {
  return x.scatter(dim, index, src, reduce);
}
Tensor scatter(const Tensor& x, int64_t dim, const Tensor& index, const Scalar& value,
               std::string_view reduce) {
  return x.scatter(dim, index, value, reduce);
}
Tensor scatter_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src) {
  return x.scatter_add(dim, index, src);
}
Tensor scatter_reduce(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src,
                      std::string_view reduce, bool include_self) {
  return x.scatter_reduce(dim, index, src, reduce, include_self);
}
Tensor index_select(const Tensor& x, int64_t dim, const Tensor& index) {
  return x.index_select(dim, index);
}
Tensor index_reduce(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src,
                    std::string_view reduce, bool include_self) {
  return x.index_reduce(dim, index, src, reduce, include_self);
}
Tensor index_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src,
                 const Scalar& alpha) {
  return x.index_add(dim, index, src, alpha);
}
Tensor index_copy(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& src) {
  return x.index_copy(dim, index, src);
}
Tensor index_fill(const Tensor& x, int64_t dim, const Tensor& index, const Scalar& value) {
  return x.index_fill(dim, index, value);
}
Tensor index_fill(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& value) {
  return x.index_fill(dim, index, value);
}
Tensor take(const Tensor& x, const Tensor& index) { return x.take(index); }
Tensor put(const Tensor& x, const Tensor& index, const Tensor& src, bool accumulate) {
  return x.put(index, src, accumulate);
}
Tensor masked_fill(const Tensor& x, const Tensor& mask, const Scalar& value) {
  return x.masked_fill(mask, value);
}
Tensor masked_fill(const Tensor& x, const Tensor& mask, const Tensor& value) {
  return x.masked_fill(mask, value);
}
Tensor masked_select(const Tensor& x, const Tensor& mask) { return x.masked_select(mask); }
Tensor masked_scatter(const Tensor& x, const Tensor& mask, const Tensor& src) {
  return x.masked_scatter(mask, src);
}
Tensor nonzero(const Tensor& x) { return x.nonzero(); }
Tensor argwhere(const Tensor& x) { return x.nonzero(); }
std::vector<Tensor> nonzero_numpy(const Tensor& x) { return x.nonzero_numpy(); }
std::vector<Tensor> where(const Tensor& condition) { return condition.nonzero_numpy(); }

}  // namespace tandem
