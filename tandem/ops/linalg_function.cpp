// Powers, exponentials and products of matrices.
#include <limits>
#include <vector>

#include "tandem/ops/batch_detail.h"
#include "tandem/ops/binary.h"
#include "tandem/ops/binary_more.h"
#include "tandem/ops/creation.h"
#include "tandem/ops/join.h"
#include "tandem/ops/linalg.h"
#include "tandem/ops/linalg_detail.h"
#include "tandem/ops/matmul.h"
#include "tandem/ops/reduction.h"
#include "tandem/ops/view.h"

namespace tandem {
namespace {

using namespace linalg_detail;

}  // namespace

TANDEM_OP(kMatrixExp) = {
    .name = "linalg_matrix_exp",
    .infer =
        [](const InferArgs& a) {
          check_square(a.op.name, a.in());
          a.out().sizes = a.in().sizes;
          a.out().dtype = a.in().dtype;
        },
    .kernel = [](const KernelArgs& a) { kernels::matrix_exp(a.in(), a.out()); },
    .saves = Saves::all(Saves::in(0)),
    // exp([A^T G; 0 A^T]) has the gradient in its upper right corner.
    .vjp = [](const VjpArgs& a) -> Grads {
      const Tensor at = a.input().mT();
      const int64_t n = at.size(-1);
      const Tensor top = cat({at, a.grad()}, -1), bottom = cat({zeros_like(at), at}, -1);
      return {matrix_exp(cat({top, bottom}, -2)).narrow(-2, 0, n).narrow(-1, n, n)};
    },
    .batch = batch_leading,
    .inputs = 1,
};

Tensor matrix_exp(const Tensor& a) { return apply(kMatrixExp, {a}); }
Tensor linalg_matrix_exp(const Tensor& a) { return matrix_exp(a); }

Tensor linalg_matrix_power(const Tensor& a, int64_t n) {
  TANDEM_CHECK_SHAPE(a.dim() >= 2,
                     "linalg.matrix_power: The input tensor A must have at least 2 "
                     "dimensions, got shape ",
                     a.sizes());
  TANDEM_CHECK_SHAPE(a.size(-1) == a.size(-2),
                     "linalg.matrix_power: A must be batches of square matrices, but they are ",
                     a.size(-2), " by ", a.size(-1), " matrices");
  if (n == 0) return identity_like(a).clone() + a * 0;  // depends on a, with a gradient of zero
  Tensor base = n < 0 ? linalg_inv(a) : a, result;
  for (uint64_t left = n < 0 ? -static_cast<uint64_t>(n) : n; left > 0; left >>= 1) {
    if (left & 1) result = result.defined() ? matmul(result, base) : base;
    if (left > 1) base = matmul(base, base);
  }
  return n == 1 ? result.clone() : result;
}
Tensor matrix_power(const Tensor& a, int64_t n) { return linalg_matrix_power(a, n); }

// -- chains --------------------------------------------------------------------------------------

namespace {

/// The cheapest order of a chain of matrices by the classic dynamic program.
struct Chain {
  TensorList matrices;
  std::vector<std::vector<size_t>> split;

