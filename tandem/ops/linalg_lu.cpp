// LU factors and what is solved with them.
#include "tandem/ops/batch_detail.h"
#include "tandem/ops/binary.h"
#include "tandem/ops/creation.h"
#include "tandem/ops/join.h"
#include "tandem/ops/linalg.h"
#include "tandem/ops/linalg_detail.h"
#include "tandem/ops/matmul.h"
#include "tandem/ops/rearrange.h"
#include "tandem/ops/view.h"

namespace tandem {
namespace {

using namespace linalg_detail;

struct PermutationAttrs {
  int64_t rows = 0;
  DType dtype = kFloat;
  TANDEM_FIELDS(rows, dtype)
};

void infer_lu(const InferArgs& a) {
  const TensorType& t = a.in();
  check_matrix(a.op.name, t);
  const Dims batch = batch_sizes(t.sizes);
  a.out(0).sizes = t.sizes;
  a.out(0).dtype = t.dtype;
  a.out(1).sizes = with(batch, {std::min(t.sizes.back(), t.sizes[t.sizes.size() - 2])});
  a.out(1).dtype = kInt;
}

Tensor permutation(const Tensor& pivots, int64_t rows, DType dtype);

/// The unit lower factor (m x k) and the upper one (k x n) held in one m x n matrix.
Tensor lower_of(const Tensor& lu) {
  const int64_t m = lu.size(-2), k = std::min(m, lu.size(-1));
  return tril(lu.narrow(-1, 0, k), -1) + eye(m, k, lu.options());
}
Tensor upper_of(const Tensor& lu) {
  return triu(lu.narrow(-2, 0, std::min(lu.size(-2), lu.size(-1))));
}

/// L^-T x and x U^-T.
Tensor divide_lower_t(const Tensor& l, const Tensor& x) {
  return linalg_solve_triangular(l.mT(), x, /*upper=*/true, /*left=*/true, /*unit=*/true);
}
Tensor divide_upper_t(const Tensor& x, const Tensor& u) {
  return linalg_solve_triangular(u.mT(), x, /*upper=*/false, /*left=*/false);
}

/// For a square P^T A = L U: L^-T (tril(L^T gL, -1) + triu(gU U^T)) U^-T.
Tensor square_grad(const Tensor& gl, const Tensor& gu, const Tensor& l, const Tensor& u) {
  const Tensor inner = tril(matmul(l.mT(), gl), -1) + triu(matmul(gu, u.mT()));
  return divide_upper_t(divide_lower_t(l, inner), u);
}

Tensor lu_grad(const VjpArgs& a) {
  const Tensor lu = a.output(0), grad = a.grad(0);
  const int64_t m = lu.size(-2), n = lu.size(-1), k = std::min(m, n);
  const Tensor l = lower_of(lu), u = upper_of(lu);
  const Tensor gl = tril(grad.narrow(-1, 0, k), -1), gu = triu(grad.narrow(-2, 0, k));
  const Tensor p = permutation(a.output(1), m, lu.dtype());
  if (m == n) return matmul(p, square_grad(gl, gu, l, u));
  if (m < n) {
    // A = P L [U1 | U2]: U2 = L^-1 P^T A2.
    const Tensor u1 = u.narrow(-1, 0, k), u2 = u.narrow(-1, k, n - k);
    const Tensor rest = divide_lower_t(l, gu.narrow(-1, k, n - k));
    const Tensor first = square_grad(gl - matmul(rest, u2.mT()), gu.narrow(-1, 0, k), l, u1);
    return matmul(p, cat({first, rest}, -1));
  }
  // P^T A = [L1; L2] U: L2 = A2 U^-1.
  const Tensor l1 = l.narrow(-2, 0, k), l2 = l.narrow(-2, k, m - k);
  const Tensor rest = divide_upper_t(gl.narrow(-2, k, m - k), u);
  const Tensor first = square_grad(gl.narrow(-2, 0, k), gu - matmul(l2.mT(), rest), l1, u);
  return matmul(p, cat({first, rest}, -2));
}

}  // namespace

TANDEM_OP(kLuFactor) = {
    .name = "linalg_lu_factor",
    .infer = infer_lu,
    .kernel = [](const KernelArgs& a) { kernels::lu_factor(a.in(), a.out(0), a.out(1)); },
    .saves = Saves::all(Saves::out(0) | Saves::out(1)),
    .vjp = [](const VjpArgs& a) -> Grads { return {a.has_grad(0) ? lu_grad(a) : Tensor()}; },
    .outputs = 2,
    .batch = batch_leading,
    .inputs = 1,
};

TANDEM_OP(kPermutationMatrix) = {
    .name = "permutation_matrix",
    .infer =
        [](const InferArgs& a) {
          const auto& f = a.attrs<PermutationAttrs>();
          TANDEM_CHECK_TYPE(a.in().dtype == kInt,
                            "lu_unpack: LU_pivots is expected to be a tensor of torch.int32 dtype, "
                            "got ",
                            a.in().dtype);
          a.out().sizes = with(batch_sizes(a.in().sizes, 1), {f.rows, f.rows});
          a.out().dtype = f.dtype;
        },
    .kernel = [](const KernelArgs& a) { kernels::permutation_matrix(a.in(), a.out()); },
    .checks_values = true,
    .attrs = attrs_of<PermutationAttrs>,
    .batch = batch_leading,
    .inputs = 1,
};

namespace {
Tensor permutation(const Tensor& pivots, int64_t rows, DType dtype) {
  return apply(kPermutationMatrix, {pivots}, PermutationAttrs{rows, dtype});
}
void check_pivot(const char* op, bool pivot) {
  TANDEM_CHECK(pivot, op, ": LU without pivoting is not implemented on the CPU");
}
}  // namespace

std::tuple<Tensor, Tensor> linalg_lu_factor(const Tensor& a, bool pivot) {
  check_pivot("linalg.lu_factor", pivot);
  auto [lu, pivots] = apply_n<2>(kLuFactor, {a});
  return {lu, pivots};
}

std::tuple<Tensor, Tensor, Tensor> lu_unpack(const Tensor& lu, const Tensor& pivots,
                                             bool unpack_data, bool unpack_pivots) {
  check_matrix("lu_unpack", lu.type_of(), "LU_data");
  const Tensor none = empty({0}, lu.options());
  return {unpack_pivots ? permutation(pivots, lu.size(-2), lu.dtype()) : none,
          unpack_data ? lower_of(lu) : none, unpack_data ? upper_of(lu) : none};
}

std::tuple<Tensor, Tensor, Tensor> linalg_lu(const Tensor& a, bool pivot) {
  check_pivot("linalg.lu", pivot);
  const auto [lu, pivots] = linalg_lu_factor(a);
  return lu_unpack(lu, pivots);
}

Tensor linalg_lu_solve(const Tensor& lu, const Tensor& pivots, const Tensor& b, bool left,
                       bool adjoint) {
  check_square("linalg_lu_solve", lu.type_of(), "LU");
  check_matrix("linalg_lu_solve", b.type_of(), "B");
  if (!left) return linalg_lu_solve(lu, pivots, b.mT(), true, !adjoint).mT();
  TANDEM_CHECK_SHAPE(lu.size(-1) == b.size(-2),
                     "linalg.lu_solve: Incompatible shapes of A and B for the equation AX = B: ",
                     lu.sizes(), " and ", b.sizes());
  const Tensor p = permutation(pivots, lu.size(-2), lu.dtype());
  if (adjoint) {
    const Tensor half = linalg_solve_triangular(lu.mT(), b, /*upper=*/false);
    return matmul(p, linalg_solve_triangular(lu.mT(), half, true, true, /*unit=*/true));
  }
  const Tensor half = linalg_solve_triangular(lu, matmul(p.mT(), b), false, true, /*unit=*/true);
  return linalg_solve_triangular(lu, half, /*upper=*/true);
}
Tensor lu_solve(const Tensor& b, const Tensor& lu, const Tensor& pivots) {
  return linalg_lu_solve(lu, pivots, b);
}

Tensor Tensor::lu_solve(const Tensor& lu, const Tensor& pivots) const {
  return tandem::lu_solve(*this, lu, pivots);
}

}  // namespace tandem
