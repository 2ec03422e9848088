#pragma once

#include <cstdint>

#include "tandem/core/shape.h"

/// Factorisations by LAPACK, batched over the leading dimensions. float32 and float64, any strides;
/// the arrays of one call have one dtype (pivots: int32) and do not overlap.
namespace tandem::kernels {

/// LAPACK's verdict on the first matrix of a batch that it had something to say about: code 0 is
/// success, the meaning of a positive code is said at each routine.
struct LapackInfo {
  int64_t code = 0;
  int64_t batch = 0;
};

/// a = P L U: `lu` holds both triangles, pivots[i] (from 1) is the row that row i was swapped with.
/// Any shape. code: that diagonal element of U (from 1) is exactly zero; the factors are still
/// right. `infos`, if it has data, receives every code (int32, one a matrix).
LapackInfo lu_factor(const Array& a, const Array& lu, const Array& pivots, const Array& infos = {});
/// Solves A x = b, or A^T x = b, from what lu_factor gave.
void lu_solve(const Array& lu, const Array& pivots, const Array& b, const Array& x, bool transpose);
/// x = a^-1 b. code: a is singular, that diagonal element of U is zero.
LapackInfo solve(const Array& a, const Array& b, const Array& x);
/// code: a is singular, that diagonal element of U is zero.
LapackInfo inverse(const Array& a, const Array& out, const Array& infos = {});
/// Sign and logarithm of the absolute value of the determinant; 0 and -inf for a singular matrix.
void sign_log_det(const Array& a, const Array& sign, const Array& log_abs);
void determinant(const Array& a, const Array& out);
/// The transposed matrix of cofactors: det(a) a^-1, also where a is singular.
LapackInfo adjugate(const Array& a, const Array& out);
/// The sum of a^k / k!, by scaling and squaring.
void matrix_exp(const Array& a, const Array& out);
/// The permutation matrix P of a = P L U for the swaps that lu_factor gave.
void permutation_matrix(const Array& pivots, const Array& out);
/// Lower (or upper) triangle with a = L L^T (U^T U); only that triangle of a is read. code: the
/// leading minor of that order is not positive.
LapackInfo cholesky(const Array& a, const Array& out, bool upper, const Array& infos = {});
/// x with op(a) x = b for a triangle a; the other half of a is not read. A zero on the diagonal
/// gives infinities.
void triangular_solve(const Array& a, const Array& b, const Array& x, bool upper, bool transpose,
                      bool unit);
/// a = q r. q is m x k or m x m, or has no data; r is k x n or m x n.
void qr(const Array& a, const Array& q, const Array& r);
/// a = u diag(s) vh; u and vh thin, full, or without data. code: no convergence.
LapackInfo svd(const Array& a, const Array& u, const Array& s, const Array& vh);
/// The pseudo-inverse: singular values up to max(atol, rtol * the largest) count as zero. With
/// `hermitian` only the lower triangle of a is read. code: no convergence.
LapackInfo pseudo_inverse(const Array& a, const Array& out, double atol, double rtol,
                          bool hermitian);
/// Eigenvalues, ascending, and eigenvectors (columns; none if `vectors` has no data) of a symmetric
/// matrix of which only one triangle is read. code: no convergence.
LapackInfo eigh(const Array& a, const Array& values, const Array& vectors, bool upper);
/// The x of least norm among those that bring a x closest to b. Singular values below rcond times
/// the largest count as zero. `rank` is int64, one a matrix. code: no convergence.
LapackInfo least_squares(const Array& a, const Array& b, const Array& x, const Array& s,
                         const Array& rank, double rcond);

}  // namespace tandem::kernels
