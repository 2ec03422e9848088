// Statistics that are made of other ops.
#include <cmath>

#include "tandem/ops/ops.h"

namespace tandem {

Tensor renorm(const Tensor& x, const Scalar& p, int64_t dim, const Scalar& maxnorm) {
  TANDEM_CHECK(p.toDouble() > 0, "renorm: non-positive-norm not supported, got ", p);
  TANDEM_CHECK(maxnorm.toDouble() >= 0, "renorm: expected maxnorm to be >= 0 but got ", maxnorm);
  TANDEM_CHECK_SHAPE(x.dim() > 1, "renorm: input needs at least 2 dimensions, got ", x.dim(),
                     " dimensions");
  dim = wrap_dim("renorm", dim, x.dim());
  Dims others;
  for (int64_t d = 0; d < x.dim(); ++d)
    if (d != dim) others.push_back(d);
  const Tensor norms = linalg_vector_norm(x, p, others.ref(), /*keepdim=*/true);
  return x * where(norms > maxnorm, maxnorm.toDouble() / (norms + 1e-7), ones_like(norms));
}

Tensor Tensor::renorm(const Scalar& p, int64_t dim, const Scalar& maxnorm) const {
  return tandem::renorm(*this, p, dim, maxnorm);
}
Tensor& Tensor::renorm_(const Scalar& p, int64_t dim, const Scalar& maxnorm) const {
  return copy_(clone().renorm(p, dim, maxnorm));
}

Tensor dist(const Tensor& x, const Tensor& y, const Scalar& p) { return norm(x - y, p); }

Tensor diff(const Tensor& x, int64_t n, int64_t dim, const std::optional<Tensor>& prepend,
            const std::optional<Tensor>& append) {
  TANDEM_CHECK_SHAPE(x.dim() > 0, "diff: expects input to be at least one-dimensional");
  TANDEM_CHECK(n >= 0, "diff: order must be non-negative but got ", n);
  dim = wrap_dim("diff", dim, x.dim());
  std::vector<Tensor> parts;
  if (prepend && prepend->defined()) parts.push_back(*prepend);
  parts.push_back(x);
  if (append && append->defined()) parts.push_back(*append);
  Tensor y = parts.size() == 1 ? x : cat(parts, dim);
  for (int64_t i = 0; i < n && y.size(dim) > 0; ++i) {
    const int64_t left = y.size(dim) - 1;
    const Tensor after = y.narrow(dim, 1, left), before = y.narrow(dim, 0, left);
    y = y.dtype() == kBool ? after.logical_xor(before) : after - before;
  }
  return y;
}

Tensor cov(const Tensor& x, int64_t correction, const std::optional<Tensor>& fweights,
           const std::optional<Tensor>& aweights) {
  TANDEM_CHECK_SHAPE(x.dim() <= 2,
                     "cov: expected input to have two or fewer dimensions but got an "
                     "input with ",
                     x.dim(), " dimensions");
  TANDEM_CHECK_TYPE(x.dtype() != kBool, "cov: bool dtype is not supported for input");
  const Tensor rows = x.dim() < 2 ? x.reshape({1, -1}) : x;
  const int64_t n = rows.size(1);
  Tensor w;
  const auto check = [&](const char* what, const Tensor& t) {
    TANDEM_CHECK_SHAPE(t.dim() <= 1 && t.numel() == n, "cov: expected ", what, " to have ", n,
                       " elements, one for each observation, but got ", t.type_of());
  };
  if (fweights && fweights->defined()) {
    check("fweights", *fweights);
    TANDEM_CHECK_TYPE(isIntegralType(fweights->dtype()),
                      "cov: expected fweights to have integral dtype but got fweights with ",
                      fweights->dtype(), " dtype");
    TANDEM_CHECK_AS(ValueError, n == 0 || fweights->min().item<int64_t>() >= 0,
                    "cov: fweights cannot be negative");
    w = *fweights;
  }
  if (aweights && aweights->defined()) {
    check("aweights", *aweights);
    TANDEM_CHECK_TYPE(is_floating(aweights->dtype()),
                      "cov: expected aweights to have floating point dtype but got aweights with ",
                      aweights->dtype(), " dtype");
    TANDEM_CHECK_AS(ValueError, n == 0 || aweights->min().item<double>() >= 0,
                    "cov: aweights cannot be negative");
    w = w.defined() ? w * *aweights : *aweights;
  }
  const Tensor real = is_floating(rows.dtype()) ? rows : rows.to(default_real_dtype());
  Tensor divisor, centred, weighted;
  if (w.defined()) {
    const Tensor total = w.sum();
    const Tensor average = (real * w).sum(1, true) / total;
    centred = real - average;
    weighted = centred * w;
    // The correction shrinks with how unequal the observations' own weights are.
    divisor = aweights && aweights->defined() && correction != 0
                  ? total - correction * (w * *aweights).sum() / total
                  : total - correction;
  } else {
    centred = real - real.mean(1, true);
    weighted = centred;
    divisor =
        scalar_tensor(static_cast<double>(n - correction), real.options().requires_grad(false));
  }
  return (matmul(weighted, centred.t()) / divisor.clamp_min(0)).squeeze();
}

Tensor corrcoef(const Tensor& x) {
  TANDEM_CHECK_SHAPE(x.dim() <= 2,
                     "corrcoef: expected input to have two or fewer dimensions but "
                     "got an input with ",
                     x.dim(), " dimensions");
  const Tensor c = cov(x);
  if (c.dim() == 0) return c / c;
  const Tensor d = c.diagonal().sqrt();
  return (c / d.unsqueeze(1) / d.unsqueeze(0)).clamp(-1, 1);
}

// -- integrals --------------------------------------------------------------------------------

namespace {

struct Trapezoids {
  Tensor areas;
  int64_t dim;
};

// The area below each pair of neighbours.
Trapezoids trapezoids(const char* name, const Tensor& y, const Tensor* x, double dx, int64_t dim) {
  dim = wrap_dim(name, dim, y.dim());
  TANDEM_CHECK_SHAPE(y.dim() > 0, name, ": expected a tensor with at least one dimension");
  const int64_t n = std::max<int64_t>(0, y.size(dim) - 1);
  const Tensor heights = y.narrow(dim, y.size(dim) - n, n) + y.narrow(dim, 0, n);
  if (!x) return {heights * (dx / 2), dim};
  Tensor widths;
  if (x->dim() == 1) {
    TANDEM_CHECK_SHAPE(x->size(0) == y.size(dim), name,
                       ": There must be one `x` value for each sample point, got ", x->size(0),
                       " and ", y.size(dim));
    Dims shape(static_cast<size_t>(y.dim()), 1);
    shape[static_cast<size_t>(dim)] = n;
    widths = x->diff().reshape(shape);
  } else {
    widths = x->diff(1, dim - y.dim());
  }
  return {heights * widths / 2, dim};
}

}  // namespace

Tensor trapezoid(const Tensor& y, const Tensor& x, int64_t dim) {
  const auto t = trapezoids("trapezoid", y, &x, 1, dim);
  return t.areas.sum(t.dim - y.dim());
}
Tensor trapezoid(const Tensor& y, const Scalar& dx, int64_t dim) {
  const auto t = trapezoids("trapezoid", y, nullptr, dx.toDouble(), dim);
  return t.areas.sum(t.dim);
}
Tensor trapz(const Tensor& y, const Tensor& x, int64_t dim) { return trapezoid(y, x, dim); }
Tensor trapz(const Tensor& y, double dx, int64_t dim) { return trapezoid(y, Scalar(dx), dim); }
Tensor cumulative_trapezoid(const Tensor& y, const Tensor& x, int64_t dim) {
  const auto t = trapezoids("cumulative_trapezoid", y, &x, 1, dim);
  return t.areas.cumsum(t.dim - y.dim());
}
Tensor cumulative_trapezoid(const Tensor& y, const Scalar& dx, int64_t dim) {
  const auto t = trapezoids("cumulative_trapezoid", y, nullptr, dx.toDouble(), dim);
  return t.areas.cumsum(t.dim);
}

Tensor Tensor::dist(const Tensor& o, const Scalar& p) const { return tandem::dist(*this, o, p); }
Tensor Tensor::diff(int64_t n, int64_t dim, const std::optional<Tensor>& prepend,
                    const std::optional<Tensor>& append) const {
  return tandem::diff(*this, n, dim, prepend, append);
}
Tensor Tensor::cov(int64_t correction, const std::optional<Tensor>& fweights,
                   const std::optional<Tensor>& aweights) const {
  return tandem::cov(*this, correction, fweights, aweights);
}
Tensor Tensor::corrcoef() const { return tandem::corrcoef(*this); }

}  // namespace tandem
