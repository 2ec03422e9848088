// Pseudo-inverse, rank and least squares: what counts small singular values as zero.
#include <cmath>
#include <limits>

#include "tandem/ops/batch_detail.h"
#include "tandem/ops/binary.h"
#include "tandem/ops/compare.h"
#include "tandem/ops/creation.h"
#include "tandem/ops/linalg.h"
#include "tandem/ops/linalg_detail.h"
#include "tandem/ops/matmul.h"
#include "tandem/ops/reduction.h"
#include "tandem/ops/ternary.h"
#include "tandem/ops/unary.h"
#include "tandem/ops/view.h"

namespace tandem {
namespace {

using namespace linalg_detail;

struct CutoffAttrs {
  double atol = 0, rtol = 0;
  bool hermitian = false;
  TANDEM_FIELDS(atol, rtol, hermitian)
};
struct LstsqAttrs {
  double rcond = 0;
  TANDEM_FIELDS(rcond)
};

double epsilon(DType t) {
  return t == kDouble ? std::numeric_limits<double>::epsilon()
                      : static_cast<double>(std::numeric_limits<float>::epsilon());
}

/// LibTorch's default: without a limit, the rounding errors of the factorisation.
CutoffAttrs cutoff(const Tensor& a, std::optional<double> atol, std::optional<double> rtol,
                   bool hermitian) {
  const double by_rounding =
      epsilon(a.dtype()) * static_cast<double>(std::max(a.size(-2), a.size(-1)));
  const bool given = atol && *atol > 0;
  return {atol.value_or(0), rtol ? *rtol : (given ? 0 : by_rounding), hermitian};
}

/// Which singular values (all >= 0) count.
Tensor counted(const Tensor& s, const CutoffAttrs& c) {
  if (s.size(-1) == 0) return s > 0;
  const Tensor limit = clamp_min(amax(s, {-1}, true) * c.rtol, c.atol);
  return s > limit;
}

/// For P = pinv(A): -P^T g P^T + (I - A P) g^T P P^T + P^T P g^T (I - P A).
Tensor pinv_grad(const Tensor& grad, const Tensor& a, const Tensor& p) {
  const Tensor pt = p.mT(), gt = grad.mT();
  const Tensor first = matmul(pt, matmul(grad, pt));
  const Tensor gpp = matmul(matmul(gt, p), pt);
  const Tensor ppg = matmul(pt, matmul(p, gt));
  return gpp - matmul(a, matmul(p, gpp)) + ppg - matmul(matmul(ppg, p), a) - first;
}

}  // namespace

TANDEM_OP(kLinalgPinv) = {
    .name = "linalg_pinv",
    .infer =
        [](const InferArgs& a) {
          const TensorType& t = a.in();
          check_matrix(a.op.name, t);
          if (a.attrs<CutoffAttrs>().hermitian) check_square(a.op.name, t);
          a.out().sizes = with(batch_sizes(t.sizes), {t.sizes.back(), t.sizes[t.sizes.size() - 2]});
          a.out().dtype = t.dtype;
        },
    .kernel =
        [](const KernelArgs& a) {
          const auto& c = a.attrs<CutoffAttrs>();
          check_converged(a.op.name,
                          kernels::pseudo_inverse(a.in(), a.out(), c.atol, c.rtol, c.hermitian),
                          a.in().ndim - 2);
        },
    .saves = Saves::all(Saves::in(0) | Saves::out(0)),
    .vjp = [](const VjpArgs& a) -> Grads { return {pinv_grad(a.grad(), a.input(), a.output())}; },
    .checks_values = true,
    .attrs = attrs_of<CutoffAttrs>,
    .batch = batch_leading,
    .inputs = 1,
};

TANDEM_OP(kLinalgLstsq) = {
    .name = "linalg_lstsq",
    .infer =
        [](const InferArgs& a) {
          const TensorType &m = a.in(0), &b = a.in(1);
          check_matrix(a.op.name, m);
          check_matrix(a.op.name, b, "B");
          TANDEM_CHECK_TYPE(m.dtype == b.dtype, shown(a.op.name),
                            ": Expected input and other to have the same dtype, but got input of "
                            "type ",
                            m.dtype, " and other of type ", b.dtype);
          const Dims batch = batch_sizes(m.sizes);
          const int64_t rows = m.sizes[m.sizes.size() - 2], cols = m.sizes.back();
          TANDEM_CHECK_SHAPE(rows == b.sizes[b.sizes.size() - 2], shown(a.op.name),
                             ": input.size(-2) should match other.size(-2), got shapes ", m.sizes,
                             " and ", b.sizes);
          a.out(0).sizes = with(batch, {cols, b.sizes.back()});
          a.out(1).sizes = batch;
          a.out(2).sizes = with(batch, {std::min(rows, cols)});
          a.out(0).dtype = a.out(2).dtype = m.dtype;
          a.out(1).dtype = kLong;
        },
    .kernel =
        [](const KernelArgs& a) {
          check_converged(a.op.name,
                          kernels::least_squares(a.in(0), a.in(1), a.out(0), a.out(2), a.out(1),
                                                 a.attrs<LstsqAttrs>().rcond),
                          a.in(0).ndim - 2);
        },
    .saves = Saves::each(Saves::in(0) | Saves::in(1), Saves::in(0)),
    // X = pinv(A) B.
    .vjp = [](const VjpArgs& a) -> Grads {
      if (!a.has_grad(0)) return {Tensor(), Tensor()};
      const Tensor p = linalg_pinv(a.input(0), std::nullopt, a.attrs<LstsqAttrs>().rcond);
      Tensor grad_a;
      if (a.needs(0)) grad_a = pinv_grad(matmul(a.grad(0), a.input(1).mT()), a.input(0), p);
      return {grad_a, matmul(p.mT(), a.grad(0))};
    },
    .outputs = 3,
    .checks_values = true,
    .attrs = attrs_of<LstsqAttrs>,
    .batch = batch_leading,
    .inputs = 2,
};

Tensor linalg_pinv(const Tensor& a, std::optional<double> atol, std::optional<double> rtol,
                   bool hermitian) {
  check_matrix("linalg_pinv", a.type_of());
  return apply(kLinalgPinv, {a}, cutoff(a, atol, rtol, hermitian));
}
Tensor linalg_pinv(const Tensor& a, double rcond, bool hermitian) {
  return linalg_pinv(a, std::optional<double>(0.0), rcond, hermitian);
}
Tensor linalg_pinv(const Tensor& a) { return linalg_pinv(a, std::nullopt, std::nullopt); }
Tensor pinverse(const Tensor& a, double rcond) { return linalg_pinv(a, rcond); }

std::tuple<Tensor, Tensor, Tensor, Tensor> linalg_lstsq(const Tensor& a, const Tensor& b,
                                                        std::optional<double> rcond,
                                                        std::optional<std::string_view> driver) {
  TANDEM_CHECK(!driver || *driver == "gelsd" || *driver == "gelsy" || *driver == "gels" ||
                   *driver == "gelss",
               "linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)");
  check_matrix("linalg_lstsq", a.type_of());
  TANDEM_CHECK_SHAPE(b.dim() > 0, "linalg.lstsq: other must have at least 1 dimension");
  const bool vector = a.dim() - 1 == b.dim() && b.sizes() == a.sizes().slice(0, a.dim() - 1);
  const auto [m, rhs] = broadcast_batches("linalg.lstsq", a, vector ? b.unsqueeze(-1) : b);
  const double limit =
      rcond ? *rcond : epsilon(a.dtype()) * static_cast<double>(std::max(a.size(-2), a.size(-1)));
  auto [x, rank, s] = apply_n<3>(kLinalgLstsq, {m, rhs}, LstsqAttrs{limit});
  Tensor residuals = empty({0}, a.options());
  // As LibTorch: only where there are more equations than unknowns.
  if (a.size(-2) > a.size(-1)) residuals = sum(square(matmul(m, x) - rhs), {-2});
  return {vector ? x.squeeze(-1) : x, residuals, rank, s};
}

// -- rank
// ------------------------------------------------------------------------------------------

Tensor linalg_matrix_rank(const Tensor& a, std::optional<double> atol, std::optional<double> rtol,
                          bool hermitian) {
  check_matrix("linalg_matrix_rank", a.type_of());
  const Tensor s = hermitian ? abs(linalg_eigvalsh(a.detach())) : linalg_svdvals(a.detach());
  return sum(counted(s, cutoff(a, atol, rtol, hermitian)), {-1});
}
Tensor linalg_matrix_rank(const Tensor& a, double tol, bool hermitian) {
  return linalg_matrix_rank(a, std::optional<double>(tol), 0.0, hermitian);
}
Tensor linalg_matrix_rank(const Tensor& a) {
  return linalg_matrix_rank(a, std::nullopt, std::nullopt);
}
Tensor matrix_rank(const Tensor& a, double tol, bool symmetric) {
  return linalg_matrix_rank(a, tol, symmetric);
}
Tensor matrix_rank(const Tensor& a, bool symmetric) {
  return linalg_matrix_rank(a, std::nullopt, std::nullopt, symmetric);
}

Tensor Tensor::pinverse(double rcond) const { return tandem::pinverse(*this, rcond); }

}  // namespace tandem