  Tensor product(size_t from, size_t to) const {
    if (from == to) return matrices[from];
    const size_t at = split[from][to];
    return mm(product(from, at), product(at + 1, to));
  }
};

Tensor chain_product(TensorList matrices) {
  const size_t n = matrices.size();
  if (n == 1) return matrices[0];
  Chain chain{matrices, std::vector(n, std::vector<size_t>(n, 0))};
  std::vector cost(n, std::vector<double>(n, 0));
  std::vector<double> extent = {static_cast<double>(matrices[0].size(0))};
  for (const Tensor& m : matrices) extent.push_back(static_cast<double>(m.size(1)));
  for (size_t length = 1; length < n; ++length)
    for (size_t i = 0; i + length < n; ++i) {
      const size_t j = i + length;
      cost[i][j] = std::numeric_limits<double>::infinity();
      for (size_t k = i; k < j; ++k) {
        const double c = cost[i][k] + cost[k + 1][j] + extent[i] * extent[k + 1] * extent[j + 1];
        if (c < cost[i][j]) {
          cost[i][j] = c;
          chain.split[i][j] = k;
        }
      }
    }
  return chain.product(0, n - 1);
}

}  // namespace

Tensor linalg_multi_dot(TensorList tensors) {
  const size_t n = tensors.size();
  TANDEM_CHECK(n >= 2, "linalg.multi_dot: expected at least 2 tensors but got ", n);
  std::vector<Tensor> all(tensors.begin(), tensors.end());
  const bool row = all[0].dim() == 1, column = all[n - 1].dim() == 1;
  if (row) all[0] = all[0].unsqueeze(0);
  if (column) all[n - 1] = all[n - 1].unsqueeze(-1);
  for (size_t i = 0; i < n; ++i) {
    TANDEM_CHECK_SHAPE(all[i].dim() == 2, "linalg.multi_dot: tensor ", i,
                       " must be 2D (the first and last may be 1D) but got ", tensors[i].dim(),
                       "D");
    TANDEM_CHECK_SHAPE(i == 0 || all[i - 1].size(1) == all[i].size(0), "linalg.multi_dot: tensors ",
                       i - 1, " and ", i, " with shapes ", tensors[i - 1].sizes(), " and ",
                       tensors[i].sizes(), " cannot be multiplied");
    TANDEM_CHECK_TYPE(all[i].dtype() == all[0].dtype(),
                      "linalg.multi_dot: all tensors must have be the same dtype but tensor 0 is ",
                      all[0].dtype(), " and tensor ", i, " is ", all[i].dtype());
  }
  Tensor r = chain_product(all);
  if (row) r = r.squeeze(0);
  if (column) r = r.squeeze(-1);
  return r;
}

Tensor chain_matmul(TensorList matrices) {
  TANDEM_CHECK(!matrices.empty(), "chain_matmul: expected at least one matrix");
  for (size_t i = 0; i < matrices.size(); ++i)
    TANDEM_CHECK_SHAPE(matrices[i].dim() == 2, "chain_matmul: Tensor ", i,
                       " must be 2-D, got shape ", matrices[i].sizes());
  return matrices.size() == 1 ? matrices[0] : linalg_multi_dot(matrices);
}

Tensor linalg_matmul(const Tensor& a, const Tensor& b) { return matmul(a, b); }

Tensor linalg_vecdot(const Tensor& x, const Tensor& y, int64_t dim) { return sum(x * y, {dim}); }

Tensor linalg_diagonal(const Tensor& a, int64_t offset, int64_t dim1, int64_t dim2) {
  return a.diagonal(offset, dim1, dim2);
}

Tensor trace(const Tensor& a) {
  TANDEM_CHECK_SHAPE(a.dim() == 2, "trace: expected a matrix, but got tensor with ", a.dim(),
                     " dims");
  return sum(a.diagonal());
}

// -- tensors as matrices
// ---------------------------------------------------------------------------

Tensor linalg_tensorinv(const Tensor& a, int64_t ind) {
  TANDEM_CHECK(ind > 0 && ind <= a.dim(),
               "linalg.tensorinv: Expected a strictly positive integer for 'ind', but got ", ind);
  const IntArrayRef sizes = a.sizes();
  const int64_t rows = numel_of(sizes.slice(0, ind)), cols = numel_of(sizes.slice(ind));
  TANDEM_CHECK_SHAPE(rows == cols,
                     "linalg.tensorinv: Expected self to satisfy the requirement "
                     "prod(self.shape[ind:]) == prod(self.shape[:ind]), but got ",
                     cols, " != ", rows);
  Dims out(sizes.slice(ind));
  out.append(sizes.begin(), sizes.begin() + ind);
  return linalg_inv(a.reshape({rows, cols})).reshape(out);
}

Tensor linalg_tensorsolve(const Tensor& a, const Tensor& b, OptionalIntArrayRef dims) {
  Tensor m = a;
  if (dims)
    for (int64_t d : *dims) m = m.movedim(d, -1);
  const int64_t n = b.numel();
  TANDEM_CHECK_SHAPE(m.numel() == n * n,
                     "linalg.tensorsolve: Expected self to satisfy the requirement "
                     "prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), but got "
                     "shapes ",
                     a.sizes(), " and ", b.sizes());
  const Dims out(m.sizes().slice(b.dim()));
  return linalg_solve(m.reshape({n, n}), b.reshape({n})).reshape(out);
}

Tensor kron(const Tensor& x, const Tensor& y) {
  const int64_t d = std::max(x.dim(), y.dim());
  Dims a, b, out;  // x as [x0, 1, x1, 1, ...], y as [1, y0, 1, y1, ...]
  for (int64_t i = 0; i < d; ++i) {
    const int64_t xi = i - (d - x.dim()), yi = i - (d - y.dim());
    const int64_t xs = xi < 0 ? 1 : x.size(xi), ys = yi < 0 ? 1 : y.size(yi);
    a.push_back(xs);
    a.push_back(1);
    b.push_back(1);
    b.push_back(ys);
    out.push_back(xs * ys);
  }
  return (x.reshape(a) * y.reshape(b)).reshape(out);
}

Tensor linalg_cross(const Tensor& x, const Tensor& y, int64_t dim) {
  TANDEM_CHECK_SHAPE(x.dim() == y.dim(),
                     "linalg.cross: inputs must have the same number of dimensions, got shapes ",
                     x.sizes(), " and ", y.sizes());
  const int64_t d = wrap_dim("linalg.cross", dim, x.dim());
  TANDEM_CHECK_SHAPE(x.size(d) == 3 && y.size(d) == 3, "linalg.cross: inputs dimension ", dim,
                     " must have length 3. Got ", x.size(d), " and ", y.size(d));
  const Dims shape = broadcast_shapes("linalg.cross", x.sizes(), y.sizes());
  const Tensor a = x.expand(shape), b = y.expand(shape);
  const auto part = [&](int64_t i, int64_t j) {
    return a.select(d, i) * b.select(d, j) - a.select(d, j) * b.select(d, i);
  };
  return stack({part(1, 2), part(2, 0), part(0, 1)}, d);
}

Tensor cross(const Tensor& x, const Tensor& y, std::optional<int64_t> dim) {
  if (dim) return linalg_cross(x, y, *dim);
  for (int64_t d = 0; d < x.dim(); ++d)
    if (x.size(d) == 3) return linalg_cross(x, y, d);
  TANDEM_CHECK_SHAPE(false, "cross: no dimension of size 3 in input of shape ", x.sizes());
  return {};
}

Tensor linalg_vander(const Tensor& x, std::optional<int64_t> n) {
  TANDEM_CHECK_SHAPE(x.dim() > 0, "linalg.vander: Expected dim of x to be at least 1, got 0");
  const int64_t count = n.value_or(x.size(-1));
  TANDEM_CHECK(count > 1, "linalg.vander: N must be greater than 1.");
  std::vector<Tensor> columns = {ones_like(x)};
  for (int64_t i = 1; i < count; ++i) columns.push_back(columns.back() * x);
  return stack(columns, -1);
}

Tensor Tensor::matrix_exp() const { return tandem::matrix_exp(*this); }
Tensor Tensor::matrix_power(int64_t n) const { return tandem::matrix_power(*this, n); }
Tensor Tensor::trace() const { return tandem::trace(*this); }
Tensor Tensor::kron(const Tensor& o) const { return tandem::kron(*this, o); }
Tensor Tensor::cross(const Tensor& o, std::optional<int64_t> dim) const {
  return tandem::cross(*this, o, dim);
}

}  // namespace tandem
