#pragma once

#include "tandem/ops/linalg.h"
#include "tandem/ops/reduction.h"

/// The functions of LibTorch's namespace torch::linalg.
namespace tandem::linalg {

inline Tensor inv(const Tensor& a) { return linalg_inv(a); }
inline std::tuple<Tensor, Tensor> inv_ex(const Tensor& a, bool check_errors = false) {
  return linalg_inv_ex(a, check_errors);
}
inline Tensor det(const Tensor& a) { return linalg_det(a); }
inline std::tuple<Tensor, Tensor> slogdet(const Tensor& a) { return linalg_slogdet(a); }
inline Tensor solve(const Tensor& a, const Tensor& b, bool left = true) {
  return linalg_solve(a, b, left);
}
inline std::tuple<Tensor, Tensor> solve_ex(const Tensor& a, const Tensor& b, bool left = true,
                                           bool check_errors = false) {
  return linalg_solve_ex(a, b, left, check_errors);
}
inline Tensor solve_triangular(const Tensor& a, const Tensor& b, bool upper, bool left = true,
                               bool unitriangular = false) {
  return linalg_solve_triangular(a, b, upper, left, unitriangular);
}
inline Tensor cholesky(const Tensor& a, bool upper = false) { return linalg_cholesky(a, upper); }
inline std::tuple<Tensor, Tensor> cholesky_ex(const Tensor& a, bool upper = false,
                                              bool check_errors = false) {
  return linalg_cholesky_ex(a, upper, check_errors);
}
inline std::tuple<Tensor, Tensor> lu_factor(const Tensor& a, bool pivot = true) {
  return linalg_lu_factor(a, pivot);
}
inline std::tuple<Tensor, Tensor, Tensor> lu(const Tensor& a, bool pivot = true) {
  return linalg_lu(a, pivot);
}
inline Tensor lu_solve(const Tensor& lu, const Tensor& pivots, const Tensor& b, bool left = true,
                       bool adjoint = false) {
  return linalg_lu_solve(lu, pivots, b, left, adjoint);
}
inline std::tuple<Tensor, Tensor> qr(const Tensor& a, std::string_view mode = "reduced") {
  return linalg_qr(a, mode);
}
inline std::tuple<Tensor, Tensor, Tensor> svd(
    const Tensor& a, bool full_matrices = true,
    std::optional<std::string_view> driver = std::nullopt) {
  return linalg_svd(a, full_matrices, driver);
}
inline Tensor svdvals(const Tensor& a, std::optional<std::string_view> driver = std::nullopt) {
  return linalg_svdvals(a, driver);
}
inline std::tuple<Tensor, Tensor> eigh(const Tensor& a, std::string_view uplo = "L") {
  return linalg_eigh(a, uplo);
}
inline Tensor eigvalsh(const Tensor& a, std::string_view uplo = "L") {
  return linalg_eigvalsh(a, uplo);
}
inline Tensor pinv(const Tensor& a, double rcond, bool hermitian = false) {
  return linalg_pinv(a, rcond, hermitian);
}
inline Tensor pinv(const Tensor& a) { return linalg_pinv(a); }
inline std::tuple<Tensor, Tensor, Tensor, Tensor> lstsq(
    const Tensor& a, const Tensor& b, std::optional<double> rcond = std::nullopt,
    std::optional<std::string_view> driver = std::nullopt) {
  return linalg_lstsq(a, b, rcond, driver);
}
inline Tensor matrix_rank(const Tensor& a, double tol, bool hermitian = false) {
  return linalg_matrix_rank(a, tol, hermitian);
}
inline Tensor matrix_rank(const Tensor& a) { return linalg_matrix_rank(a); }
inline Tensor norm(const Tensor& a, const std::optional<Scalar>& ord = std::nullopt,
                   OptionalIntArrayRef dim = std::nullopt, bool keepdim = false,
                   std::optional<DType> dtype = std::nullopt) {
  return linalg_norm(a, ord, dim, keepdim, dtype);
}
inline Tensor norm(const Tensor& a, std::string_view ord, OptionalIntArrayRef dim = std::nullopt,
                   bool keepdim = false, std::optional<DType> dtype = std::nullopt) {
  return linalg_norm(a, ord, dim, keepdim, dtype);
}
inline Tensor vector_norm(const Tensor& x, const Scalar& ord = 2,
                          OptionalIntArrayRef dim = std::nullopt, bool keepdim = false,
                          std::optional<DType> dtype = std::nullopt) {
  return linalg_vector_norm(x, ord, dim, keepdim, dtype);
}
inline Tensor matrix_norm(const Tensor& a, const Scalar& ord, IntArrayRef dim = {-2, -1},
                          bool keepdim = false, std::optional<DType> dtype = std::nullopt) {
  return linalg_matrix_norm(a, ord, dim, keepdim, dtype);
}
inline Tensor matrix_norm(const Tensor& a, std::string_view ord = "fro", IntArrayRef dim = {-2, -1},
                          bool keepdim = false, std::optional<DType> dtype = std::nullopt) {
  return linalg_matrix_norm(a, ord, dim, keepdim, dtype);
}
inline Tensor cond(const Tensor& a, const std::optional<Scalar>& p = std::nullopt) {
  return linalg_cond(a, p);
}
inline Tensor cond(const Tensor& a, std::string_view p) { return linalg_cond(a, p); }
inline Tensor matrix_exp(const Tensor& a) { return linalg_matrix_exp(a); }
inline Tensor matrix_power(const Tensor& a, int64_t n) { return linalg_matrix_power(a, n); }
inline Tensor multi_dot(TensorList tensors) { return linalg_multi_dot(tensors); }
inline Tensor matmul(const Tensor& a, const Tensor& b) { return linalg_matmul(a, b); }
inline Tensor vecdot(const Tensor& x, const Tensor& y, int64_t dim = -1) {
  return linalg_vecdot(x, y, dim);
}
inline Tensor cross(const Tensor& x, const Tensor& y, int64_t dim = -1) {
  return linalg_cross(x, y, dim);
}
inline Tensor diagonal(const Tensor& a, int64_t offset = 0, int64_t dim1 = -2, int64_t dim2 = -1) {
  return linalg_diagonal(a, offset, dim1, dim2);
}
inline Tensor tensorinv(const Tensor& a, int64_t ind = 2) { return linalg_tensorinv(a, ind); }
inline Tensor tensorsolve(const Tensor& a, const Tensor& b,
                          OptionalIntArrayRef dims = std::nullopt) {
  return linalg_tensorsolve(a, b, dims);
}
inline Tensor vander(const Tensor& x, std::optional<int64_t> n = std::nullopt) {
  return linalg_vander(x, n);
}

}  // namespace tandem::linalg
