// Norms of matrices and condition numbers.
#include <cmath>
#include <limits>

#include "tandem/ops/binary.h"
#include "tandem/ops/linalg.h"
#include "tandem/ops/linalg_detail.h"
#include "tandem/ops/reduction.h"
#include "tandem/ops/unary.h"
#include "tandem/ops/view.h"

namespace tandem {
namespace {

using namespace linalg_detail;

/// The two dimensions that hold the matrix, counted from the front.
std::pair<int64_t, int64_t> matrix_dims(const Tensor& a, IntArrayRef dim) {
  TANDEM_CHECK_SHAPE(a.dim() >= 2,
                     "linalg.matrix_norm: The input tensor A must have at least 2 dimensions, got "
                     "shape ",
                     a.sizes());
  TANDEM_CHECK(dim.size() == 2, "linalg.matrix_norm: dim must be a 2-tuple. Got ", dim);
  const int64_t rows = wrap_dim("linalg.matrix_norm", dim[0], a.dim());
  const int64_t cols = wrap_dim("linalg.matrix_norm", dim[1], a.dim());
  TANDEM_CHECK(rows != cols, "linalg.matrix_norm: dims must be different. Got (", dim[0], ", ",
               dim[1], ")");
  return {rows, cols};
}

/// Sum of the singular values, the largest, or the smallest.
Tensor from_singular_values(const Tensor& a, int64_t rows, int64_t cols, bool keepdim,
                            Tensor (*f)(const Tensor&)) {
  Tensor r = f(linalg_svdvals(a.movedim({rows, cols}, {-2, -1})));
  if (!keepdim) return r;
  const int64_t low = std::min(rows, cols), high = std::max(rows, cols);
  return r.unsqueeze(low).unsqueeze(high);
}

Tensor with_dtype(const Tensor& a, std::optional<DType> dtype) {
  TANDEM_CHECK_TYPE(is_floating(dtype.value_or(a.dtype())),
                    "linalg.norm: Expected a floating point tensor as input. Got ",
                    dtype.value_or(a.dtype()));
  return dtype ? a.to(*dtype) : a;
}

}  // namespace

Tensor linalg_matrix_norm(const Tensor& input, const Scalar& ord, IntArrayRef dim, bool keepdim,
                          std::optional<DType> dtype) {
  const auto [rows, cols] = matrix_dims(input, dim);
  const Tensor a = with_dtype(input, dtype);
  const double p = ord.toDouble();
  const bool greatest = p > 0;
  if (std::abs(p) == 2)
    return from_singular_values(
        a, rows, cols, keepdim,
        greatest ? +[](const Tensor& s) { return amax(s, {-1}); }
                 : +[](const Tensor& s) { return amin(s, {-1}); });
  TANDEM_CHECK(std::abs(p) == 1 || std::isinf(p), "linalg.matrix_norm: Order ", p,
               " not supported.");
  // Sums down the columns for 1, along the rows for infinity.
  const int64_t summed = std::abs(p) == 1 ? rows : cols, other = std::abs(p) == 1 ? cols : rows;
  const Tensor sums = sum(abs(a), {summed}, true);
  Tensor r = greatest ? amax(sums, {other}, true) : amin(sums, {other}, true);
  if (keepdim) return r;
  return r.squeeze(std::max(rows, cols)).squeeze(std::min(rows, cols));
}

Tensor linalg_matrix_norm(const Tensor& input, std::string_view ord, IntArrayRef dim, bool keepdim,
                          std::optional<DType> dtype) {
  TANDEM_CHECK(ord == "fro" || ord == "nuc", "linalg.matrix_norm: Order ", ord, " not supported.");
  const auto [rows, cols] = matrix_dims(input, dim);
  const Tensor a = with_dtype(input, dtype);
  if (ord == "fro") return linalg_vector_norm(a, 2, IntArrayRef{rows, cols}, keepdim);
  return from_singular_values(a, rows, cols, keepdim, [](const Tensor& s) { return sum(s, {-1}); });
}

Tensor linalg_norm(const Tensor& a, const std::optional<Scalar>& ord, OptionalIntArrayRef dim,
                   bool keepdim, std::optional<DType> dtype) {
  TANDEM_CHECK(!dim || dim->size() == 1 || dim->size() == 2,
               "linalg.norm: If dim is specified, it must be of length 1 or 2. Got ", *dim);
  if (!ord) return linalg_vector_norm(a, 2, dim, keepdim, dtype);
  TANDEM_CHECK(dim || a.dim() == 1 || a.dim() == 2,
               "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got ",
               a.dim(), "D.");
  const bool matrix = dim ? dim->size() == 2 : a.dim() == 2;
  if (!matrix) return linalg_vector_norm(a, *ord, dim, keepdim, dtype);
  return linalg_matrix_norm(a, *ord, dim ? *dim : IntArrayRef{0, 1}, keepdim, dtype);
}

Tensor linalg_norm(const Tensor& a, std::string_view ord, OptionalIntArrayRef dim, bool keepdim,
                   std::optional<DType> dtype) {
  TANDEM_CHECK(dim || a.dim() == 2, "linalg.norm: The input tensor must be 2D when ord is '", ord,
               "' and no dim is given. Got ", a.dim(), "D.");
  return linalg_matrix_norm(a, ord, dim ? *dim : IntArrayRef{0, 1}, keepdim, dtype);
}

Tensor nuclear_norm(const Tensor& a, bool keepdim) {
  TANDEM_CHECK_SHAPE(a.dim() == 2,
                     "nuclear_norm: Expected a tensor with 2 dimensions, but got a "
                     "tensor with ",
                     a.dim(), " dimensions instead.");
  return linalg_matrix_norm(a, "nuc", {0, 1}, keepdim);
}
Tensor nuclear_norm(const Tensor& a, IntArrayRef dim, bool keepdim) {
  return linalg_matrix_norm(a, "nuc", dim, keepdim);
}

Tensor linalg_cond(const Tensor& a, const std::optional<Scalar>& p) {
  check_matrix("linalg_cond", a.type_of());
  const double ord = p ? p->toDouble() : 2;
  if (std::abs(ord) == 2) {
    const Tensor s = linalg_svdvals(a);
    TANDEM_CHECK_SHAPE(s.size(-1) > 0, "linalg.cond: the matrices of shape ", a.sizes(),
                       " are empty");
    const Tensor first = s.select(-1, 0), last = s.select(-1, -1);
    return ord > 0 ? first / last : last / first;
  }
  check_square("linalg_cond", a.type_of());
  const auto [inv, info] = linalg_inv_ex(a);
  return linalg_matrix_norm(a, *p) * linalg_matrix_norm(inv, *p);
}
Tensor linalg_cond(const Tensor& a, std::string_view p) {
  check_square("linalg_cond", a.type_of());
  const auto [inv, info] = linalg_inv_ex(a);
  return linalg_matrix_norm(a, p) * linalg_matrix_norm(inv, p);
}

}  // namespace tandem
