#include "tandem/ops/reduction.h"

#include <algorithm>

#include "tandem/core/apply.h"
#include "tandem/kernels/reduce.h"
#include "tandem/ops/batch_detail.h"
#include "tandem/ops/ops.h"
#include "tandem/ops/reduction_detail.h"
#include "tandem/ops/reduction_op.h"
#include "tandem/ops/scan_detail.h"

namespace tandem {

// -- shapes -----------------------------------------------------------------------------------

Dims reduced_dims(const char* op, OptionalIntArrayRef dim, int64_t ndim) {
  Dims dims;
  if (!dim || dim->empty()) {
    for (int64_t d = 0; d < ndim; ++d) dims.push_back(d);
    return dims;
  }
  for (int64_t d : *dim) {
    const int64_t w = wrap_dim(op, d, ndim);
    TANDEM_CHECK(std::find(dims.begin(), dims.end(), w) == dims.end(), op, ": dim ", w,
                 " appears multiple times in the list of dims");
    dims.push_back(w);
  }
  if (ndim == 0) dims.clear();
  std::sort(dims.begin(), dims.end());
  return dims;
}

Dims reduced_sizes(IntArrayRef sizes, IntArrayRef dims, bool keepdim) {
  Dims left;
  size_t k = 0;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (k < dims.size() && dims[k] == static_cast<int64_t>(d)) {
      if (keepdim) left.push_back(1);
      ++k;
    } else {
      left.push_back(sizes[d]);
    }
  }
  TANDEM_CHECK_INDEX(k == dims.size(), "the dimensions ", dims, " are not those of ", sizes,
                     " in rising order");
  return left;
}

int64_t extent_of(IntArrayRef sizes, IntArrayRef dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= sizes[static_cast<size_t>(d)];
  return n;
}

Tensor with_dims(const Tensor& reduced, IntArrayRef sizes, IntArrayRef dims, bool keepdim) {
  if (keepdim || dims.empty()) return reduced;
  return reduced.reshape(reduced_sizes(sizes, dims, true));
}

Tensor spread(const Tensor& reduced, IntArrayRef sizes, IntArrayRef dims, bool keepdim) {
  // A 0-d tensor can be repeated as it is.
  if (reduced.dim() == 0) return reduced.expand(sizes);
  return with_dims(reduced, sizes, dims, keepdim).expand(sizes);
}

KeptArray::KeptArray(const Array& out, const Array& in, IntArrayRef dims, bool keepdim)
    : reduced(static_cast<size_t>(in.ndim), false), array(out) {
  for (int64_t d : dims) reduced[static_cast<size_t>(d)] = true;
  // One element needs no strides, and with all dimensions kept they are there already.
  if (keepdim || out.ndim == in.ndim || out.numel == 1) return;
  for (int d = 0, o = 0; d < in.ndim; ++d) {
    const bool gone = reduced[static_cast<size_t>(d)];
    sizes_.push_back(gone ? 1 : out.sizes[o]);
    strides_.push_back(gone ? 0 : out.strides[o]);
    o += !gone;
  }
  array.sizes = sizes_.data();
  array.strides = strides_.data();
  array.ndim = in.ndim;
}

void check_not_empty(const char* op, IntArrayRef sizes, IntArrayRef dims) {
  for (int64_t d : dims)
    TANDEM_CHECK_INDEX(
        d >= 0 && static_cast<size_t>(d) < sizes.size() && sizes[static_cast<size_t>(d)] != 0, op,
        ": Expected reduction dim ", d, " to have non-zero size.");
}

