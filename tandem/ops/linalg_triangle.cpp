// Cholesky factors and triangular systems.
#include "tandem/ops/batch_detail.h"
#include "tandem/ops/binary.h"
#include "tandem/ops/creation.h"
#include "tandem/ops/linalg.h"
#include "tandem/ops/linalg_detail.h"
#include "tandem/ops/matmul.h"
#include "tandem/ops/rearrange.h"
#include "tandem/ops/view.h"

namespace tandem {
namespace {

using namespace linalg_detail;

struct CholeskyAttrs {
  bool upper = false;
  TANDEM_FIELDS(upper)
};

struct TriangularAttrs {
  bool upper = false;
  bool unit = false;
  TANDEM_FIELDS(upper, unit)
};

void infer_cholesky(const InferArgs& a) {
  check_square(a.op.name, a.in());
  a.out().sizes = a.in().sizes;
  a.out().dtype = a.in().dtype;
}

/// L^-T phi(L^T g) L^-1, where phi keeps the lower triangle, made symmetric.
Tensor cholesky_grad(const Tensor& grad, const Tensor& factor, bool upper) {
  const Tensor l = upper ? factor.mT() : factor, g = upper ? grad.mT() : grad;
  const Tensor p = matmul(l.mT(), g);
  const Tensor phi = (tril(p) + tril(p, -1).mT()) * 0.5;
  const Tensor left = linalg_solve_triangular(l.mT(), phi, /*upper=*/true);
  return linalg_solve_triangular(l, left, /*upper=*/false, /*left=*/false);
}

Tensor cholesky_vjp(const VjpArgs& a) {
  return cholesky_grad(a.grad(), a.output(), a.attrs<CholeskyAttrs>().upper);
}

}  // namespace

TANDEM_OP(kLinalgCholesky) = {
    .name = "linalg_cholesky",
    .infer = infer_cholesky,
    .kernel =
        [](const KernelArgs& a) {
          const auto info = kernels::cholesky(a.in(), a.out(), a.attrs<CholeskyAttrs>().upper);
          TANDEM_CHECK(info.code == 0, shown(a.op.name), ": ", which(info, a.in().ndim - 2),
                       "The factorization could not be completed because the input is not "
                       "positive-definite (the leading minor of order ",
                       info.code, " is not positive-definite).");
        },
    .saves = Saves::output(),
    .vjp = [](const VjpArgs& a) -> Grads { return {cholesky_vjp(a)}; },
    .checks_values = true,
    .attrs = attrs_of<CholeskyAttrs>,
    .batch = batch_leading,
    .inputs = 1,
};

TANDEM_OP(kLinalgCholeskyEx) = {
    .name = "linalg_cholesky_ex",
    .infer =
        [](const InferArgs& a) {
          infer_cholesky(a);
          a.out(1).sizes = batch_sizes(a.in().sizes);
          a.out(1).dtype = kInt;
        },
    .kernel =
        [](const KernelArgs& a) {
          kernels::cholesky(a.in(), a.out(0), a.attrs<CholeskyAttrs>().upper, a.out(1));
        },
    .saves = Saves::output(),
    .vjp = [](const VjpArgs& a) -> Grads { return {a.has_grad(0) ? cholesky_vjp(a) : Tensor()}; },
    .outputs = 2,
    .attrs = attrs_of<CholeskyAttrs>,
    .batch = batch_leading,
    .inputs = 1,
};

TANDEM_OP(kSolveTriangular) = {
    .name = "linalg_solve_triangular",
    .infer = infer_solution,
    .kernel =
        [](const KernelArgs& a) {
          const auto& f = a.attrs<TriangularAttrs>();
          kernels::triangular_solve(a.in(0), a.in(1), a.out(), f.upper, false, f.unit);
        },
    .saves = Saves::each(Saves::in(0) | Saves::out(0), Saves::in(0)),
    .vjp = [](const VjpArgs& a) -> Grads {
      const auto& f = a.attrs<TriangularAttrs>();
      const Tensor grad_b =
          linalg_solve_triangular(a.input(0).mT(), a.grad(), !f.upper, true, f.unit);
      Tensor grad_a;
      if (a.needs(0)) {
        const Tensor whole = -matmul(grad_b, a.output().mT());
        grad_a = f.upper ? triu(whole, f.unit) : tril(whole, f.unit ? -1 : 0);
      }
      return {grad_a, grad_b};
    },
    .attrs = attrs_of<TriangularAttrs>,
    .batch = batch_leading,
    .inputs = 2,
};

Tensor linalg_cholesky(const Tensor& a, bool upper) {
  return apply(kLinalgCholesky, {a}, CholeskyAttrs{upper});
}
Tensor cholesky(const Tensor& a, bool upper) { return linalg_cholesky(a, upper); }
std::tuple<Tensor, Tensor> linalg_cholesky_ex(const Tensor& a, bool upper, bool check_errors) {
  if (check_errors) {
    const Tensor factor = linalg_cholesky(a, upper);
    return {factor, zeros(batch_sizes(a.sizes()), a.options().dtype(kInt))};
  }
  auto [factor, info] = apply_n<2>(kLinalgCholeskyEx, {a}, CholeskyAttrs{upper});
  return {factor, info};
}

Tensor linalg_solve_triangular(const Tensor& a, const Tensor& b, bool upper, bool left,
                               bool unitriangular) {
  check_square("linalg_solve_triangular", a.type_of());
  check_matrix("linalg_solve_triangular", b.type_of(), "B");
  if (!left) {
    TANDEM_CHECK_SHAPE(a.size(-1) == b.size(-1),
                       "linalg.solve_triangular: Incompatible shapes of A and B for the equation "
                       "XA = B: ",
                       a.sizes(), " and ", b.sizes());
    return linalg_solve_triangular(a.mT(), b.mT(), !upper, true, unitriangular).mT();
  }
  const auto [x, y] = broadcast_batches("linalg.solve_triangular", a, b);
  return apply(kSolveTriangular, {x, y}, TriangularAttrs{upper, unitriangular});
}

std::tuple<Tensor, Tensor> triangular_solve(const Tensor& b, const Tensor& a, bool upper,
                                            bool transpose, bool unitriangular) {
  const Tensor x = transpose ? linalg_solve_triangular(a.mT(), b, !upper, true, unitriangular)
                             : linalg_solve_triangular(a, b, upper, true, unitriangular);
  return {x, a.clone()};
}

Tensor cholesky_solve(const Tensor& b, const Tensor& factor, bool upper) {
  check_matrix("cholesky_solve", b.type_of(), "b");
  check_square("cholesky_solve", factor.type_of(), "u");
  TANDEM_CHECK_SHAPE(b.size(-2) == factor.size(-1),
                     "cholesky_solve: Incompatible matrix sizes: ", factor.sizes(), " and ",
                     b.sizes());
  const Tensor l = upper ? factor.mT() : factor;
  const Tensor half = linalg_solve_triangular(l, b, /*upper=*/false);
  return linalg_solve_triangular(l.mT(), half, /*upper=*/true);
}

Tensor cholesky_inverse(const Tensor& factor, bool upper) {
  check_square("cholesky_inverse", factor.type_of());
  return cholesky_solve(identity_like(factor), factor, upper);
}

Tensor Tensor::cholesky(bool upper) const { return linalg_cholesky(*this, upper); }
Tensor Tensor::cholesky_solve(const Tensor& factor, bool upper) const {
  return tandem::cholesky_solve(*this, factor, upper);
}
Tensor Tensor::cholesky_inverse(bool upper) const { return tandem::cholesky_inverse(*this, upper); }
std::tuple<Tensor, Tensor> Tensor::triangular_solve(const Tensor& a, bool upper, bool transpose,
                                                    bool unitriangular) const {
  return tandem::triangular_solve(*this, a, upper, transpose, unitriangular);
}

}  // namespace tandem
