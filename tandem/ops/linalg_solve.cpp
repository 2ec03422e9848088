// Systems of equations, inverses and determinants.
#include "tandem/ops/batch_detail.h"
#include "tandem/ops/binary.h"
#include "tandem/ops/creation.h"
#include "tandem/ops/linalg.h"
#include "tandem/ops/linalg_detail.h"
#include "tandem/ops/matmul.h"
#include "tandem/ops/reduction.h"
#include "tandem/ops/unary.h"
#include "tandem/ops/view.h"

namespace tandem {
namespace {

using namespace linalg_detail;

void infer_square(const InferArgs& a) {
  check_square(a.op.name, a.in());
  a.out().sizes = a.in().sizes;
  a.out().dtype = a.in().dtype;
}

void infer_inv_ex(const InferArgs& a) {
  infer_square(a);
  a.out(1).sizes = batch_sizes(a.in().sizes);
  a.out(1).dtype = kInt;
}

void infer_number_each(const InferArgs& a, int k) {
  check_square(a.op.name, a.in());
  a.out(k).sizes = batch_sizes(a.in().sizes);
  a.out(k).dtype = a.in().dtype;
}

/// -Y^T g Y^T
Tensor inverse_grad(const Tensor& grad, const Tensor& inv) {
  return -matmul(inv.mT(), matmul(grad, inv.mT()));
}

}  // namespace

// -- inverse ---------------------------------------------------------------------------------

TANDEM_OP(kLinalgInv) = {
    .name = "linalg_inv",
    .infer = infer_square,
    .kernel =
        [](const KernelArgs& a) {
          check_invertible(a.op.name, kernels::inverse(a.in(), a.out()), a.in().ndim - 2,
                           "inversion");
        },
    .saves = Saves::output(),
    .vjp = [](const VjpArgs& a) -> Grads { return {inverse_grad(a.grad(), a.output())}; },
    .checks_values = true,
    .batch = batch_leading,
    .inputs = 1,
};

TANDEM_OP(kLinalgInvEx) = {
    .name = "linalg_inv_ex",
    .infer = infer_inv_ex,
    .kernel = [](const KernelArgs& a) { kernels::inverse(a.in(), a.out(0), a.out(1)); },
    .saves = Saves::output(),
    .vjp = [](const VjpArgs& a) -> Grads {
      return {a.has_grad(0) ? inverse_grad(a.grad(), a.output()) : Tensor()};
    },
    .outputs = 2,
    .batch = batch_leading,
    .inputs = 1,
};

Tensor linalg_inv(const Tensor& a) { return apply(kLinalgInv, {a}); }
Tensor inverse(const Tensor& a) { return linalg_inv(a); }
std::tuple<Tensor, Tensor> linalg_inv_ex(const Tensor& a, bool check_errors) {
  if (check_errors) {
    const Tensor inv = linalg_inv(a);
    return {inv, zeros(batch_sizes(a.sizes()), a.options().dtype(kInt))};
  }
  auto [inv, info] = apply_n<2>(kLinalgInvEx, {a});
  return {inv, info};
}

// -- solve -----------------------------------------------------------------------------------

TANDEM_OP(kLinalgSolve) = {
    .name = "linalg_solve",
    .infer = infer_solution,
    .kernel =
        [](const KernelArgs& a) {
          check_invertible(a.op.name, kernels::solve(a.in(0), a.in(1), a.out()), a.in(0).ndim - 2,
                           "solve");
        },
    .saves = Saves::each(Saves::in(0) | Saves::out(0), Saves::in(0)),
    .vjp = [](const VjpArgs& a) -> Grads {
      const Tensor grad_b = linalg_solve(a.input(0).mT(), a.grad());
      return {a.needs(0) ? -matmul(grad_b, a.output().mT()) : Tensor(), grad_b};
    },
    .checks_values = true,
    .batch = batch_leading,
    .inputs = 2,
};

namespace {

/// LibTorch's rule: B holds vectors if it is one, or has one dimension less than A and fits it.
bool is_vector_case(const Tensor& a, const Tensor& b) {
  if (b.dim() == 1) return true;
  return a.dim() - 1 == b.dim() && b.sizes() == a.sizes().slice(0, a.dim() - 1);
}

Tensor solve_matrices(const Tensor& a, const Tensor& b) {
  const auto [x, y] = broadcast_batches("linalg.solve", a, b);
  return apply(kLinalgSolve, {x, y});
}

}  // namespace

Tensor linalg_solve(const Tensor& a, const Tensor& b, bool left) {
  check_square("linalg_solve", a.type_of());
  TANDEM_CHECK_SHAPE(b.dim() > 0, "linalg.solve: B must have at least 1 dimension");
  const bool vector = is_vector_case(a, b);
  const Tensor rhs = vector ? b.unsqueeze(-1) : b;
  TANDEM_CHECK_SHAPE(left || !vector,
                     "linalg.solve: Vector broadcasting of the left hand side is not supported for "
                     "left=False. In this case linalg.solve is equivalent to B / A.squeeze(-1)");
  const Tensor x = left ? solve_matrices(a, rhs) : solve_matrices(a.mT(), rhs.mT()).mT();
  return vector ? x.squeeze(-1) : x;
}

std::tuple<Tensor, Tensor> linalg_solve_ex(const Tensor& a, const Tensor& b, bool left,
                                           bool check_errors) {
  const auto info_type = a.options().dtype(kInt);
  if (check_errors) {
    const Tensor x = linalg_solve(a, b, left);
    return {x, zeros(batch_sizes(a.sizes()), info_type)};
  }
  const auto [inv, info] = linalg_inv_ex(a);
  const bool vector = is_vector_case(a, b);
  const Tensor rhs = vector ? b.unsqueeze(-1) : b;
  const Tensor x = left ? matmul(inv, rhs) : matmul(rhs, inv);
  return {vector ? x.squeeze(-1) : x, info};
}

// -- determinants ------------------------------------------------------------------------------

TANDEM_OP(kAdjugate) = {
    .name = "adjugate",
    .infer = infer_square,
    .kernel =
        [](const KernelArgs& a) {
          check_converged(a.op.name, kernels::adjugate(a.in(), a.out()), a.in().ndim - 2);
        },
    .saves = Saves::all(Saves::in(0)),
    // Of det(A) A^-1 by the product rule; it takes an invertible matrix.
    .vjp = [](const VjpArgs& a) -> Grads {
      const Tensor inv = linalg_inv(a.input()), inv_t = inv.mT();
      const Tensor inner = over_matrix(sum(a.grad() * inv, {-2, -1}));
      const Tensor d = over_matrix(det(a.input()));
      return {d * (inner * inv_t - matmul(inv_t, matmul(a.grad(), inv_t)))};
    },
    .checks_values = true,
    .batch = batch_leading,
    .inputs = 1,
};

TANDEM_OP(kLinalgDet) = {
    .name = "linalg_det",
    .infer = [](const InferArgs& a) { infer_number_each(a, 0); },
    .kernel = [](const KernelArgs& a) { kernels::determinant(a.in(), a.out()); },
    .saves = Saves::all(Saves::in(0)),
    .vjp = [](const VjpArgs& a) -> Grads {
      return {over_matrix(a.grad()) * adjugate(a.input()).mT()};
    },
    .batch = batch_leading,
    .inputs = 1,
};

TANDEM_OP(kLinalgSlogdet) = {
    .name = "linalg_slogdet",
    .infer =
        [](const InferArgs& a) {
          infer_number_each(a, 0);
          infer_number_each(a, 1);
        },
    .kernel = [](const KernelArgs& a) { kernels::sign_log_det(a.in(), a.out(0), a.out(1)); },
    .saves = Saves::all(Saves::in(0)),
    // The sign is constant wherever it is defined.
    .vjp = [](const VjpArgs& a) -> Grads {
      return {a.has_grad(1) ? over_matrix(a.grad(1)) * linalg_inv(a.input()).mT() : Tensor()};
    },
    .outputs = 2,
    .batch = batch_leading,
    .inputs = 1,
};

Tensor adjugate(const Tensor& a) { return apply(kAdjugate, {a}); }
Tensor linalg_det(const Tensor& a) { return apply(kLinalgDet, {a}); }
Tensor det(const Tensor& a) { return linalg_det(a); }
std::tuple<Tensor, Tensor> linalg_slogdet(const Tensor& a) {
  auto [sign, log_abs] = apply_n<2>(kLinalgSlogdet, {a});
  return {sign, log_abs};
}
std::tuple<Tensor, Tensor> slogdet(const Tensor& a) { return linalg_slogdet(a); }
Tensor logdet(const Tensor& a) {
  const auto [sign, log_abs] = linalg_slogdet(a);
  return log_abs + log(sign.detach());  // log of the sign: 0, -inf or nan
}

Tensor Tensor::inverse() const { return linalg_inv(*this); }
Tensor Tensor::det() const { return linalg_det(*this); }
Tensor Tensor::logdet() const { return tandem::logdet(*this); }
std::tuple<Tensor, Tensor> Tensor::slogdet() const { return linalg_slogdet(*this); }

}  // namespace tandem
