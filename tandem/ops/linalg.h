#pragma once

#include <string_view>

#include "tandem/core/tensor.h"

// Linear algebra on LAPACK. All take batches: the last two dimensions are the matrix. float32 and
// float64.
namespace tandem {

// -- systems and determinants (linalg_solve.cpp) ------------------------------------------------
Tensor inverse(const Tensor& a);
Tensor linalg_inv(const Tensor& a);
/// The inverse and LAPACK's code for each matrix, 0 where it exists.
std::tuple<Tensor, Tensor> linalg_inv_ex(const Tensor& a, bool check_errors = false);
/// x with a x = b (left) or x a = b. b is a vector for each matrix, or a matrix.
Tensor linalg_solve(const Tensor& a, const Tensor& b, bool left = true);
std::tuple<Tensor, Tensor> linalg_solve_ex(const Tensor& a, const Tensor& b, bool left = true,
                                           bool check_errors = false);
Tensor det(const Tensor& a);
Tensor linalg_det(const Tensor& a);
/// nan for a negative determinant.
Tensor logdet(const Tensor& a);
/// Sign and log of the absolute value of the determinant.
std::tuple<Tensor, Tensor> slogdet(const Tensor& a);
std::tuple<Tensor, Tensor> linalg_slogdet(const Tensor& a);
/// det(a) times the inverse, which exists for singular matrices too.
Tensor adjugate(const Tensor& a);

// -- LU (linalg_lu.cpp) -------------------------------------------------------------------------
/// Both factors in one matrix, and the row swaps (from 1).
std::tuple<Tensor, Tensor> linalg_lu_factor(const Tensor& a, bool pivot = true);
/// P, L, U with a = P L U.
std::tuple<Tensor, Tensor, Tensor> linalg_lu(const Tensor& a, bool pivot = true);
std::tuple<Tensor, Tensor, Tensor> lu_unpack(const Tensor& lu, const Tensor& pivots,
                                             bool unpack_data = true, bool unpack_pivots = true);
Tensor linalg_lu_solve(const Tensor& lu, const Tensor& pivots, const Tensor& b, bool left = true,
                       bool adjoint = false);
Tensor lu_solve(const Tensor& b, const Tensor& lu, const Tensor& pivots);

// -- triangles (linalg_triangle.cpp) ------------------------------------------------------------
/// L with a = L L^T, or U with a = U^T U.
Tensor cholesky(const Tensor& a, bool upper = false);
Tensor linalg_cholesky(const Tensor& a, bool upper = false);
std::tuple<Tensor, Tensor> linalg_cholesky_ex(const Tensor& a, bool upper = false,
                                              bool check_errors = false);
/// x with (L L^T) x = b.
Tensor cholesky_solve(const Tensor& b, const Tensor& factor, bool upper = false);
Tensor cholesky_inverse(const Tensor& factor, bool upper = false);
Tensor linalg_solve_triangular(const Tensor& a, const Tensor& b, bool upper, bool left = true,
                               bool unitriangular = false);
/// x with op(a) x = b, and a copy of a.
std::tuple<Tensor, Tensor> triangular_solve(const Tensor& b, const Tensor& a, bool upper = true,
                                            bool transpose = false, bool unitriangular = false);

// -- orthogonal factors (linalg_spectral.cpp) -----------------------------------------------------
std::tuple<Tensor, Tensor> qr(const Tensor& a, bool some = true);
/// mode: "reduced", "complete", or "r", whose first result is empty.
std::tuple<Tensor, Tensor> linalg_qr(const Tensor& a, std::string_view mode = "reduced");
/// U, S, V with a = U diag(S) V^T. Without vectors U and V are zeros.
std::tuple<Tensor, Tensor, Tensor> svd(const Tensor& a, bool some = true, bool compute_uv = true);
/// U, S, V^T.
std::tuple<Tensor, Tensor, Tensor> linalg_svd(
    const Tensor& a, bool full_matrices = true,
    std::optional<std::string_view> driver = std::nullopt);
Tensor linalg_svdvals(const Tensor& a, std::optional<std::string_view> driver = std::nullopt);
/// Eigenvalues, ascending, and eigenvectors of a symmetric matrix; only the triangle UPLO is read.
std::tuple<Tensor, Tensor> linalg_eigh(const Tensor& a, std::string_view uplo = "L");
Tensor linalg_eigvalsh(const Tensor& a, std::string_view uplo = "L");
std::tuple<Tensor, Tensor> symeig(const Tensor& a, bool eigenvectors = false, bool upper = true);
/// The pseudo-inverse. Singular values below max(atol, rtol * the largest) count as zero.
Tensor linalg_pinv(const Tensor& a, std::optional<double> atol, std::optional<double> rtol,
                   bool hermitian = false);
Tensor linalg_pinv(const Tensor& a, double rcond, bool hermitian = false);
Tensor linalg_pinv(const Tensor& a);
Tensor pinverse(const Tensor& a, double rcond = 1e-15);
/// Solution, residuals, rank and singular values of the least-squares problem.
std::tuple<Tensor, Tensor, Tensor, Tensor> linalg_lstsq(
    const Tensor& a, const Tensor& b, std::optional<double> rcond = std::nullopt,
    std::optional<std::string_view> driver = std::nullopt);
Tensor linalg_matrix_rank(const Tensor& a, std::optional<double> atol, std::optional<double> rtol,
                          bool hermitian = false);
Tensor linalg_matrix_rank(const Tensor& a, double tol, bool hermitian = false);
Tensor linalg_matrix_rank(const Tensor& a);
Tensor matrix_rank(const Tensor& a, double tol, bool symmetric = false);
Tensor matrix_rank(const Tensor& a, bool symmetric = false);

// -- norms (linalg_norm.cpp)
// ------------------------------------------------------------------------
Tensor linalg_norm(const Tensor& a, const std::optional<Scalar>& ord = std::nullopt,
                   OptionalIntArrayRef dim = std::nullopt, bool keepdim = false,
                   std::optional<DType> dtype = std::nullopt);
/// ord: "fro" or "nuc".
Tensor linalg_norm(const Tensor& a, std::string_view ord, OptionalIntArrayRef dim = std::nullopt,
                   bool keepdim = false, std::optional<DType> dtype = std::nullopt);
Tensor linalg_matrix_norm(const Tensor& a, const Scalar& ord, IntArrayRef dim = {-2, -1},
                          bool keepdim = false, std::optional<DType> dtype = std::nullopt);
Tensor linalg_matrix_norm(const Tensor& a, std::string_view ord = "fro", IntArrayRef dim = {-2, -1},
                          bool keepdim = false, std::optional<DType> dtype = std::nullopt);
Tensor nuclear_norm(const Tensor& a, bool keepdim = false);
Tensor nuclear_norm(const Tensor& a, IntArrayRef dim, bool keepdim = false);
Tensor linalg_cond(const Tensor& a, const std::optional<Scalar>& p = std::nullopt);
Tensor linalg_cond(const Tensor& a, std::string_view p);

// -- functions of matrices (linalg_function.cpp)
// ------------------------------------------------------
Tensor matrix_exp(const Tensor& a);
Tensor linalg_matrix_exp(const Tensor& a);
Tensor matrix_power(const Tensor& a, int64_t n);
Tensor linalg_matrix_power(const Tensor& a, int64_t n);
/// The product of a chain of matrices in the order that costs least.
Tensor linalg_multi_dot(TensorList tensors);
Tensor chain_matmul(TensorList matrices);
Tensor linalg_matmul(const Tensor& a, const Tensor& b);
Tensor linalg_vecdot(const Tensor& x, const Tensor& y, int64_t dim = -1);
Tensor linalg_diagonal(const Tensor& a, int64_t offset = 0, int64_t dim1 = -2, int64_t dim2 = -1);
Tensor linalg_tensorinv(const Tensor& a, int64_t ind = 2);
Tensor linalg_tensorsolve(const Tensor& a, const Tensor& b,
                          OptionalIntArrayRef dims = std::nullopt);
Tensor trace(const Tensor& a);
Tensor kron(const Tensor& x, const Tensor& y);
/// Of vectors with three elements along `dim`: by default the first dimension of that extent.
Tensor cross(const Tensor& x, const Tensor& y, std::optional<int64_t> dim = std::nullopt);
Tensor linalg_cross(const Tensor& x, const Tensor& y, int64_t dim = -1);
/// Powers of x as columns: x^0, x^1, ...
Tensor linalg_vander(const Tensor& x, std::optional<int64_t> n = std::nullopt);

}  // namespace tandem

#include "tandem/ops/linalg_names.h"  // tandem::linalg::inv and so on
