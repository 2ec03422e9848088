#include "tandem/ops/sort.h"

#include <cmath>

#include "tandem/kernels/sort.h"
#include "tandem/ops/attr_checks_detail.h"
#include "tandem/ops/batch_detail.h"
#include "tandem/ops/ops.h"
#include "tandem/ops/reduction_detail.h"

namespace tandem {
namespace {

struct SortAttrs {
  int64_t dim;
  bool descending;
  int64_t k = -1;  // how many; -1: all
  TANDEM_FIELDS(dim, descending, k)
};

struct RankAttrs {
  int64_t dim;
  bool keepdim;
  int64_t k = 0;  // from 0
  TANDEM_FIELDS(dim, keepdim, k)
};

int64_t length_along(const InferArgs& a, int64_t dim) {
  detail::check_dim(a, dim);
  return a.in().sizes.empty() ? 1 : a.in().sizes[static_cast<size_t>(dim)];
}

void infer_sort(const InferArgs& a) {
  const auto& s = a.attrs<SortAttrs>();
  const int64_t length = length_along(a, s.dim);
  TANDEM_CHECK_INDEX(s.k <= length, a.op.name, ": selected index k = ", s.k,
                     " is out of range for dimension ", s.dim, " with size ", length);
  for (int i = 0; i < 2; ++i) {
    a.out(i).sizes = a.in().sizes;
    if (s.k >= 0 && !a.in().sizes.empty()) a.out(i).sizes[static_cast<size_t>(s.dim)] = s.k;
  }
  a.out(0).dtype = a.in().dtype;
  a.out(1).dtype = kLong;
}

void sort_kernel(const KernelArgs& a) {
  const auto& s = a.attrs<SortAttrs>();
  if (s.k < 0) {
    kernels::sort(a.in(), s.dim, s.descending, &a.out(0), &a.out(1));
  } else {
    // Of a 0-d tensor k = 0 would leave nothing to write to, and it is not allowed to.
    kernels::topk(a.in(), s.dim, a.in().ndim == 0 ? 1 : s.k, s.descending, &a.out(0), &a.out(1));
  }
}

// Each gradient goes back to where its element was.
Grads sorted_vjp(const VjpArgs& a) {
  const auto& s = a.attrs<SortAttrs>();
  const TensorType& in = a.input_type();
  if (in.sizes.empty()) return {a.grad(0)};
  return {zeros(in.sizes, a.grad(0).options()).scatter(s.dim, a.output(1), a.grad(0))};
}

void infer_rank(const InferArgs& a) {
  const auto& r = a.attrs<RankAttrs>();
  const int64_t n = length_along(a, r.dim);
  TANDEM_CHECK_INDEX(n > 0 || numel_of(a.in().sizes) == 0, a.op.name, ": Expected reduction dim ",
                     r.dim, " to have non-zero size.");
  TANDEM_CHECK_TYPE(a.in().dtype != kBool || a.op.name == std::string_view("mode"), a.op.name,
                    ": not implemented for 'Bool'");
  const Dims dims = a.in().sizes.empty() ? Dims() : Dims{r.dim};
  if (n == 0) check_not_empty(a.op.name, a.in().sizes, dims);
  for (int i = 0; i < 2; ++i) a.out(i).sizes = reduced_sizes(a.in().sizes, dims, r.keepdim);
  a.out(0).dtype = a.in().dtype;
  a.out(1).dtype = kLong;
}

template <kernels::RankFn fn>
void rank_kernel(const KernelArgs& a) {
  const auto& r = a.attrs<RankAttrs>();
  const Dims dims = a.in().ndim == 0 ? Dims() : Dims{r.dim};
  const KeptArray values(a.out(0), a.in(), dims, r.keepdim);
  const KeptArray indices(a.out(1), a.in(), dims, r.keepdim);
  // A single result may have lost its dimensions; its strides do not matter then.
  Dims ones(static_cast<size_t>(a.in().ndim), 0);
  Array v = values.array, i = indices.array;
  if (v.ndim != a.in().ndim) v.strides = i.strides = ones.data();
  kernels::rank(fn, a.in(), r.dim, r.k, &v, &i);
}

Grads ranked_vjp(const VjpArgs& a) {
  const auto& r = a.attrs<RankAttrs>();
  const TensorType& in = a.input_type();
  if (in.sizes.empty()) return {a.grad(0)};
  const Dims dims = {r.dim};
  const Tensor index = with_dims(a.output(1), in.sizes, dims, r.keepdim);
  const Tensor g = with_dims(a.grad(0), in.sizes, dims, r.keepdim);
  return {zeros(in.sizes, g.options()).scatter(r.dim, index, g)};
}

void infer_kthvalue(const InferArgs& a) {
  const auto& r = a.attrs<RankAttrs>();
  const int64_t n = length_along(a, r.dim);
  TANDEM_CHECK_INDEX(r.k >= 0 && (r.k < n || numel_of(a.in().sizes) == 0),
                     "kthvalue: selected number k = ", r.k + 1, " is out of range for dimension ",
                     r.dim, " with size ", n);
  infer_rank(a);
}

constexpr OpDef sorting(const char* name) {
  return {
      .name = name,
      .infer = infer_sort,
      .kernel = sort_kernel,
      .saves = Saves::all(Saves::out(1)),
      .vjp = sorted_vjp,
      .outputs = 2,
      .attrs = attrs_of<SortAttrs>,
      .batch = batch_dim<SortAttrs>,
      .inputs = 1,
  };
}
template <kernels::RankFn fn>
constexpr OpDef ranking(const char* name, void (*infer)(const InferArgs&) = infer_rank) {
  return {
      .name = name,
      .infer = infer,
      .kernel = rank_kernel<fn>,
      .saves = Saves::all(Saves::out(1)),
      .vjp = ranked_vjp,
      .outputs = 2,
      .attrs = attrs_of<RankAttrs>,
      .batch = batch_dim<RankAttrs>,
      .inputs = 1,
  };
}

}  // namespace

TANDEM_OP(kSort) = sorting("sort");
TANDEM_OP(kTopk) = sorting("topk");
TANDEM_OP(kKthvalue) = ranking<kernels::RankFn::Kth>("kthvalue", infer_kthvalue);
TANDEM_OP(kMedian) = ranking<kernels::RankFn::Median>("median");
TANDEM_OP(kNanmedian) = ranking<kernels::RankFn::NanMedian>("nanmedian");
TANDEM_OP(kMode) = ranking<kernels::RankFn::Mode>("mode");

namespace {

using Pair = std::tuple<Tensor, Tensor>;

Pair two(const OpDef& op, const Tensor& x, AttrRef attrs) {
  auto [values, indices] = apply_n<2>(op, {x}, attrs);
  return {std::move(values), std::move(indices)};
}

Pair ranked(const OpDef& op, const Tensor& x, int64_t dim, bool keepdim, int64_t k = 0) {
  return two(op, x, RankAttrs{wrap_dim(op.name, dim, x.dim()), keepdim, k});
}

Tensor median_of_all(const OpDef& op, const Tensor& x) {
  if (x.numel() == 0) {
    TANDEM_CHECK_TYPE(is_floating(x.dtype()), op.name,
                      ": the median of no integers does not exist");
    return full({}, std::nan(""), x.options().requires_grad(false));
  }
  return std::get<0>(ranked(op, x.reshape({-1}), 0, false));
}

}  // namespace

Pair sort(const Tensor& x, int64_t dim, bool descending) {
  return two(kSort, x, SortAttrs{wrap_dim("sort", dim, x.dim()), descending});
}
Pair sort(const Tensor& x, std::optional<bool>, int64_t dim, bool descending) {
  return sort(x, dim, descending);
}
Tensor argsort(const Tensor& x, int64_t dim, bool descending) {
  return std::get<1>(two(kSort, x, SortAttrs{wrap_dim("argsort", dim, x.dim()), descending}));
}
Tensor argsort(const Tensor& x, bool, int64_t dim, bool descending) {
  return argsort(x, dim, descending);
}
Tensor msort(const Tensor& x) { return std::get<0>(sort(x, 0, false)); }
Pair topk(const Tensor& x, int64_t k, int64_t dim, bool largest, bool) {
  dim = wrap_dim("topk", dim, x.dim());
  TANDEM_CHECK_INDEX(k >= (x.dim() == 0), "topk: selected index k = ", k,
                     " is out of range for dimension ", dim);
  return two(kTopk, x, SortAttrs{dim, largest, k});
}
Pair kthvalue(const Tensor& x, int64_t k, int64_t dim, bool keepdim) {
  return ranked(kKthvalue, x, dim, keepdim, k - 1);
}
Tensor median(const Tensor& x) { return median_of_all(kMedian, x); }
Pair median(const Tensor& x, int64_t dim, bool keepdim) { return ranked(kMedian, x, dim, keepdim); }
Tensor nanmedian(const Tensor& x) { return median_of_all(kNanmedian, x); }
Pair nanmedian(const Tensor& x, int64_t dim, bool keepdim) {
  return ranked(kNanmedian, x, dim, keepdim);
}
Pair mode(const Tensor& x, int64_t dim, bool keepdim) { return ranked(kMode, x, dim, keepdim); }

// -- quantiles --------------------------------------------------------------------------------

namespace {

Tensor quantile_of(const char* name, const Tensor& x, const Tensor& q, std::optional<int64_t> dim,
                   bool keepdim, const std::string& interpolation, bool ignore_nan) {
  TANDEM_CHECK_TYPE(x.dtype() == kFloat || x.dtype() == kDouble, name,
                    ": input tensor must be either float or double dtype, got ", x.dtype());
  TANDEM_CHECK_TYPE(q.dtype() == x.dtype(), name, ": q tensor must be same dtype as the input ",
                    "tensor, got ", q.dtype(), " and ", x.dtype());
  TANDEM_CHECK_SHAPE(q.dim() <= 1, name, ": q must be a scalar or 1D tensor, got ", q.type_of());
  TANDEM_CHECK(x.numel() > 0, name, ": input tensor must be non-empty");
  TANDEM_CHECK_AS(ValueError,
                  interpolation == "linear" || interpolation == "lower" ||
                      interpolation == "higher" || interpolation == "midpoint" ||
                      interpolation == "nearest",
                  name,
                  ": interpolation must be one of linear, lower, higher, midpoint or nearest, but "
                  "got ",
                  interpolation);
  // Lines last: [.., n] sorted, nan at the end.
  const Tensor lines = dim ? x.movedim(wrap_dim(name, *dim, x.dim()), -1) : x.reshape({-1});
  const Tensor sorted = std::get<0>(lines.sort(-1));
  const int64_t n = lines.dim() == 0 ? 1 : lines.size(-1);
  const Tensor flat = sorted.dim() == 0 ? sorted.reshape({1}) : sorted;
  const Tensor nans = flat.detach().isnan();
  // The rank of each quantile, [.., m]; without nan the same for every line.
  const Tensor parts = q.reshape({-1});
  const Tensor last = ignore_nan
                          ? (nans.logical_not().sum(-1, true) - 1).clamp_min(0).to(x.dtype())
                          : full({1}, static_cast<double>(n - 1), x.options().requires_grad(false));
  Tensor rank = parts * last;
  if (interpolation == "lower") rank = rank.floor();
  if (interpolation == "higher") rank = rank.ceil();
  if (interpolation == "nearest") rank = rank.round();
  Dims shape = flat.sizes();
  shape.back() = parts.numel();
  rank = rank.expand(shape);
  const Tensor below = rank.detach().floor().clamp(0, n - 1).to(kLong);
  const Tensor above = rank.detach().ceil().clamp(0, n - 1).to(kLong);
  const Tensor low = flat.gather(-1, below), high = flat.gather(-1, above);
  Tensor result = interpolation == "midpoint" ? (low + high) / 2
                                              : low + (high - low) * (rank - below.to(x.dtype()));
  // One nan in a line makes it nan; ignored, only nothing else does.
  const Tensor lost = ignore_nan ? nans.all(-1, true) : nans.any(-1, true);
  result = where(lost, std::nan(""), result);
  // [.., m] becomes [m, ..] for several quantiles, [..] for one.
  if (keepdim) {
    Dims kept(static_cast<size_t>(x.dim()), 1);
    if (dim) {
      result = result.unsqueeze(dim ? wrap_dim(name, *dim, x.dim()) : 0);
      result = result.movedim(-1, 0);
    } else {
      kept.insert(kept.begin(), parts.numel());
      result = result.movedim(-1, 0).reshape(kept);
    }
  } else {
    result = result.movedim(-1, 0);
  }
  return q.dim() == 0 ? result.squeeze(0) : result;
}

Tensor one_part(const char* name, const Tensor& x, double q) {
  TANDEM_CHECK_AS(ValueError, q >= 0 && q <= 1, name, ": q must be in the range [0, 1] but got ",
                  q);
  return scalar_tensor(q, x.options().requires_grad(false));
}

}  // namespace

Tensor quantile(const Tensor& x, const Tensor& q, std::optional<int64_t> dim, bool keepdim,
                const std::string& interpolation) {
  return quantile_of("quantile", x, q, dim, keepdim, interpolation, false);
}
Tensor quantile(const Tensor& x, double q, std::optional<int64_t> dim, bool keepdim,
                const std::string& interpolation) {
  return quantile(x, one_part("quantile", x, q), dim, keepdim, interpolation);
}
Tensor nanquantile(const Tensor& x, const Tensor& q, std::optional<int64_t> dim, bool keepdim,
                   const std::string& interpolation) {
  return quantile_of("nanquantile", x, q, dim, keepdim, interpolation, true);
}
Tensor nanquantile(const Tensor& x, double q, std::optional<int64_t> dim, bool keepdim,
                   const std::string& interpolation) {
  return nanquantile(x, one_part("nanquantile", x, q), dim, keepdim, interpolation);
}

// -- methods ----------------------------------------------------------------------------------

Pair Tensor::sort(int64_t dim, bool descending) const {
  return tandem::sort(*this, dim, descending);
}
Pair Tensor::sort(std::optional<bool> stable, int64_t dim, bool descending) const {
  return tandem::sort(*this, stable, dim, descending);
}
Tensor Tensor::argsort(int64_t dim, bool descending) const {
  return tandem::argsort(*this, dim, descending);
}
Tensor Tensor::argsort(bool stable, int64_t dim, bool descending) const {
  return tandem::argsort(*this, stable, dim, descending);
}
Tensor Tensor::msort() const { return tandem::msort(*this); }
Pair Tensor::topk(int64_t k, int64_t dim, bool largest, bool sorted) const {
  return tandem::topk(*this, k, dim, largest, sorted);
}
Pair Tensor::kthvalue(int64_t k, int64_t dim, bool keepdim) const {
  return tandem::kthvalue(*this, k, dim, keepdim);
}
Tensor Tensor::median() const { return tandem::median(*this); }
Pair Tensor::median(int64_t dim, bool keepdim) const { return tandem::median(*this, dim, keepdim); }
Tensor Tensor::nanmedian() const { return tandem::nanmedian(*this); }
Pair Tensor::nanmedian(int64_t dim, bool keepdim) const {
  return tandem::nanmedian(*this, dim, keepdim);
}
Pair Tensor::mode(int64_t dim, bool keepdim) const { return tandem::mode(*this, dim, keepdim); }
Tensor Tensor::quantile(const Tensor& q, std::optional<int64_t> dim, bool keepdim,
                        const std::string& interpolation) const {
  return tandem::quantile(*this, q, dim, keepdim, interpolation);
}
Tensor Tensor::quantile(double q, std::optional<int64_t> dim, bool keepdim,
                        const std::string& interpolation) const {
  return tandem::quantile(*this, q, dim, keepdim, interpolation);
}
Tensor Tensor::nanquantile(const Tensor& q, std::optional<int64_t> dim, bool keepdim,
                           const std::string& interpolation) const {
  return tandem::nanquantile(*this, q, dim, keepdim, interpolation);
}
Tensor Tensor::nanquantile(double q, std::optional<int64_t> dim, bool keepdim,
                           const std::string& interpolation) const {
  return tandem::nanquantile(*this, q, dim, keepdim, interpolation);
}

}  // namespace tandem
