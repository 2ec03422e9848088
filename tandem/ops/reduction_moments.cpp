// Variances, norms, logarithms of sums of exponentials.
#include <algorithm>
#include <cmath>

#include "tandem/kernels/reduce.h"
#include "tandem/kernels/reduce_softmax.h"
#include "tandem/ops/attr_checks_detail.h"
#include "tandem/ops/batch_detail.h"
#include "tandem/ops/ops.h"
#include "tandem/ops/reduction_detail.h"

namespace tandem {
namespace {

struct VarAttrs {
  Dims dims;
  bool keepdim = false;
  double correction = 1;
  TANDEM_FIELDS(dims, keepdim, correction)
};

struct NormAttrs {
  Dims dims;
  bool keepdim = false;
  double p = 2;
  DType dtype = DType::Undefined;
  TANDEM_FIELDS(dims, keepdim, p, dtype)
};

struct SoftmaxAttrs {
  int64_t dim;
  DType dtype;
  TANDEM_FIELDS(dim, dtype)
};

void check_floating(const InferArgs& a) {
  TANDEM_CHECK_TYPE(is_floating(a.in().dtype), a.op.name,
                    ": only support floating point and complex dtypes, got ", a.in().dtype);
}

void infer_var(const InferArgs& a) {
  check_floating(a);
  const auto& r = a.attrs<VarAttrs>();
  a.out().sizes = reduced_sizes(a.in().sizes, r.dims, r.keepdim);
  a.out().dtype = a.in().dtype;
}

template <bool root>
void var_kernel(const KernelArgs& a) {
  const auto& r = a.attrs<VarAttrs>();
  const KeptArray var(a.out(), a.in(), r.dims, r.keepdim);
  kernels::var_mean(a.in(), var.reduced.data(), r.correction, root, &var.array, nullptr);
}

template <bool root>
void var_mean_kernel(const KernelArgs& a) {
  const auto& r = a.attrs<VarAttrs>();
  const KeptArray var(a.out(0), a.in(), r.dims, r.keepdim);
  const KeptArray mean(a.out(1), a.in(), r.dims, r.keepdim);
  kernels::var_mean(a.in(), var.reduced.data(), r.correction, root, &var.array, &mean.array);
}

// d var / dx = 2 (x - mean) / (n - correction).
Tensor var_grad(const VjpArgs& a, const Tensor& grad) {
  const auto& r = a.attrs<VarAttrs>();
  const Tensor x = a.input();
  const double n = static_cast<double>(extent_of(x.sizes(), r.dims)) - r.correction;
  const Tensor g = with_dims(grad, x.sizes(), r.dims, r.keepdim);
  return g * (2 / n) * (x - x.mean(r.dims, true));
}

// d std / dx = d var / dx / (2 std), and nothing where std is zero.
Tensor std_grad(const VjpArgs& a, const Tensor& grad, const Tensor& std) {
  return var_grad(a, where(std == 0, 0, grad / (std * 2)));
}

Tensor mean_grad(const VjpArgs& a, const Tensor& grad) {
  const auto& r = a.attrs<VarAttrs>();
  const IntArrayRef sizes = a.input_type().sizes;
  return spread(grad / static_cast<double>(extent_of(sizes, r.dims)), sizes, r.dims, r.keepdim);
}

// The type in which the kernels compute a result of that dtype.
Tensor computed_as(const Tensor& x, DType result) {
  return x.to(result == kDouble || (!is_floating(result) && default_real_dtype() == kDouble)
                  ? kDouble
                  : kFloat);
}

// True iff what is reduced are the last dimensions, those of extent 1 aside.
bool reduces_rows(IntArrayRef sizes, IntArrayRef dims) {
  bool kept = false;
  for (size_t d = sizes.size(); d-- > 0;) {
    if (sizes[d] == 1) continue;
    const bool reduced = std::find(dims.begin(), dims.end(), static_cast<int64_t>(d)) != dims.end();
    if (reduced && kept) return false;
    kept |= !reduced;
  }
  return true;
}

// The kernel's formula for rows, where they are what the op reduces; otherwise the op stays whole.
template <bool root, bool with_mean>
void decompose_var(const DecomposeArgs& a) {
  const auto& r = a.attrs<VarAttrs>();
  const IntArrayRef sizes = a.in().sizes();
  const int64_t n = extent_of(sizes, r.dims);
  if (n > kernels::kLongestVarRow || !reduces_rows(sizes, r.dims)) {
    if constexpr (with_mean) {
      const auto both = apply_n<2>(a.op, {a.in()}, a.attr_ref);
      a.outputs[0] = both[0];
      a.outputs[1] = both[1];
    } else {
      a.outputs[0] = apply(a.op, {a.in()}, a.attr_ref);
    }
    return;
  }
  const DType dtype = a.in().dtype();
  const Dims out = reduced_sizes(sizes, r.dims, r.keepdim);
  const Tensor x = computed_as(a.in(), dtype);
  const Tensor mean = x.mean(r.dims, true), d = x - mean;
  const Tensor sum = d.sum(r.dims, true), squares = (d * d).sum(r.dims, true);
  const double count = static_cast<double>(n), divisor = std::max(0.0, count - r.correction);
  const Tensor var = (squares - sum * sum / count).clamp_min(0) / divisor;
  a.outputs[0] = (root ? var.sqrt() : var).reshape(out).to(dtype);
  if constexpr (with_mean) a.outputs[1] = mean.reshape(out).to(dtype);
}

void infer_var_mean(const InferArgs& a) {
  infer_var(a);
  a.out(1).sizes = a.out(0).sizes;
  a.out(1).dtype = a.out(0).dtype;
}

}  // namespace

TANDEM_OP(kVar) = {
    .name = "var",
    .infer = infer_var,
    .kernel = var_kernel<false>,
    .saves = Saves::all(Saves::in(0)),
    .vjp = [](const VjpArgs& a) -> Grads { return {var_grad(a, a.grad())}; },
    .attrs = attrs_of<VarAttrs>,
    .batch = batch_dims<VarAttrs>,
    .decompose = decompose_var<false, false>,
    .inputs = 1,
};
TANDEM_OP(kStd) = {
    .name = "std",
    .infer = infer_var,
    .kernel = var_kernel<true>,
    .saves = Saves::all(Saves::in(0) | Saves::out(0)),
    .vjp = [](const VjpArgs& a) -> Grads { return {std_grad(a, a.grad(), a.output())}; },
    .attrs = attrs_of<VarAttrs>,
    .batch = batch_dims<VarAttrs>,
    .decompose = decompose_var<true, false>,
    .inputs = 1,
};
TANDEM_OP(kVarMean) = {
    .name = "var_mean",
    .infer = infer_var_mean,
    .kernel = var_mean_kernel<false>,
    .saves = Saves::all(Saves::in(0)),
    .vjp = [](const VjpArgs& a) -> Grads {
      Tensor g;
      if (a.has_grad(0)) g = var_grad(a, a.grad(0));
      if (a.has_grad(1)) g = g.defined() ? g + mean_grad(a, a.grad(1)) : mean_grad(a, a.grad(1));
      return {g};
    },
    .outputs = 2,
    .attrs = attrs_of<VarAttrs>,
    .batch = batch_dims<VarAttrs>,
    .decompose = decompose_var<false, true>,
    .inputs = 1,
};
TANDEM_OP(kStdMean) = {
    .name = "std_mean",
    .infer = infer_var_mean,
    .kernel = var_mean_kernel<true>,
    .saves = Saves::all(Saves::in(0) | Saves::out(0)),
    .vjp = [](const VjpArgs& a) -> Grads {
      Tensor g;
      if (a.has_grad(0)) g = std_grad(a, a.grad(0), a.output(0));
      if (a.has_grad(1)) g = g.defined() ? g + mean_grad(a, a.grad(1)) : mean_grad(a, a.grad(1));
      return {g};
    },
    .outputs = 2,
    .attrs = attrs_of<VarAttrs>,
    .batch = batch_dims<VarAttrs>,
    .decompose = decompose_var<true, true>,
    .inputs = 1,
};

namespace {

Grads norm_vjp(const VjpArgs& a) {
  const auto& r = a.attrs<NormAttrs>();
  const double p = r.p;
  const Tensor x = a.input();
  const Tensor g = with_dims(a.grad(), x.sizes(), r.dims, r.keepdim);
  if (p == 0) return {zeros_like(x)};
  if (p == 1) return {x.sign() * g};
  const Tensor norm = with_dims(a.output(), x.sizes(), r.dims, r.keepdim);
  if (p == 2) return {x * where(norm == 0, 0, g / norm)};
  if (std::isinf(p)) {
    // Those that reach the norm share the gradient.
    const Tensor hit = (x.detach().abs() == norm.detach()).to(g.dtype());
    return {x.sign() * hit * (g / hit.sum(r.dims, true))};
  }
  if (p < 1) {
    const Tensor slope = where(x == 0, 0, x.sign() * x.abs().pow(p - 1));
    return {slope * g * norm.pow(1 - p)};
  }
  const Tensor scale = where(norm == 0, 0, g / norm.pow(p - 1));
  if (p < 2) return {x.sign() * x.abs().pow(p - 1) * scale};
  return {x * x.abs().pow(p - 2) * scale};
}

}  // namespace

TANDEM_OP(kNorm) = {
    .name = "norm",
    .infer =
        [](const InferArgs& a) {
          const auto& r = a.attrs<NormAttrs>();
          const DType t = r.dtype == DType::Undefined ? a.in().dtype : r.dtype;
          TANDEM_CHECK_TYPE(is_floating(t),
                            "norm: Expected a floating point or complex tensor as input. Got ", t);
          if (std::isinf(r.p)) check_not_empty("norm", a.in().sizes, r.dims);
          a.out().sizes = reduced_sizes(a.in().sizes, r.dims, r.keepdim);
          a.out().dtype = t;
        },
    .kernel =
        [](const KernelArgs& a) {
          const auto& r = a.attrs<NormAttrs>();
          const KeptArray out(a.out(), a.in(), r.dims, r.keepdim);
          kernels::reduce(kernels::ReduceFn::Norm, a.in(), out.reduced.data(), out.array, r.p);
        },
    .saves = Saves::all(Saves::in(0) | Saves::out(0)),
    .vjp = norm_vjp,
    .attrs = attrs_of<NormAttrs>,
    .batch = batch_dims<NormAttrs>,
    .reduction = [](AttrRef attrs, int ndim) -> ReductionInfo {
      if (attrs.as<NormAttrs>().p != 2) return {ReductionInfo::Fn::none, 0};
      return reduction_info<NormAttrs, ReductionInfo::Fn::norm2>(attrs, ndim);
    },
    .inputs = 1,
};

namespace {}  // namespace

TANDEM_OP(kLogsumexp) = {
    .name = "logsumexp",
    .infer =
        [](const InferArgs& a) {
          const auto& r = a.attrs<VarAttrs>();
          a.out().sizes = reduced_sizes(a.in().sizes, r.dims, r.keepdim);
          a.out().dtype = is_floating(a.in().dtype) ? a.in().dtype : default_real_dtype();
        },
    .kernel =
        [](const KernelArgs& a) {
          const auto& r = a.attrs<VarAttrs>();
          const KeptArray out(a.out(), a.in(), r.dims, r.keepdim);
          kernels::logsumexp(a.in(), out.reduced.data(), out.array);
        },
    .saves = Saves::all(Saves::in(0) | Saves::out(0)),
    .vjp = [](const VjpArgs& a) -> Grads {
      const auto& r = a.attrs<VarAttrs>();
      const Tensor x = a.input();
      const Tensor g = with_dims(a.grad(), x.sizes(), r.dims, r.keepdim);
      return {g * (x - with_dims(a.output(), x.sizes(), r.dims, r.keepdim)).exp()};
    },
    .attrs = attrs_of<VarAttrs>,
    .batch = batch_dims<VarAttrs>,
    .decompose =
        [](const DecomposeArgs& a) {
          const auto& r = a.attrs<VarAttrs>();
          const Tensor x = computed_as(a.in(), a.in().dtype());
          const Tensor top = x.amax(r.dims, true), m = where(top.isinf(), 0, top);
          const Tensor kept = (x - m).exp().sum(r.dims, true).log() + m;
          a.outputs[0] = kept.reshape(reduced_sizes(x.sizes(), r.dims, r.keepdim))
                             .to(is_floating(a.in().dtype()) ? a.in().dtype() : x.dtype());
        },
    .inputs = 1,
};

namespace {

void infer_softmax(const InferArgs& a) {
  const auto& s = a.attrs<SoftmaxAttrs>();
  detail::check_dim(a, s.dim);
  a.out().sizes = a.in().sizes;
  a.out().dtype = s.dtype == DType::Undefined ? a.in().dtype : s.dtype;
  TANDEM_CHECK_TYPE(is_floating(a.out().dtype), a.op.name, ": not implemented for '", a.out().dtype,
                    "': give a floating point dtype");
}

DType softmax_dtype(const DecomposeArgs& a) {
  const DType wanted = a.attrs<SoftmaxAttrs>().dtype;
  return wanted == DType::Undefined ? a.in().dtype() : wanted;
}
// The input minus its greatest element along the dimension.
Tensor below_top(const DecomposeArgs& a) {
  const Tensor x = computed_as(a.in(), softmax_dtype(a));
  return x - x.amax({a.attrs<SoftmaxAttrs>().dim}, true);
}

template <bool logarithm>
void softmax_kernel(const KernelArgs& a) {
  kernels::softmax(a.in(), a.attrs<SoftmaxAttrs>().dim, logarithm, a.out());
}

}  // namespace

TANDEM_OP(kSoftmax) = {
    .name = "softmax",
    .infer = infer_softmax,
    .kernel = softmax_kernel<false>,
    .saves = Saves::output(),
    .vjp = [](const VjpArgs& a) -> Grads {
      const int64_t dim = a.attrs<SoftmaxAttrs>().dim;
      const Tensor y = a.output(), gy = a.grad() * y;
      return {gy - y * gy.sum(dim, true)};
    },
    .attrs = attrs_of<SoftmaxAttrs>,
    .batch = batch_dim<SoftmaxAttrs>,
    .decompose =
        [](const DecomposeArgs& a) {
          const int64_t dim = a.attrs<SoftmaxAttrs>().dim;
          const Tensor e = below_top(a).exp();
          a.outputs[0] = (e / e.sum(dim, true)).to(softmax_dtype(a));
        },
    .inputs = 1,
};
TANDEM_OP(kLogSoftmax) = {
    .name = "log_softmax",
    .infer = infer_softmax,
    .kernel = softmax_kernel<true>,
    .saves = Saves::output(),
    .vjp = [](const VjpArgs& a) -> Grads {
      const int64_t dim = a.attrs<SoftmaxAttrs>().dim;
      return {a.grad() - a.output().exp() * a.grad().sum(dim, true)};
    },
    .attrs = attrs_of<SoftmaxAttrs>,
    .batch = batch_dim<SoftmaxAttrs>,
    .decompose =
        [](const DecomposeArgs& a) {
          const int64_t dim = a.attrs<SoftmaxAttrs>().dim;
          const Tensor y = below_top(a);
          a.outputs[0] = (y - y.exp().sum(dim, true).log()).to(softmax_dtype(a));
        },
    .inputs = 1,
};

// -- functions --------------------------------------------------------------------------------

namespace {

VarAttrs var_attrs(const char* name, const Tensor& x, OptionalIntArrayRef dim, bool keepdim,
                   int64_t correction) {
  return {reduced_dims(name, dim, x.dim()), keepdim, static_cast<double>(correction)};
}

Tensor variance(const OpDef& op, const Tensor& x, OptionalIntArrayRef dim, bool keepdim,
                int64_t correction) {
  return apply(op, {x}, var_attrs(op.name, x, dim, keepdim, correction));
}

std::tuple<Tensor, Tensor> variance_and_mean(const OpDef& op, const Tensor& x,
                                             OptionalIntArrayRef dim, bool keepdim,
                                             int64_t correction) {
  auto [var, mean] = apply_n<2>(op, {x}, var_attrs(op.name, x, dim, keepdim, correction));
  return {std::move(var), std::move(mean)};
}

Tensor norm_of(const Tensor& x, const std::optional<Scalar>& p, OptionalIntArrayRef dim,
               bool keepdim, std::optional<DType> dtype) {
  return apply(kNorm, {x},
               NormAttrs{reduced_dims("norm", dim, x.dim()), keepdim, p ? p->toDouble() : 2.0,
                         dtype.value_or(DType::Undefined)});
}

}  // namespace

Tensor var(const Tensor& x, OptionalIntArrayRef dim, bool unbiased, bool keepdim) {
  return variance(kVar, x, dim, keepdim, unbiased);
}
Tensor var(const Tensor& x, OptionalIntArrayRef dim, std::optional<int64_t> correction,
           bool keepdim) {
  return variance(kVar, x, dim, keepdim, correction.value_or(1));
}
Tensor std(const Tensor& x, OptionalIntArrayRef dim, bool unbiased, bool keepdim) {
  return variance(kStd, x, dim, keepdim, unbiased);
}
Tensor std(const Tensor& x, OptionalIntArrayRef dim, std::optional<int64_t> correction,
           bool keepdim) {
  return variance(kStd, x, dim, keepdim, correction.value_or(1));
}
std::tuple<Tensor, Tensor> var_mean(const Tensor& x, OptionalIntArrayRef dim, bool unbiased,
                                    bool keepdim) {
  return variance_and_mean(kVarMean, x, dim, keepdim, unbiased);
}
std::tuple<Tensor, Tensor> var_mean(const Tensor& x, OptionalIntArrayRef dim,
                                    std::optional<int64_t> correction, bool keepdim) {
  return variance_and_mean(kVarMean, x, dim, keepdim, correction.value_or(1));
}
std::tuple<Tensor, Tensor> std_mean(const Tensor& x, OptionalIntArrayRef dim, bool unbiased,
                                    bool keepdim) {
  return variance_and_mean(kStdMean, x, dim, keepdim, unbiased);
}
std::tuple<Tensor, Tensor> std_mean(const Tensor& x, OptionalIntArrayRef dim,
                                    std::optional<int64_t> correction, bool keepdim) {
  return variance_and_mean(kStdMean, x, dim, keepdim, correction.value_or(1));
}

Tensor norm(const Tensor& x, const Scalar& p) {
  return norm_of(x, p, std::nullopt, false, std::nullopt);
}
Tensor norm(const Tensor& x, const std::optional<Scalar>& p, DType dtype) {
  return norm_of(x, p, std::nullopt, false, dtype);
}
Tensor norm(const Tensor& x, const std::optional<Scalar>& p, IntArrayRef dim, bool keepdim) {
  return norm_of(x, p, dim, keepdim, std::nullopt);
}
Tensor norm(const Tensor& x, const std::optional<Scalar>& p, IntArrayRef dim, bool keepdim,
            DType dtype) {
  return norm_of(x, p, dim, keepdim, dtype);
}
Tensor frobenius_norm(const Tensor& x, IntArrayRef dim, bool keepdim) {
  return norm_of(x, 2, dim, keepdim, std::nullopt);
}
Tensor linalg_vector_norm(const Tensor& x, const Scalar& ord, OptionalIntArrayRef dim, bool keepdim,
                          std::optional<DType> dtype) {
  return norm_of(x, ord, dim, keepdim, dtype);
}

Tensor logsumexp(const Tensor& x, IntArrayRef dim, bool keepdim) {
  return apply(kLogsumexp, {x}, var_attrs("logsumexp", x, dim, keepdim, 0));
}
Tensor softmax(const Tensor& x, int64_t dim, std::optional<DType> dtype) {
  return apply(kSoftmax, {x},
               SoftmaxAttrs{wrap_dim("softmax", dim, x.dim()), dtype.value_or(DType::Undefined)});
}
Tensor log_softmax(const Tensor& x, int64_t dim, std::optional<DType> dtype) {
  return apply(
      kLogSoftmax, {x},
      SoftmaxAttrs{wrap_dim("log_softmax", dim, x.dim()), dtype.value_or(DType::Undefined)});
}

Tensor Tensor::var(OptionalIntArrayRef dim, bool unbiased, bool keepdim) const {
  return tandem::var(*this, dim, unbiased, keepdim);
}
Tensor Tensor::var(OptionalIntArrayRef dim, std::optional<int64_t> correction, bool keepdim) const {
  return tandem::var(*this, dim, correction, keepdim);
}
Tensor Tensor::std(OptionalIntArrayRef dim, bool unbiased, bool keepdim) const {
  return tandem::std(*this, dim, unbiased, keepdim);
}
Tensor Tensor::std(OptionalIntArrayRef dim, ::std::optional<int64_t> correction,
                   bool keepdim) const {
  return tandem::std(*this, dim, correction, keepdim);
}
Tensor Tensor::norm(const Scalar& p) const { return tandem::norm(*this, p); }
Tensor Tensor::norm(const ::std::optional<Scalar>& p, DType dtype) const {
  return tandem::norm(*this, p, dtype);
}
Tensor Tensor::norm(const ::std::optional<Scalar>& p, IntArrayRef dim, bool keepdim) const {
  return tandem::norm(*this, p, dim, keepdim);
}
Tensor Tensor::norm(const ::std::optional<Scalar>& p, IntArrayRef dim, bool keepdim,
                    DType dtype) const {
  return tandem::norm(*this, p, dim, keepdim, dtype);
}
Tensor Tensor::logsumexp(IntArrayRef dim, bool keepdim) const {
  return tandem::logsumexp(*this, dim, keepdim);
}
Tensor Tensor::softmax(int64_t dim, ::std::optional<DType> dtype) const {
  return tandem::softmax(*this, dim, dtype);
}
Tensor Tensor::log_softmax(int64_t dim, ::std::optional<DType> dtype) const {
  return tandem::log_softmax(*this, dim, dtype);
}

}  // namespace tandem