namespace {

void infer_sizes(const InferArgs& a) {
  const auto& r = a.attrs<ReduceAttrs>();
  a.out().sizes = reduced_sizes(a.in().sizes, r.dims, r.keepdim);
}

void infer_sum(const InferArgs& a) {
  infer_sizes(a);
  const DType in = a.in().dtype, wanted = a.attrs<ReduceAttrs>().dtype;
  a.out().dtype = wanted != DType::Undefined ? wanted : is_floating(in) ? in : kLong;
}

template <kernels::ReduceFn fn>
void reduce_kernel(const KernelArgs& a) {
  const auto& r = a.attrs<ReduceAttrs>();
  const KeptArray out(a.out(), a.in(), r.dims, r.keepdim);
  kernels::reduce(fn, a.in(), out.reduced.data(), out.array);
}

Tensor spread_grad(const VjpArgs& a) {
  const auto& r = a.attrs<ReduceAttrs>();
  return spread(a.grad(), a.input_type().sizes, r.dims, r.keepdim);
}

}  // namespace

TANDEM_OP(kSum) = {
    .name = "sum",
    .infer = infer_sum,
    .kernel = reduce_kernel<kernels::ReduceFn::Sum>,
    .vjp = [](const VjpArgs& a) -> Grads { return {spread_grad(a)}; },
    .attrs = attrs_of<ReduceAttrs>,
    .batch = batch_dims<ReduceAttrs>,
    .reduction = reduction_info<ReduceAttrs, ReductionInfo::Fn::sum>,
    .inputs = 1,
};

TANDEM_OP(kNansum) = {
    .name = "nansum",
    .infer = infer_sum,
    .kernel = reduce_kernel<kernels::ReduceFn::NanSum>,
    .saves = Saves::all(Saves::in(0)),
    .vjp = [](const VjpArgs& a) -> Grads {
      const Tensor x = a.input();
      return {where(x.isnan(), 0, spread_grad(a))};
    },
    .attrs = attrs_of<ReduceAttrs>,
    .batch = batch_dims<ReduceAttrs>,
    .inputs = 1,
};

TANDEM_OP(kMean) = {
    .name = "mean",
    .infer =
        [](const InferArgs& a) {
          infer_sizes(a);
          const DType in = a.in().dtype, wanted = a.attrs<ReduceAttrs>().dtype;
          a.out().dtype = wanted != DType::Undefined ? wanted : in;
          TANDEM_CHECK_TYPE(
              is_floating(a.out().dtype), "mean: could not infer output dtype. ",
              wanted != DType::Undefined ? "Optional dtype" : "Input dtype",
              " must be either a floating point or complex dtype. Got: ", a.out().dtype);
        },
    .kernel = reduce_kernel<kernels::ReduceFn::Mean>,
    .vjp = [](const VjpArgs& a) -> Grads {
      const auto& r = a.attrs<ReduceAttrs>();
      const int64_t n = extent_of(a.input_type().sizes, r.dims);
      // Fewer elements are divided before they are spread.
      return {spread(a.grad() / static_cast<double>(n), a.input_type().sizes, r.dims, r.keepdim)};
    },
    .attrs = attrs_of<ReduceAttrs>,
    .batch = batch_dims<ReduceAttrs>,
    .reduction = reduction_info<ReduceAttrs, ReductionInfo::Fn::mean>,
    .inputs = 1,
};

namespace {

// The product of all other elements along dim, for each element: those before times those after.
Tensor product_of_others(const Tensor& x, int64_t dim) {
  return shifted(cumprod(x, dim), dim, 1, 1) * shifted(reverse_cumprod(x, dim), dim, -1, 1);
}

// The same over several dimensions: they are put last and seen as one.
Tensor product_of_others(const Tensor& x, IntArrayRef dims) {
  if (dims.size() == 1) return product_of_others(x, dims[0]);
  Dims order, back(x.sizes().size()), flat;
  for (int64_t d = 0; d < x.dim(); ++d)
    if (std::find(dims.begin(), dims.end(), d) == dims.end()) order.push_back(d);
  for (int64_t d : order) flat.push_back(x.size(d));
  flat.push_back(extent_of(x.sizes(), dims));
  order.append(dims.begin(), dims.end());
  for (size_t i = 0; i < order.size(); ++i) back[order[i]] = static_cast<int64_t>(i);
  const Tensor last = x.permute(order);
  const int64_t dim = static_cast<int64_t>(flat.size()) - 1;
  return product_of_others(last.reshape(flat), dim).reshape(last.sizes()).permute(back);
}

}  // namespace

