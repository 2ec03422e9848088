// QR, singular values, eigenvalues, and what is solved with them.
#include <cmath>
#include <limits>

#include "tandem/ops/batch_detail.h"
#include "tandem/ops/binary.h"
#include "tandem/ops/compare.h"
#include "tandem/ops/creation.h"
#include "tandem/ops/join.h"
#include "tandem/ops/linalg.h"
#include "tandem/ops/linalg_detail.h"
#include "tandem/ops/matmul.h"
#include "tandem/ops/rearrange.h"
#include "tandem/ops/reduction.h"
#include "tandem/ops/ternary.h"
#include "tandem/ops/unary.h"
#include "tandem/ops/view.h"

namespace tandem {
namespace {

using namespace linalg_detail;

struct FactorAttrs {
  bool full = false;    // all columns of the orthogonal factors
  bool vectors = true;  // False: only the values are computed
  TANDEM_FIELDS(full, vectors)
};
struct EighAttrs {
  bool upper = false;
  bool vectors = true;
  TANDEM_FIELDS(upper, vectors)
};

int64_t rows_of(const TensorType& t) { return t.sizes[t.sizes.size() - 2]; }
int64_t cols_of(const TensorType& t) { return t.sizes.back(); }

Tensor skew(const Tensor& x) { return x - x.mT(); }

/// d_j - d_i, with ones on the diagonal so that one may divide by it.
Tensor differences(const Tensor& d) {
  const Tensor e = d.unsqueeze(-2) - d.unsqueeze(-1);
  return e + identity_like(e);
}

// -- QR ----------------------------------------------------------------------------------------

/// Gradient of a = q r for a square or tall matrix; undefined gradients count as zero.
Tensor tall_qr_grad(const Tensor& gq, const Tensor& gr, const Tensor& q, const Tensor& r) {
  Tensor m;
  if (gr.defined()) m = matmul(r, gr.mT());
  if (gq.defined()) m = m.defined() ? m - matmul(gq.mT(), q) : -matmul(gq.mT(), q);
  const Tensor symmetric = tril(m) + tril(m, -1).mT();
  Tensor inner = matmul(q, symmetric);
  if (gq.defined()) inner = gq + inner;
  return linalg_solve_triangular(r.mT(), inner, /*upper=*/false, /*left=*/false);
}

Tensor qr_grad(const VjpArgs& a) {
  const Tensor q = a.output(0), r = a.output(1);
  const Tensor gq = a.has_grad(0) ? a.grad(0) : Tensor(), gr = a.has_grad(1) ? a.grad(1) : Tensor();
  const int64_t m = q.size(-2), n = r.size(-1);
  if (m >= n) {
    TANDEM_CHECK(q.size(-1) == n,
                 "linalg.qr: the gradient is not defined for mode='complete' when the matrix has "
                 "more rows than columns, because the extra columns of Q are arbitrary (use "
                 "mode='reduced')");
    return tall_qr_grad(gq, gr, q, r);
  }
  // A wide matrix [X | Y] has X = Q U and Y = Q V.
  if (!gr.defined())
    return cat(
        {tall_qr_grad(gq, Tensor(), q, r.narrow(-1, 0, m)), zeros_like(r.narrow(-1, m, n - m))},
        -1);
  const Tensor u = r.narrow(-1, 0, m), v = r.narrow(-1, m, n - m);
  const Tensor gu = gr.narrow(-1, 0, m), gv = gr.narrow(-1, m, n - m);
  const Tensor through_v = matmul(matmul(q, v), gv.mT());
  const Tensor gx = tall_qr_grad(gq.defined() ? gq + through_v : through_v, gu, q, u);
  return cat({gx, matmul(q, gv)}, -1);
}

}  // namespace

TANDEM_OP(kLinalgQr) = {
    .name = "linalg_qr",
    .infer =
        [](const InferArgs& a) {
          const TensorType& t = a.in();
          check_matrix(a.op.name, t);
          const int64_t m = rows_of(t), n = cols_of(t);
          const int64_t k = a.attrs<FactorAttrs>().full ? m : std::min(m, n);
          a.out(0).sizes = with(batch_sizes(t.sizes), {m, k});
          a.out(1).sizes = with(batch_sizes(t.sizes), {k, n});
          a.out(0).dtype = a.out(1).dtype = t.dtype;
        },
    .kernel = [](const KernelArgs& a) { kernels::qr(a.in(), a.out(0), a.out(1)); },
    .saves = Saves::all(Saves::out(0) | Saves::out(1)),
    .vjp = [](const VjpArgs& a) -> Grads { return {qr_grad(a)}; },
    .outputs = 2,
    .attrs = attrs_of<FactorAttrs>,
    .batch = batch_leading,
    .inputs = 1,
};

std::tuple<Tensor, Tensor> linalg_qr(const Tensor& a, std::string_view mode) {
  TANDEM_CHECK(mode == "reduced" || mode == "complete" || mode == "r",
               "linalg.qr: mode must be one of 'reduced', 'complete' or 'r', got '", mode, "'");
  auto [q, r] = apply_n<2>(kLinalgQr, {a}, FactorAttrs{mode == "complete"});
  if (mode == "r") return {zeros({0}, a.options()), r};
  return {q, r};
}
std::tuple<Tensor, Tensor> qr(const Tensor& a, bool some) {
  return linalg_qr(a, some ? "reduced" : "complete");
}

// -- singular values -----------------------------------------------------------------------------

namespace {

void infer_svd(const InferArgs& a) {
  const TensorType& t = a.in();
  check_matrix(a.op.name, t);
  const int64_t m = rows_of(t), n = cols_of(t), k = std::min(m, n);
  const bool full = a.attrs<FactorAttrs>().full;
  const Dims batch = batch_sizes(t.sizes);
  a.out(0).sizes = with(batch, {m, full ? m : k});
  a.out(1).sizes = with(batch, {k});
  a.out(2).sizes = with(batch, {full ? n : k, n});
  for (int i = 0; i < 3; ++i) a.out(i).dtype = t.dtype;
}

/// U ((skew(U^T gU) / E) S + S (skew(V^T gV) / E) + diag(gS)) V^T, and for vectors that do not span
/// everything the parts orthogonal to them. E_ij = S_j^2 - S_i^2.
Tensor svd_grad(const VjpArgs& a) {
  const int64_t k = a.output_type(1).sizes.back();
  const Tensor u = a.output(0).narrow(-1, 0, k), s = a.output(1);
  const Tensor vh = a.output(2).narrow(-2, 0, k);
  Tensor inner;
  const auto add = [](Tensor& sum, const Tensor& term) { sum = sum.defined() ? sum + term : term; };
  if (a.has_grad(1)) add(inner, diag_embed(a.grad(1)));
  Tensor gu, gvh, e;
  if (a.has_grad(0) || a.has_grad(2)) e = differences(s * s);
  if (a.has_grad(0)) {
    gu = a.grad(0).narrow(-1, 0, k);
    add(inner, scale_columns(skew(matmul(u.mT(), gu)) / e, s));
  }
  if (a.has_grad(2)) {
    gvh = a.grad(2).narrow(-2, 0, k);
    add(inner, scale_rows(s, skew(matmul(vh, gvh.mT())) / e));
  }
  Tensor result = matmul(u, matmul(inner, vh));
  if (gu.defined() && u.size(-2) > k) {
    const Tensor part = gu - matmul(u, matmul(u.mT(), gu));
    result = result + matmul(part / s.unsqueeze(-2), vh);
  }
  if (gvh.defined() && vh.size(-1) > k) {
    const Tensor part = gvh - matmul(matmul(gvh, vh.mT()), vh);
    result = result + matmul(u, part / s.unsqueeze(-1));
  }
  return result;
}

}  // namespace

TANDEM_OP(kLinalgSvd) = {
    .name = "linalg_svd",
    .infer = infer_svd,
    .kernel =
        [](const KernelArgs& a) {
          check_converged(a.op.name, kernels::svd(a.in(), a.out(0), a.out(1), a.out(2)),
                          a.in().ndim - 2);
        },
    .saves = Saves::all(Saves::out(0) | Saves::out(1) | Saves::out(2)),
    .vjp = [](const VjpArgs& a) -> Grads { return {svd_grad(a)}; },
    .outputs = 3,
    .checks_values = true,
    .attrs = attrs_of<FactorAttrs>,
    .batch = batch_leading,
    .inputs = 1,
};

TANDEM_OP(kLinalgSvdvals) = {
    .name = "linalg_svdvals",
    .infer =
        [](const InferArgs& a) {
          const TensorType& t = a.in();
          check_matrix(a.op.name, t);
          a.out().sizes = with(batch_sizes(t.sizes), {std::min(rows_of(t), cols_of(t))});
          a.out().dtype = t.dtype;
        },
    .kernel =
        [](const KernelArgs& a) {
          check_converged(a.op.name, kernels::svd(a.in(), {}, a.out(), {}), a.in().ndim - 2);
        },
    .saves = Saves::all(Saves::in(0)),
    .vjp = [](const VjpArgs& a) -> Grads {
      const auto [u, s, vh] = linalg_svd(a.input(), false);
      return {matmul(u, scale_rows(a.grad(), vh))};
    },
    .checks_values = true,
    .batch = batch_leading,
    .inputs = 1,
};

std::tuple<Tensor, Tensor, Tensor> linalg_svd(const Tensor& a, bool full_matrices,
                                              std::optional<std::string_view> driver) {
  TANDEM_CHECK(!driver, "linalg.svd: keyword argument `driver=` is only supported on CUDA inputs");
  auto [u, s, vh] = apply_n<3>(kLinalgSvd, {a}, FactorAttrs{full_matrices});
  return {u, s, vh};
}
Tensor linalg_svdvals(const Tensor& a, std::optional<std::string_view> driver) {
  TANDEM_CHECK(!driver,
               "linalg.svdvals: keyword argument `driver=` is only supported on CUDA inputs");
  return apply(kLinalgSvdvals, {a});
}
std::tuple<Tensor, Tensor, Tensor> svd(const Tensor& a, bool some, bool compute_uv) {
  if (!compute_uv) {
    const Tensor s = linalg_svdvals(a);
    const Dims batch = batch_sizes(a.sizes());
    return {zeros(with(batch, {a.size(-2), a.size(-2)}), a.options()), s,
            zeros(with(batch, {a.size(-1), a.size(-1)}), a.options())};
  }
  const auto [u, s, vh] = linalg_svd(a, !some);
  return {u, s, vh.mT()};
}

// -- eigenvalues ---------------------------------------------------------------------------------

TANDEM_OP(kLinalgEigh) = {
    .name = "linalg_eigh",
    .infer =
        [](const InferArgs& a) {
          check_square(a.op.name, a.in());
          a.out(0).sizes = batch_sizes(a.in().sizes, 1);
          a.out(1).sizes = a.in().sizes;
          a.out(0).dtype = a.out(1).dtype = a.in().dtype;
        },
    .kernel =
        [](const KernelArgs& a) {
          check_converged(a.op.name,
                          kernels::eigh(a.in(), a.out(0), a.out(1), a.attrs<EighAttrs>().upper),
                          a.in().ndim - 2);
        },
    .saves = Saves::all(Saves::out(0) | Saves::out(1)),
    // V (diag(gW) + (V^T gV) / E off the diagonal) V^T with E_ij = W_j - W_i.
    .vjp = [](const VjpArgs& a) -> Grads {
      const Tensor v = a.output(1);
      Tensor inner;
      if (a.has_grad(1)) {
        const Tensor p = matmul(v.mT(), a.grad(1)) / differences(a.output(0));
        inner = tril(p, -1) + triu(p, 1);
      }
      if (a.has_grad(0)) {
        const Tensor d = diag_embed(a.grad(0));
        inner = inner.defined() ? inner + d : d;
      }
      return {matmul(v, matmul(inner, v.mT()))};
    },
    .outputs = 2,
    .checks_values = true,
    .attrs = attrs_of<EighAttrs>,
    .batch = batch_leading,
    .inputs = 1,
};

TANDEM_OP(kLinalgEigvalsh) = {
    .name = "linalg_eigvalsh",
    .infer =
        [](const InferArgs& a) {
          check_square(a.op.name, a.in());
          a.out().sizes = batch_sizes(a.in().sizes, 1);
          a.out().dtype = a.in().dtype;
        },
    .kernel =
        [](const KernelArgs& a) {
          check_converged(a.op.name, kernels::eigh(a.in(), a.out(), {}, a.attrs<EighAttrs>().upper),
                          a.in().ndim - 2);
        },
    .saves = Saves::all(Saves::in(0)),
    .vjp = [](const VjpArgs& a) -> Grads {
      const auto [w, v] = linalg_eigh(a.input(), a.attrs<EighAttrs>().upper ? "U" : "L");
      return {matmul(v, scale_rows(a.grad(), v.mT()))};
    },
    .checks_values = true,
    .attrs = attrs_of<EighAttrs>,
    .batch = batch_leading,
    .inputs = 1,
};

namespace {
bool is_upper(const char* op, std::string_view uplo) {
  TANDEM_CHECK(uplo == "U" || uplo == "u" || uplo == "L" || uplo == "l", op,
               ": Expected UPLO argument to be 'L' or 'U', but got ", uplo);
  return uplo == "U" || uplo == "u";
}
}  // namespace

std::tuple<Tensor, Tensor> linalg_eigh(const Tensor& a, std::string_view uplo) {
  auto [w, v] = apply_n<2>(kLinalgEigh, {a}, EighAttrs{is_upper("linalg.eigh", uplo)});
  return {w, v};
}
Tensor linalg_eigvalsh(const Tensor& a, std::string_view uplo) {
  return apply(kLinalgEigvalsh, {a}, EighAttrs{is_upper("linalg.eigvalsh", uplo), false});
}
std::tuple<Tensor, Tensor> symeig(const Tensor& a, bool eigenvectors, bool upper) {
  if (eigenvectors) return linalg_eigh(a, upper ? "U" : "L");
  return {linalg_eigvalsh(a, upper ? "U" : "L"), empty({0}, a.options())};
}

// -- methods -----------------------------------------------------------------------------------

std::tuple<Tensor, Tensor> Tensor::qr(bool some) const { return tandem::qr(*this, some); }
std::tuple<Tensor, Tensor, Tensor> Tensor::svd(bool some, bool compute_uv) const {
  return tandem::svd(*this, some, compute_uv);
}
std::tuple<Tensor, Tensor> Tensor::symeig(bool eigenvectors, bool upper) const {
  return tandem::symeig(*this, eigenvectors, upper);
}

}  // namespace tandem
