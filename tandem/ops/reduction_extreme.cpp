// Greatest and least elements.
#include <numeric>

#include "tandem/kernels/reduce.h"
#include "tandem/ops/batch_detail.h"
#include "tandem/ops/ops.h"
#include "tandem/ops/reduction_detail.h"

namespace tandem {
namespace {

struct ExtremeAttrs {
  Dims dims;
  bool keepdim = false;
  TANDEM_FIELDS(dims, keepdim)
};

// One dimension, or -1 for all elements in a row.
struct ArgAttrs {
  int64_t dim;
  bool keepdim = false;
  TANDEM_FIELDS(dim, keepdim)
};

void infer_extreme(const InferArgs& a) {
  const auto& r = a.attrs<ExtremeAttrs>();
  check_not_empty(a.op.name, a.in().sizes, r.dims);
  a.out().sizes = reduced_sizes(a.in().sizes, r.dims, r.keepdim);
  a.out().dtype = a.in().dtype;
}

template <kernels::ReduceFn fn>
void extreme_kernel(const KernelArgs& a) {
  const auto& r = a.attrs<ExtremeAttrs>();
  const KeptArray out(a.out(), a.in(), r.dims, r.keepdim);
  kernels::reduce(fn, a.in(), out.reduced.data(), out.array);
}

// All elements that equal the result share its gradient evenly.
Grads shared_vjp(const VjpArgs& a) {
  const auto& r = a.attrs<ExtremeAttrs>();
  const Tensor x = a.input();
  const Tensor best = with_dims(a.output().detach(), x.sizes(), r.dims, r.keepdim);
  const Tensor hit = (x.detach() == best).logical_or(x.detach().isnan().logical_and(best.isnan()));
  const Tensor g = with_dims(a.grad(), x.sizes(), r.dims, r.keepdim);
  return {hit.to(g.dtype()) * (g / hit.sum(r.dims, true))};
}

Dims arg_dims(const ArgAttrs& r, int64_t ndim) {
  if (r.dim >= 0) return ndim == 0 ? Dims() : Dims{r.dim};
  Dims all(static_cast<size_t>(ndim));
  std::iota(all.begin(), all.end(), int64_t{0});
  return all;
}

void infer_arg_sizes(const InferArgs& a, int out) {
  const auto& r = a.attrs<ArgAttrs>();
  const Dims dims = arg_dims(r, a.in().dim());
  a.out(out).sizes = reduced_sizes(a.in().sizes, dims, r.keepdim);
}

void infer_max_dim(const InferArgs& a) {
  check_not_empty(a.op.name, a.in().sizes, arg_dims(a.attrs<ArgAttrs>(), a.in().dim()));
  infer_arg_sizes(a, 0);
  infer_arg_sizes(a, 1);
  a.out(0).dtype = a.in().dtype;
  a.out(1).dtype = kLong;
}

void infer_arg(const InferArgs& a) {
  check_not_empty(a.op.name, a.in().sizes, arg_dims(a.attrs<ArgAttrs>(), a.in().dim()));
  TANDEM_CHECK_TYPE(a.in().dtype != kBool, a.op.name, ": not implemented for 'Bool'");
  infer_arg_sizes(a, 0);
  a.out().dtype = kLong;
}

template <bool least>
void max_dim_kernel(const KernelArgs& a) {
  const auto& r = a.attrs<ArgAttrs>();
  const Dims dims = arg_dims(r, a.in().ndim);
  const KeptArray values(a.out(0), a.in(), dims, r.keepdim);
  const KeptArray indices(a.out(1), a.in(), dims, r.keepdim);
  kernels::arg_reduce(a.in(), r.dim, least, &values.array, &indices.array);
}

template <bool least>
void arg_kernel(const KernelArgs& a) {
  const auto& r = a.attrs<ArgAttrs>();
  const KeptArray indices(a.out(), a.in(), arg_dims(r, a.in().ndim), r.keepdim);
  kernels::arg_reduce(a.in(), r.dim, least, nullptr, &indices.array);
}

void batch_arg(const BatchArgs& a) {
  const auto& r = a.attrs<ArgAttrs>();
  if (r.dim >= 0) return batch_dim<ArgAttrs>(a);
  const Dims sizes = sample_sizes(a);
  apply_to(a.op, {a.in().reshape({a.size, numel_of(sizes)})}, ArgAttrs{1}, a.outputs);
  if (r.keepdim) a.outputs[0] = a.outputs[0].view(batched_sizes(a, Dims(sizes.size(), 1)));
}

// The gradient goes to the element that was taken.
Grads picked_vjp(const VjpArgs& a) {
  const auto& r = a.attrs<ArgAttrs>();
  const TensorType& in = a.input_type();
  if (in.sizes.empty()) return {a.grad(0)};
  const Dims dims = {r.dim};
  const Tensor g = with_dims(a.grad(0), in.sizes, dims, r.keepdim);
  const Tensor index = with_dims(a.output(1), in.sizes, dims, r.keepdim);
  Dims shape(in.sizes.size(), 1);
  shape[static_cast<size_t>(r.dim)] = in.sizes[static_cast<size_t>(r.dim)];
  const Tensor number = arange(in.sizes[static_cast<size_t>(r.dim)], index.options()).view(shape);
  return {where(number == index, g, 0)};
}

constexpr OpDef extreme_op(const char* name, void (*kernel)(const KernelArgs&),
                           decltype(OpDef::reduction) reduction) {
  return {
      .name = name,
      .infer = infer_extreme,
      .kernel = kernel,
      .saves = Saves::all(Saves::in(0) | Saves::out(0)),
      .vjp = shared_vjp,
      .attrs = attrs_of<ExtremeAttrs>,
      .batch = batch_dims<ExtremeAttrs>,
      .reduction = reduction,
      .inputs = 1,
  };
}
constexpr OpDef max_op(const char* name) {
  return extreme_op(name, extreme_kernel<kernels::ReduceFn::Max>,
                    reduction_info<ExtremeAttrs, ReductionInfo::Fn::max>);
}
constexpr OpDef min_op(const char* name) {
  return extreme_op(name, extreme_kernel<kernels::ReduceFn::Min>,
                    reduction_info<ExtremeAttrs, ReductionInfo::Fn::min>);
}
template <bool least>
constexpr OpDef picking_op(const char* name) {
  return {
      .name = name,
      .infer = infer_max_dim,
      .kernel = max_dim_kernel<least>,
      .saves = Saves::all(Saves::out(1)),
      .vjp = picked_vjp,
      .outputs = 2,
      .attrs = attrs_of<ArgAttrs>,
      .batch = batch_arg,
      .inputs = 1,
  };
}
template <bool least>
constexpr OpDef arg_op(const char* name) {
  return {
      .name = name,
      .infer = infer_arg,
      .kernel = arg_kernel<least>,
      .attrs = attrs_of<ArgAttrs>,
      .batch = batch_arg,
      .inputs = 1,
  };
}

}  // namespace

TANDEM_OP(kAmax) = max_op("amax");
TANDEM_OP(kAmin) = min_op("amin");
// max and min of all elements: the same as amax and amin, but their errors name what was called.
TANDEM_OP(kMaxAll) = max_op("max");
TANDEM_OP(kMinAll) = min_op("min");
TANDEM_OP(kMaxDim) = picking_op<false>("max_dim");
TANDEM_OP(kMinDim) = picking_op<true>("min_dim");
TANDEM_OP(kArgmax) = arg_op<false>("argmax");
TANDEM_OP(kArgmin) = arg_op<true>("argmin");

namespace {

Tensor extreme(const OpDef& op, const Tensor& x, OptionalIntArrayRef dim, bool keepdim) {
  return apply(op, {x}, ExtremeAttrs{reduced_dims(op.name, dim, x.dim()), keepdim});
}

// LibTorch's words for max() of nothing.
Tensor extreme_of_all(const OpDef& op, const Tensor& x) {
  TANDEM_CHECK(x.numel() > 0, op.name,
               ": Expected reduction dim to be specified for input.numel() == 0. Specify the "
               "reduction dim with the 'dim' argument.");
  return extreme(op, x, std::nullopt, false);
}

std::tuple<Tensor, Tensor> along(const OpDef& op, const char* name, const Tensor& x, int64_t dim,
                                 bool keepdim) {
  auto [values, indices] = apply_n<2>(op, {x}, ArgAttrs{wrap_dim(name, dim, x.dim()), keepdim});
  return {std::move(values), std::move(indices)};
}

Tensor arg(const OpDef& op, const Tensor& x, std::optional<int64_t> dim, bool keepdim) {
  if (dim) return apply(op, {x}, ArgAttrs{wrap_dim(op.name, *dim, x.dim()), keepdim});
  TANDEM_CHECK_INDEX(x.numel() > 0, op.name,
                     ": Expected reduction dim to be specified for input.numel() == 0. Specify "
                     "the reduction dim with the 'dim' argument.");
  return apply(op, {x}, ArgAttrs{-1, keepdim});
}

}  // namespace

Tensor max(const Tensor& x) { return extreme_of_all(kMaxAll, x); }
Tensor min(const Tensor& x) { return extreme_of_all(kMinAll, x); }
Tensor max(const Tensor& x, const Tensor& y) { return maximum(x, y); }
Tensor min(const Tensor& x, const Tensor& y) { return minimum(x, y); }
std::tuple<Tensor, Tensor> max(const Tensor& x, int64_t dim, bool keepdim) {
  return along(kMaxDim, "max", x, dim, keepdim);
}
std::tuple<Tensor, Tensor> min(const Tensor& x, int64_t dim, bool keepdim) {
  return along(kMinDim, "min", x, dim, keepdim);
}
Tensor amax(const Tensor& x, IntArrayRef dim, bool keepdim) {
  return extreme(kAmax, x, dim, keepdim);
}
Tensor amin(const Tensor& x, IntArrayRef dim, bool keepdim) {
  return extreme(kAmin, x, dim, keepdim);
}
std::tuple<Tensor, Tensor> aminmax(const Tensor& x, std::optional<int64_t> dim, bool keepdim) {
  if (!dim) {
    TANDEM_CHECK(x.numel() > 0,
                 "aminmax: cannot compute aminmax over an empty dimension as the operation has no "
                 "identity.");
    if (keepdim) return {amin(x, {}, true), amax(x, {}, true)};
    return {amin(x), amax(x)};
  }
  return {amin(x, *dim, keepdim), amax(x, *dim, keepdim)};
}
Tensor argmax(const Tensor& x, std::optional<int64_t> dim, bool keepdim) {
  return arg(kArgmax, x, dim, keepdim);
}
Tensor argmin(const Tensor& x, std::optional<int64_t> dim, bool keepdim) {
  return arg(kArgmin, x, dim, keepdim);
}

Tensor Tensor::max() const { return tandem::max(*this); }
Tensor Tensor::min() const { return tandem::min(*this); }
Tensor Tensor::max(const Tensor& o) const { return tandem::max(*this, o); }
Tensor Tensor::min(const Tensor& o) const { return tandem::min(*this, o); }
std::tuple<Tensor, Tensor> Tensor::max(int64_t dim, bool keepdim) const {
  return tandem::max(*this, dim, keepdim);
}
std::tuple<Tensor, Tensor> Tensor::min(int64_t dim, bool keepdim) const {
  return tandem::min(*this, dim, keepdim);
}
Tensor Tensor::amax(IntArrayRef dim, bool keepdim) const {
  return tandem::amax(*this, dim, keepdim);
}
Tensor Tensor::amin(IntArrayRef dim, bool keepdim) const {
  return tandem::amin(*this, dim, keepdim);
}
std::tuple<Tensor, Tensor> Tensor::aminmax(std::optional<int64_t> dim, bool keepdim) const {
  return tandem::aminmax(*this, dim, keepdim);
}
Tensor Tensor::argmax(std::optional<int64_t> dim, bool keepdim) const {
  return tandem::argmax(*this, dim, keepdim);
}
Tensor Tensor::argmin(std::optional<int64_t> dim, bool keepdim) const {
  return tandem::argmin(*this, dim, keepdim);
}

}  // namespace tandem