TANDEM_OP(kProd) = {
    .name = "prod",
    .infer = infer_sum,
    .kernel = reduce_kernel<kernels::ReduceFn::Prod>,
    .saves = Saves::all(Saves::in(0)),
    .vjp = [](const VjpArgs& a) -> Grads {
      // Not output / input: that fails where an element is zero.
      const auto& r = a.attrs<ReduceAttrs>();
      const Tensor x = a.input();
      if (x.dim() == 0) return {a.grad()};
      return {spread_grad(a) * product_of_others(x, r.dims)};
    },
    .attrs = attrs_of<ReduceAttrs>,
    .batch = batch_dims<ReduceAttrs>,
    .reduction = reduction_info<ReduceAttrs, ReductionInfo::Fn::prod>,
    .inputs = 1,
};

TANDEM_OP(kAny) = {
    .name = "any",
    .infer =
        [](const InferArgs& a) {
          infer_sizes(a);
          // As in LibTorch, uint8 stays: it once was the type of masks.
          a.out().dtype = a.in().dtype == kByte ? kByte : kBool;
        },
    .kernel = reduce_kernel<kernels::ReduceFn::Any>,
    .attrs = attrs_of<ReduceAttrs>,
    .batch = batch_dims<ReduceAttrs>,
    .inputs = 1,
};

TANDEM_OP(kAll) = {
    .name = "all",
    .infer =
        [](const InferArgs& a) {
          infer_sizes(a);
          a.out().dtype = a.in().dtype == kByte ? kByte : kBool;
        },
    .kernel = reduce_kernel<kernels::ReduceFn::All>,
    .attrs = attrs_of<ReduceAttrs>,
    .batch = batch_dims<ReduceAttrs>,
    .inputs = 1,
};

TANDEM_OP(kCountNonzero) = {
    .name = "count_nonzero",
    .infer =
        [](const InferArgs& a) {
          infer_sizes(a);
          a.out().dtype = kLong;
        },
    .kernel = reduce_kernel<kernels::ReduceFn::CountNonzero>,
    .attrs = attrs_of<ReduceAttrs>,
    .batch = batch_dims<ReduceAttrs>,
    .inputs = 1,
};

namespace {

Tensor reduce(const OpDef& op, const Tensor& x, OptionalIntArrayRef dim, bool keepdim,
              std::optional<DType> dtype = std::nullopt) {
  TANDEM_CHECK(x.defined(), op.name, ": the input is an undefined tensor");
  return apply(
      op, {x},
      ReduceAttrs{reduced_dims(op.name, dim, x.dim()), keepdim, dtype.value_or(DType::Undefined)});
}

}  // namespace

// -- functions --------------------------------------------------------------------------------

