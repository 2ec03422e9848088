#include "tandem/ops/scan.h"

#include "tandem/core/apply.h"
#include "tandem/kernels/map.h"
#include "tandem/kernels/scan.h"
#include "tandem/ops/attr_checks_detail.h"
#include "tandem/ops/batch_detail.h"
#include "tandem/ops/ops.h"
#include "tandem/ops/scan_detail.h"

// Note: products with zeros
// The usual gradient of a running product divides by the input and fails where that is zero. Here
// it is the product of what lies before an element with a linear recurrence over what lies after
// it, which holds for every input. The gradient of a recurrence is a recurrence in the other
// direction, so all of this can be differentiated again and again.

namespace tandem {
namespace {

struct ScanAttrs {
  int64_t dim;
  DType dtype = DType::Undefined;
  bool reverse = false;
  TANDEM_FIELDS(dim, dtype, reverse)
};

struct ShiftAttrs {
  int64_t dim, by;
  double value;
  TANDEM_FIELDS(dim, by, value)
};

void infer_scan(const InferArgs& a) {
  const auto& s = a.attrs<ScanAttrs>();
  detail::check_dim(a, s.dim);
  a.out().sizes = a.in().sizes;
  a.out().dtype = s.dtype != DType::Undefined ? s.dtype
                  : is_floating(a.in().dtype) ? a.in().dtype
                                              : kLong;
}

template <kernels::ScanFn fn>
void scan_kernel(const KernelArgs& a) {
  const auto& s = a.attrs<ScanAttrs>();
  kernels::scan(fn, a.in(), s.dim, a.out(), nullptr, s.reverse);
}

}  // namespace

TANDEM_OP(kShift) = {
    .name = "shift",
    .infer =
        [](const InferArgs& a) {
          detail::check_dim(a, a.attrs<ShiftAttrs>().dim);
          a.out().sizes = a.in().sizes;
          a.out().dtype = a.in().dtype;
        },
    .kernel =
        [](const KernelArgs& a) {
          const auto& s = a.attrs<ShiftAttrs>();
          const Array &in = a.in(), &out = a.out();
          if (in.numel == 0) return;
          if (in.ndim == 0) return kernels::fill(out, s.value);
          Dims sizes = in.shape();
          const auto part = [&](const Array& x, int64_t start) {
            Array p = x;
            p.data = static_cast<char*>(x.data) +
                     start * x.strides[s.dim] * static_cast<int64_t>(size_of(x.dtype));
            p.sizes = sizes.data();
            p.numel = numel_of(sizes);
            p.contiguous = is_contiguous(sizes, x.stride());
            return p;
          };
          const int64_t n = in.sizes[s.dim];
          sizes[static_cast<size_t>(s.dim)] = n - 1;
          if (n > 1) kernels::copy(part(in, s.by > 0 ? 0 : 1), part(out, s.by > 0 ? 1 : 0));
          sizes[static_cast<size_t>(s.dim)] = 1;
          kernels::fill(part(out, s.by > 0 ? 0 : n - 1), s.value);
        },
    .vjp = [](const VjpArgs& a) -> Grads {
      const auto& s = a.attrs<ShiftAttrs>();
      return {shifted(a.grad(), s.dim, -s.by, 0)};
    },
    .attrs = attrs_of<ShiftAttrs>,
    .batch = batch_dim<ShiftAttrs>,
    .inputs = 1,
};

TANDEM_OP(kRecurrence) = {
    .name = "recurrence",
    .infer =
        [](const InferArgs& a) {
          TANDEM_CHECK(a.in(0) == a.in(1), "recurrence of ", a.in(0), " and ", a.in(1));
          detail::check_dim(a, a.attrs<ScanAttrs>().dim);
          a.out().sizes = a.in(0).sizes;
          a.out().dtype = a.in(0).dtype;
        },
    .kernel =
        [](const KernelArgs& a) {
          const auto& s = a.attrs<ScanAttrs>();
          kernels::recurrence(a.in(0), a.in(1), s.dim, s.reverse, a.out());
        },
    .saves = Saves::each(Saves::in(0) | Saves::out(0), Saves::in(0)),
    .vjp = [](const VjpArgs& a) -> Grads {
      const auto& s = a.attrs<ScanAttrs>();
      const int64_t on = s.reverse ? -1 : 1;
      const Tensor back =
          recurrence(shifted(a.input(0), s.dim, -on, 0), a.grad(), s.dim, !s.reverse);
      return {a.needs(0) ? back * shifted(a.output(), s.dim, on, 0) : Tensor(), back};
    },
    .attrs = attrs_of<ScanAttrs>,
    .batch = batch_dim<ScanAttrs>,
    .inputs = 2,
};

TANDEM_OP(kCumsum) = {
    .name = "cumsum",
    .infer = infer_scan,
    .kernel = scan_kernel<kernels::ScanFn::Sum>,
    .vjp = [](const VjpArgs& a) -> Grads {
      const auto& s = a.attrs<ScanAttrs>();
      return {s.reverse ? cumsum(a.grad(), s.dim) : reverse_cumsum(a.grad(), s.dim)};
    },
    .attrs = attrs_of<ScanAttrs>,
    .batch = batch_dim<ScanAttrs>,
    .inputs = 1,
};

TANDEM_OP(kCumprod) = {
    .name = "cumprod",
    .infer = infer_scan,
    .kernel = scan_kernel<kernels::ScanFn::Prod>,
    .saves = Saves::all(Saves::in(0) | Saves::out(0)),
    .vjp = [](const VjpArgs& a) -> Grads {
      const auto& s = a.attrs<ScanAttrs>();
      const int64_t on = s.reverse ? -1 : 1;
      const Tensor before = shifted(a.output(), s.dim, on, 1);
      const Tensor x = a.input().to(a.grad().dtype());
      return {before *
              recurrence(shifted(x, s.dim, -on, 0), a.grad().contiguous(), s.dim, !s.reverse)};
    },
    .attrs = attrs_of<ScanAttrs>,
    .batch = batch_dim<ScanAttrs>,
    .inputs = 1,
};

TANDEM_OP(kLogcumsumexp) = {
    .name = "logcumsumexp",
    .infer =
        [](const InferArgs& a) {
          TANDEM_CHECK_TYPE(is_floating(a.in().dtype),
                            "logcumsumexp: expected a floating point dtype, got ", a.in().dtype);
          infer_scan(a);
        },
    .kernel = scan_kernel<kernels::ScanFn::LogSumExp>,
    .saves = Saves::all(Saves::in(0) | Saves::out(0)),
    .vjp = [](const VjpArgs& a) -> Grads {
      // The sum over k >= i of g[k] exp(x[i] - y[k]); y rises, so no exponential overflows.
      const int64_t dim = a.attrs<ScanAttrs>().dim;
      const Tensor y = a.output();
      const Tensor step = (y - shifted(y, dim, -1, std::numeric_limits<double>::infinity())).exp();
      return {(a.input() - y).exp() * recurrence(step, a.grad(), dim, true)};
    },
    .attrs = attrs_of<ScanAttrs>,
    .batch = batch_dim<ScanAttrs>,
    .inputs = 1,
};

namespace {

void infer_extreme(const InferArgs& a) {
  detail::check_dim(a, a.attrs<ScanAttrs>().dim);
  for (int i = 0; i < 2; ++i) a.out(i).sizes = a.in().sizes;
  a.out(0).dtype = a.in().dtype;
  a.out(1).dtype = kLong;
}

template <kernels::ScanFn fn>
void extreme_kernel(const KernelArgs& a) {
  kernels::scan(fn, a.in(), a.attrs<ScanAttrs>().dim, a.out(0), &a.out(1));
}

// An element gets the gradients of all places where it was the greatest so far.
Grads extreme_vjp(const VjpArgs& a) {
  const TensorType& in = a.input_type();
  if (in.sizes.empty()) return {a.grad(0)};
  const Tensor none = zeros(in.sizes, a.grad(0).options());
  return {none.scatter_add(a.attrs<ScanAttrs>().dim, a.output(1), a.grad(0))};
}

}  // namespace

TANDEM_OP(kCummax) = {
    .name = "cummax",
    .infer = infer_extreme,
    .kernel = extreme_kernel<kernels::ScanFn::Max>,
    .saves = Saves::all(Saves::out(1)),
    .vjp = extreme_vjp,
    .outputs = 2,
    .attrs = attrs_of<ScanAttrs>,
    .batch = batch_dim<ScanAttrs>,
    .inputs = 1,
};
TANDEM_OP(kCummin) = {
    .name = "cummin",
    .infer = infer_extreme,
    .kernel = extreme_kernel<kernels::ScanFn::Min>,
    .saves = Saves::all(Saves::out(1)),
    .vjp = extreme_vjp,
    .outputs = 2,
    .attrs = attrs_of<ScanAttrs>,
    .batch = batch_dim<ScanAttrs>,
    .inputs = 1,
};

Tensor shifted(const Tensor& x, int64_t dim, int64_t by, double value) {
  return apply(kShift, {x}, ShiftAttrs{dim, by, value});
}
Tensor recurrence(const Tensor& a, const Tensor& b, int64_t dim, bool reverse) {
  return apply(kRecurrence, {a, b}, ScanAttrs{dim, DType::Undefined, reverse});
}
Tensor reverse_cumsum(const Tensor& x, int64_t dim) {
  return apply(kCumsum, {x}, ScanAttrs{dim, DType::Undefined, true});
}
Tensor reverse_cumprod(const Tensor& x, int64_t dim) {
  return apply(kCumprod, {x}, ScanAttrs{dim, DType::Undefined, true});
}

namespace {
ScanAttrs scan_attrs(const char* name, const Tensor& x, int64_t dim,
                     std::optional<DType> dtype = std::nullopt) {
  return {wrap_dim(name, dim, x.dim()), dtype.value_or(DType::Undefined)};
}
}  // namespace

Tensor cumsum(const Tensor& x, int64_t dim, std::optional<DType> dtype) {
  return apply(kCumsum, {x}, scan_attrs("cumsum", x, dim, dtype));
}
Tensor cumprod(const Tensor& x, int64_t dim, std::optional<DType> dtype) {
  return apply(kCumprod, {x}, scan_attrs("cumprod", x, dim, dtype));
}
Tensor logcumsumexp(const Tensor& x, int64_t dim) {
  return apply(kLogcumsumexp, {x}, scan_attrs("logcumsumexp", x, dim));
}

std::tuple<Tensor, Tensor> cummax(const Tensor& x, int64_t dim) {
  auto [values, indices] = apply_n<2>(kCummax, {x}, scan_attrs("cummax", x, dim));
  return {std::move(values), std::move(indices)};
}
std::tuple<Tensor, Tensor> cummin(const Tensor& x, int64_t dim) {
  auto [values, indices] = apply_n<2>(kCummin, {x}, scan_attrs("cummin", x, dim));
  return {std::move(values), std::move(indices)};
}

std::tuple<Tensor, Tensor> Tensor::cummax(int64_t dim) const { return tandem::cummax(*this, dim); }
std::tuple<Tensor, Tensor> Tensor::cummin(int64_t dim) const { return tandem::cummin(*this, dim); }
Tensor Tensor::cumsum(int64_t dim, std::optional<DType> dtype) const {
  return tandem::cumsum(*this, dim, dtype);
}
Tensor Tensor::cumprod(int64_t dim, std::optional<DType> dtype) const {
  return tandem::cumprod(*this, dim, dtype);
}
Tensor& Tensor::cumsum_(int64_t dim, std::optional<DType> dtype) const {
  return apply_inplace(kCumsum, *this, {*this},
                       scan_attrs("cumsum", *this, dim, dtype.value_or(this->dtype())));
}
Tensor& Tensor::cumprod_(int64_t dim, std::optional<DType> dtype) const {
  return apply_inplace(kCumprod, *this, {*this},
                       scan_attrs("cumprod", *this, dim, dtype.value_or(this->dtype())));
}
Tensor Tensor::logcumsumexp(int64_t dim) const { return tandem::logcumsumexp(*this, dim); }

}  // namespace tandem
