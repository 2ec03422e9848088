// Factorisations of square systems: LU, Cholesky, triangles.
#include <cmath>
#include <limits>

#include "tandem/kernels/lapack_matrix.h"
#include "tandem/kernels/matmul.h"

namespace tandem::kernels {
namespace {

using namespace detail;

/// Factors in place; gives LAPACK's code.
template <class T>
Int factor(Columns<T>& a, std::vector<Int>& pivots) {
  const Int m = to_int(a.rows), n = to_int(a.cols), lda = a.ld();
  pivots.assign(std::max<Int>(1, std::min(m, n)), 0);
  if (m == 0 || n == 0) return 0;
  Int info = 0;
  fortran::getrf(&m, &n, a.data(), &lda, pivots.data(), &info);
  check_arguments("getrf", info);
  return info;
}

template <class T>
void solve_factored(Columns<T>& lu, const std::vector<Int>& pivots, Columns<T>& b, bool transpose) {
  const Int n = to_int(lu.rows), rhs = to_int(b.cols), ld = lu.ld(), ldb = b.ld();
  if (n == 0 || rhs == 0) return;
  Int info = 0;
  fortran::getrs(transpose ? "T" : "N", &n, &rhs, lu.data(), &ld, pivots.data(), b.data(), &ldb,
                 &info, 1);
  check_arguments("getrs", info);
}

template <class T>
Int invert_factored(Columns<T>& lu, const std::vector<Int>& pivots) {
  const Int n = to_int(lu.rows), ld = lu.ld();
  if (n == 0) return 0;
  T answer = 0;
  Int size = -1, info = 0;
  fortran::getri(&n, lu.data(), &ld, pivots.data(), &answer, &size, &info);
  std::vector<T> work = work_array(answer, &size);
  fortran::getri(&n, lu.data(), &ld, pivots.data(), work.data(), &size, &info);
  check_arguments("getri", info);
  return info;
}

/// Product of U's diagonal with the sign of the permutation, as sign and factors.
template <class T>
T permutation_sign(const std::vector<Int>& pivots, int64_t n) {
  T sign = 1;
  for (int64_t i = 0; i < n; ++i)
    if (pivots[i] != i + 1) sign = -sign;
  return sign;
}

}  // namespace

LapackInfo lu_factor(const Array& a, const Array& lu, const Array& pivots, const Array& infos) {
  LapackInfo result;
  for_float_type(a.dtype, [&]<class T>(T) {
    result = for_batch(batch_of(a, 2), rows_of(a), [&](int64_t b) -> int64_t {
      Columns<T> m = columns<T>(a, b);
      std::vector<Int> swaps;
      const Int code = factor(m, swaps);
      m.store(lu, b);
      store_vector<int32_t>(pivots, b, swaps);
      store_infos(infos, b, code);
      return code;
    });
  });
  return result;
}

void lu_solve(const Array& lu, const Array& pivots, const Array& b, const Array& x,
              bool transpose) {
  for_float_type(lu.dtype, [&]<class T>(T) {
    for_batch(batch_of(lu, 2), rows_of(lu), [&](int64_t i) -> int64_t {
      Columns<T> m = columns<T>(lu, i), rhs = columns<T>(b, i);
      const int32_t* p = entry<int32_t>(pivots, i, 1);
      std::vector<Int> swaps(m.rows);
      for (int64_t j = 0; j < m.rows; ++j) {
        swaps[j] = p[j * pivots.strides[pivots.ndim - 1]];
        TANDEM_CHECK(swaps[j] >= 1 && swaps[j] <= m.rows, "lu_solve: pivot ", swaps[j],
                     " is out of range for ", m.rows, " rows (pivots count from 1)");
      }
      solve_factored(m, swaps, rhs, transpose);
      rhs.store(x, i);
      return 0;
    });
  });
}

LapackInfo solve(const Array& a, const Array& b, const Array& x) {
  LapackInfo result;
  for_float_type(a.dtype, [&]<class T>(T) {
    result = for_batch(batch_of(a, 2), rows_of(a), [&](int64_t i) -> int64_t {
      Columns<T> m = columns<T>(a, i), rhs = columns<T>(b, i);
      std::vector<Int> pivots;
      const Int code = factor(m, pivots);
      if (code != 0) return code;
      solve_factored(m, pivots, rhs, false);
      rhs.store(x, i);
      return 0;
    });
  });
  return result;
}

LapackInfo inverse(const Array& a, const Array& out, const Array& infos) {
  LapackInfo result;
  for_float_type(a.dtype, [&]<class T>(T) {
    result = for_batch(batch_of(a, 2), rows_of(a), [&](int64_t b) -> int64_t {
      Columns<T> m = columns<T>(a, b);
      std::vector<Int> pivots;
      Int code = factor(m, pivots);
      if (code == 0) code = invert_factored(m, pivots);
      m.store(out, b);
      store_infos(infos, b, code);
      return code;
    });
  });
  return result;
}

void sign_log_det(const Array& a, const Array& sign, const Array& log_abs) {
  for_float_type(a.dtype, [&]<class T>(T) {
    for_batch(batch_of(a, 2), rows_of(a), [&](int64_t b) -> int64_t {
      Columns<T> m = columns<T>(a, b);
      std::vector<Int> pivots;
      factor(m, pivots);
      T s = permutation_sign<T>(pivots, m.rows), sum = 0;
      for (int64_t i = 0; i < m.rows; ++i) {
        const T d = m.at(i, i);
        if (d < 0) s = -s;
        if (d == 0) s = 0;
        if (std::isnan(d)) s = d;
        sum += std::log(std::abs(d));
      }
      *entry<T>(sign, b, 0) = s;
      *entry<T>(log_abs, b, 0) = s == 0 ? -std::numeric_limits<T>::infinity() : sum;
      return 0;
    });
  });
}

void determinant(const Array& a, const Array& out) {
  for_float_type(a.dtype, [&]<class T>(T) {
    for_batch(batch_of(a, 2), rows_of(a), [&](int64_t b) -> int64_t {
      Columns<T> m = columns<T>(a, b);
      std::vector<Int> pivots;
      factor(m, pivots);
      T det = permutation_sign<T>(pivots, m.rows);
      for (int64_t i = 0; i < m.rows; ++i) det *= m.at(i, i);
      *entry<T>(out, b, 0) = det;
      return 0;
    });
  });
}

void permutation_matrix(const Array& pivots, const Array& out) {
  const int64_t n = rows_of(out), k = pivots.sizes[pivots.ndim - 1];
  for_float_type(out.dtype, [&]<class T>(T) {
    for_batch(batch_of(out, 2), 1, [&](int64_t b) -> int64_t {
      const int32_t* p = entry<int32_t>(pivots, b, 1);
      std::vector<int64_t> order(n);
      for (int64_t i = 0; i < n; ++i) order[i] = i;
      for (int64_t i = 0; i < k; ++i) {
        const int64_t with = p[i * pivots.strides[pivots.ndim - 1]] - 1;
        TANDEM_CHECK(with >= 0 && with < n, "lu_unpack: pivot ", with + 1, " is out of range for ",
                     n, " rows (pivots count from 1)");
        std::swap(order[i], order[with]);
      }
      Columns<T> m(n, n);
      for (int64_t i = 0; i < n; ++i) m.at(order[i], i) = 1;
      m.store(out, b);
      return 0;
    });
  });
}

void matrix_exp(const Array& a, const Array& out) {
  // Scaled so that its norm is at most 1, the series of degree 18 is exact to rounding; squared
  // back.
  constexpr int kDegree = 18;
  for_float_type(a.dtype, [&]<class T>(T) {
    for_batch(batch_of(a, 2), rows_of(a), [&](int64_t b) -> int64_t {
      Columns<T> x = columns<T>(a, b);
      const int64_t n = x.rows;
      if (n == 0) return 0;
      T norm = 0;
      for (int64_t j = 0; j < n; ++j) {
        T sum = 0;
        for (int64_t i = 0; i < n; ++i) sum += std::abs(x.at(i, j));
        norm = std::max(norm, sum);
        if (std::isnan(sum)) norm = sum;
      }
      if (!std::isfinite(norm)) {
        std::fill(x.v.begin(), x.v.end(), std::numeric_limits<T>::quiet_NaN());
        x.store(out, b);
        return 0;
      }
      int squarings = 0;
      if (norm > 1) std::frexp(norm, &squarings);
      const T scale = std::ldexp(T(1), -squarings);
      for (T& e : x.v) e *= scale;
      Columns<T> sum(n, n), next(n, n);
      for (int64_t i = 0; i < n; ++i) sum.at(i, i) = 1;
      // Horner: I + x (I + x/2 (I + x/3 (...))). Columns and rows change places alike in all
      // factors.
      Gemm g{.dtype = dtype_of<T>(), .m = n, .n = n, .k = n, .lda = n, .ldb = n, .ldc = n};
      for (int degree = kDegree; degree >= 1; --degree) {
        g.a = sum.data();
        g.b = x.data();
        g.c = next.data();
        g.alpha = 1.0 / degree;
        gemm(g);
        std::swap(sum.v, next.v);
        for (int64_t i = 0; i < n; ++i) sum.at(i, i) += 1;
      }
      g.alpha = 1;
      for (int i = 0; i < squarings; ++i) {
        g.a = g.b = sum.data();
        g.c = next.data();
        gemm(g);
        std::swap(sum.v, next.v);
      }
      sum.store(out, b);
      return 0;
    });
  });
}

LapackInfo cholesky(const Array& a, const Array& out, bool upper, const Array& infos) {
  LapackInfo result;
  for_float_type(a.dtype, [&]<class T>(T) {
    result = for_batch(batch_of(a, 2), rows_of(a), [&](int64_t b) -> int64_t {
      Columns<T> m = columns<T>(a, b);
      const Int n = to_int(m.rows), ld = m.ld();
      Int code = 0;
      if (n > 0) fortran::potrf(upper ? "U" : "L", &n, m.data(), &ld, &code, 1);
      check_arguments("potrf", code);
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j)
          if (upper ? i > j : i < j) m.at(i, j) = 0;
      m.store(out, b);
      store_infos(infos, b, code);
      return code;
    });
  });
  return result;
}

void triangular_solve(const Array& a, const Array& b, const Array& x, bool upper, bool transpose,
                      bool unit) {
  for_float_type(a.dtype, [&]<class T>(T) {
    for_batch(batch_of(a, 2), rows_of(a), [&](int64_t i) -> int64_t {
      Columns<T> m = columns<T>(a, i), rhs = columns<T>(b, i);
      const Int n = to_int(rhs.rows), k = to_int(rhs.cols), ld = m.ld(), ldb = rhs.ld();
      const T one = 1;
      if (n > 0 && k > 0)
        fortran::trsm("L", upper ? "U" : "L", transpose ? "T" : "N", unit ? "U" : "N", &n, &k, &one,
                      m.data(), &ld, rhs.data(), &ldb, 1, 1, 1, 1);
      rhs.store(x, i);
      return 0;
    });
  });
}

}  // namespace tandem::kernels