Tensor sum(const Tensor& x, std::optional<DType> dtype) {
  return reduce(kSum, x, std::nullopt, false, dtype);
}
Tensor sum(const Tensor& x, OptionalIntArrayRef dim, bool keepdim, std::optional<DType> dtype) {
  return reduce(kSum, x, dim, keepdim, dtype);
}
Tensor nansum(const Tensor& x, OptionalIntArrayRef dim, bool keepdim, std::optional<DType> dtype) {
  // Integers hold no nan.
  if (!is_floating(x.dtype()) && (!dtype || !is_floating(*dtype)))
    return reduce(kSum, x, dim, keepdim, dtype);
  return reduce(kNansum, x, dim, keepdim, dtype);
}
Tensor mean(const Tensor& x, std::optional<DType> dtype) {
  return reduce(kMean, x, std::nullopt, false, dtype);
}
Tensor mean(const Tensor& x, OptionalIntArrayRef dim, bool keepdim, std::optional<DType> dtype) {
  return reduce(kMean, x, dim, keepdim, dtype);
}
Tensor nanmean(const Tensor& x, OptionalIntArrayRef dim, bool keepdim, std::optional<DType> dtype) {
  TANDEM_CHECK_TYPE(is_floating(x.dtype()),
                    "nanmean: expected input to have floating point or complex dtype but got ",
                    x.dtype());
  const Tensor count = x.isnan().logical_not().sum(dim, keepdim);
  return nansum(x, dim, keepdim, dtype) / count;
}
Tensor prod(const Tensor& x, std::optional<DType> dtype) {
  return reduce(kProd, x, std::nullopt, false, dtype);
}
Tensor prod(const Tensor& x, int64_t dim, bool keepdim, std::optional<DType> dtype) {
  return reduce(kProd, x, dim, keepdim, dtype);
}
Tensor any(const Tensor& x) { return reduce(kAny, x, std::nullopt, false); }
Tensor any(const Tensor& x, int64_t dim, bool keepdim) { return reduce(kAny, x, dim, keepdim); }
Tensor all(const Tensor& x) { return reduce(kAll, x, std::nullopt, false); }
Tensor all(const Tensor& x, int64_t dim, bool keepdim) { return reduce(kAll, x, dim, keepdim); }
Tensor count_nonzero(const Tensor& x, IntArrayRef dim) {
  return reduce(kCountNonzero, x, dim, false);
}
Tensor count_nonzero(const Tensor& x, int64_t dim) { return reduce(kCountNonzero, x, dim, false); }
Tensor count_nonzero(const Tensor& x, std::optional<int64_t> dim) {
  return dim ? reduce(kCountNonzero, x, *dim, false)
             : reduce(kCountNonzero, x, std::nullopt, false);
}

// -- methods ----------------------------------------------------------------------------------

Tensor Tensor::sum(std::optional<DType> dtype) const { return tandem::sum(*this, dtype); }
Tensor Tensor::sum(OptionalIntArrayRef dim, bool keepdim, std::optional<DType> dtype) const {
  return tandem::sum(*this, dim, keepdim, dtype);
}
Tensor Tensor::nansum(OptionalIntArrayRef dim, bool keepdim, std::optional<DType> dtype) const {
  return tandem::nansum(*this, dim, keepdim, dtype);
}
Tensor Tensor::mean(std::optional<DType> dtype) const { return tandem::mean(*this, dtype); }
Tensor Tensor::mean(OptionalIntArrayRef dim, bool keepdim, std::optional<DType> dtype) const {
  return tandem::mean(*this, dim, keepdim, dtype);
}
Tensor Tensor::nanmean(OptionalIntArrayRef dim, bool keepdim, std::optional<DType> dtype) const {
  return tandem::nanmean(*this, dim, keepdim, dtype);
}
Tensor Tensor::prod(std::optional<DType> dtype) const { return tandem::prod(*this, dtype); }
Tensor Tensor::prod(int64_t dim, bool keepdim, std::optional<DType> dtype) const {
  return tandem::prod(*this, dim, keepdim, dtype);
}
Tensor Tensor::any() const { return tandem::any(*this); }
Tensor Tensor::any(int64_t dim, bool keepdim) const { return tandem::any(*this, dim, keepdim); }
Tensor Tensor::all() const { return tandem::all(*this); }
Tensor Tensor::all(int64_t dim, bool keepdim) const { return tandem::all(*this, dim, keepdim); }
Tensor Tensor::count_nonzero(IntArrayRef dim) const { return tandem::count_nonzero(*this, dim); }
Tensor Tensor::count_nonzero(int64_t dim) const { return tandem::count_nonzero(*this, dim); }
Tensor Tensor::count_nonzero(std::optional<int64_t> dim) const {
  return tandem::count_nonzero(*this, dim);
}

}  // namespace tandem
