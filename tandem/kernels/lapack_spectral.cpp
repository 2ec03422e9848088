// Orthogonal factorisations: QR, singular values, eigenvalues, least squares.
#include <cmath>

#include "tandem/kernels/lapack_matrix.h"

namespace tandem::kernels {
namespace {

using namespace detail;

template <class T>
void set_identity(Columns<T>& m) {
  for (int64_t i = 0; i < m.rows; ++i)
    for (int64_t j = 0; j < m.cols; ++j) m.at(i, j) = i == j ? T(1) : T(0);
}

/// LAPACK's iterations need not end on a NaN.
template <class T>
void check_finite(const char* op, const Columns<T>& m) {
  for (T x : m.v) TANDEM_CHECK(std::isfinite(x), op, ": the input contains infinity or NaN");
}

/// u (m x m or m x k), s, vh (n x n or k x n) of a, which is overwritten. Without vectors: both
/// empty.
template <class T>
Int decompose(Columns<T>& a, Columns<T>& u, std::vector<T>& s, Columns<T>& vh, bool vectors) {
  const Int m = to_int(a.rows), n = to_int(a.cols), k = std::min(m, n), lda = a.ld();
  s.assign(std::max<Int>(1, k), T(0));
  if (k == 0) {
    set_identity(u);
    set_identity(vh);
    return 0;
  }
  const bool full = vectors && (u.cols > k || vh.rows > k);
  const char* job = !vectors ? "N" : full ? "A" : "S";
  const Int ldu = u.ld(), ldvh = vh.ld();
  std::vector<Int> iwork(8 * k);
  T answer = 0;
  Int size = -1, info = 0;
  fortran::gesdd(job, &m, &n, a.data(), &lda, s.data(), u.data(), &ldu, vh.data(), &ldvh, &answer,
                 &size, iwork.data(), &info, 1);
  std::vector<T> work = work_array(answer, &size);
  fortran::gesdd(job, &m, &n, a.data(), &lda, s.data(), u.data(), &ldu, vh.data(), &ldvh,
                 work.data(), &size, iwork.data(), &info, 1);
  check_arguments("gesdd", info);
  return info;
}

}  // namespace

void qr(const Array& a, const Array& q, const Array& r) {
  for_float_type(a.dtype, [&]<class T>(T) {
    for_batch(batch_of(a, 2), rows_of(a), [&](int64_t b) -> int64_t {
      const int64_t m = rows_of(a), n = cols_of(a), k = std::min(m, n);
      const int64_t q_cols = q.data != nullptr ? cols_of(q) : 0;
      Columns<T> work_matrix(m, std::max(n, q_cols));
      work_matrix.load(a, b);
      const Int mi = to_int(m), ni = to_int(n), ld = work_matrix.ld();
      std::vector<T> tau(std::max<int64_t>(1, k));
      T answer = 0;
      Int size = -1, info = 0;
      if (k > 0) {
        fortran::geqrf(&mi, &ni, work_matrix.data(), &ld, tau.data(), &answer, &size, &info);
        std::vector<T> work = work_array(answer, &size);
        fortran::geqrf(&mi, &ni, work_matrix.data(), &ld, tau.data(), work.data(), &size, &info);
        check_arguments("geqrf", info);
      }
      Columns<T> upper(rows_of(r), n);
      for (int64_t i = 0; i < upper.rows; ++i)
        for (int64_t j = i; j < n; ++j) upper.at(i, j) = work_matrix.at(i, j);
      upper.store(r, b);
      if (q.data == nullptr || q_cols == 0) return 0;
      if (k == 0) {
        set_identity(work_matrix);
      } else {
        const Int qc = to_int(q_cols), ki = to_int(k);
        size = -1;
        fortran::orgqr(&mi, &qc, &ki, work_matrix.data(), &ld, tau.data(), &answer, &size, &info);
        std::vector<T> work = work_array(answer, &size);
        fortran::orgqr(&mi, &qc, &ki, work_matrix.data(), &ld, tau.data(), work.data(), &size,
                       &info);
        check_arguments("orgqr", info);
      }
      work_matrix.store(q, b);
      return 0;
    });
  });
}

LapackInfo svd(const Array& a, const Array& u, const Array& s, const Array& vh) {
  LapackInfo result;
  const bool vectors = u.data != nullptr || vh.data != nullptr;
  for_float_type(a.dtype, [&]<class T>(T) {
    result = for_batch(batch_of(a, 2), std::max(rows_of(a), cols_of(a)), [&](int64_t b) -> int64_t {
      Columns<T> m = columns<T>(a, b);
      check_finite("linalg.svd", m);
      Columns<T> left(m.rows, vectors ? cols_of(u) : 0);
      Columns<T> right(vectors ? rows_of(vh) : 0, m.cols);
      std::vector<T> values;
      const Int code = decompose(m, left, values, right, vectors);
      store_vector<T>(s, b, values);
      if (vectors) {
        left.store(u, b);
        right.store(vh, b);
      }
      return code;
    });
  });
  return result;
}

LapackInfo eigh(const Array& a, const Array& values, const Array& vectors, bool upper) {
  LapackInfo result;
  for_float_type(a.dtype, [&]<class T>(T) {
    result = for_batch(batch_of(a, 2), rows_of(a), [&](int64_t b) -> int64_t {
      Columns<T> m = columns<T>(a, b);
      check_finite("linalg.eigh", m);
      const Int n = to_int(m.rows), ld = m.ld();
      if (n == 0) return 0;
      std::vector<T> w(n);
      const char *job = vectors.data != nullptr ? "V" : "N", *uplo = upper ? "U" : "L";
      T answer = 0;
      Int size = -1, int_answer = 0, int_size = -1, info = 0;
      fortran::syevd(job, uplo, &n, m.data(), &ld, w.data(), &answer, &size, &int_answer, &int_size,
                     &info, 1, 1);
      std::vector<T> work = work_array(answer, &size);
      int_size = std::max<Int>(1, int_answer);
      std::vector<Int> int_work(int_size);
      fortran::syevd(job, uplo, &n, m.data(), &ld, w.data(), work.data(), &size, int_work.data(),
                     &int_size, &info, 1, 1);
      check_arguments("syevd", info);
      store_vector<T>(values, b, w);
      if (vectors.data != nullptr) m.store(vectors, b);
      return info;
    });
  });
  return result;
}

LapackInfo adjugate(const Array& a, const Array& out) {
  LapackInfo result;
  for_float_type(a.dtype, [&]<class T>(T) {
    result = for_batch(batch_of(a, 2), rows_of(a), [&](int64_t b) -> int64_t {
      Columns<T> m = columns<T>(a, b);
      const int64_t n = m.rows;
      for (T x : m.v)
        if (!std::isfinite(x)) {
          std::fill(m.v.begin(), m.v.end(), std::numeric_limits<T>::quiet_NaN());
          m.store(out, b);
          return 0;
        }
      // adj(U S V^T) = det(U) det(V) V adj(S) U^T, and adj of a diagonal needs no division.
      Columns<T> u(n, n), vh(n, n);
      std::vector<T> s;
      const Int code = decompose(m, u, s, vh, true);
      if (code != 0) return code;
      T sign = 1;
      for (Columns<T> side : {u, vh}) {
        std::vector<Int> pivots(std::max<int64_t>(1, n));
        const Int ni = to_int(n), ld = side.ld();
        Int info = 0;
        if (n > 0) fortran::getrf(&ni, &ni, side.data(), &ld, pivots.data(), &info);
        for (int64_t i = 0; i < n; ++i) {
          if (pivots[i] != i + 1) sign = -sign;
          if (side.at(i, i) < 0) sign = -sign;
        }
      }
      Columns<T> adj(n, n);
      for (int64_t p = 0; p < n; ++p) {
        T others = sign;
        for (int64_t q = 0; q < n; ++q)
          if (q != p) others *= s[q];
        for (int64_t j = 0; j < n; ++j)
          for (int64_t i = 0; i < n; ++i) adj.at(i, j) += vh.at(p, i) * others * u.at(j, p);
      }
      adj.store(out, b);
      return 0;
    });
  });
  return result;
}

LapackInfo pseudo_inverse(const Array& a, const Array& out, double atol, double rtol,
                          bool hermitian) {
  LapackInfo result;
  for_float_type(a.dtype, [&]<class T>(T) {
    result = for_batch(batch_of(a, 2), std::max(rows_of(a), cols_of(a)), [&](int64_t b) -> int64_t {
      Columns<T> m = columns<T>(a, b);
      if (hermitian)
        for (int64_t i = 0; i < m.rows; ++i)
          for (int64_t j = i + 1; j < m.cols; ++j) m.at(i, j) = m.at(j, i);
      check_finite("linalg.pinv", m);
      const int64_t k = std::min(m.rows, m.cols);
      Columns<T> u(m.rows, k), vh(k, m.cols), p(m.cols, m.rows);
      std::vector<T> s;
      const Int code = decompose(m, u, s, vh, true);
      if (code != 0) return code;
      const T limit = std::max(static_cast<T>(atol), static_cast<T>(rtol) * s[0]);
      for (int64_t q = 0; q < k; ++q) {
        if (s[q] <= limit) continue;
        for (int64_t j = 0; j < m.rows; ++j) {
          const T factor = u.at(j, q) / s[q];
          for (int64_t i = 0; i < m.cols; ++i) p.at(i, j) += vh.at(q, i) * factor;
        }
      }
      p.store(out, b);
      return 0;
    });
  });
  return result;
}

LapackInfo least_squares(const Array& a, const Array& b, const Array& x, const Array& s,
                         const Array& rank, double rcond) {
  LapackInfo result;
  for_float_type(a.dtype, [&]<class T>(T) {
    result = for_batch(batch_of(a, 2), std::max(rows_of(a), cols_of(a)), [&](int64_t i) -> int64_t {
      Columns<T> m = columns<T>(a, i);
      // LAPACK writes the solution over the right-hand side: room for the longer of the two.
      Columns<T> rhs(std::max(m.rows, m.cols), cols_of(b));
      rhs.load(b, i);
      check_finite("linalg.lstsq", m);
      check_finite("linalg.lstsq", rhs);
      const Int rows = to_int(m.rows), cols = to_int(m.cols), n_rhs = to_int(rhs.cols);
      const Int lda = m.ld(), ldb = rhs.ld();
      std::vector<T> values(std::max<Int>(1, std::min(rows, cols)));
      Int found = 0, info = 0;
      if (std::min(rows, cols) == 0 || n_rhs == 0) {
        std::fill(rhs.v.begin(), rhs.v.end(), T(0));
      } else {
        const T limit = static_cast<T>(rcond);
        T answer = 0;
        Int size = -1, int_answer = 0;
        fortran::gelsd(&rows, &cols, &n_rhs, m.data(), &lda, rhs.data(), &ldb, values.data(),
                       &limit, &found, &answer, &size, &int_answer, &info);
        std::vector<T> work = work_array(answer, &size);
        std::vector<Int> int_work(std::max<Int>(1, int_answer));
        fortran::gelsd(&rows, &cols, &n_rhs, m.data(), &lda, rhs.data(), &ldb, values.data(),
                       &limit, &found, work.data(), &size, int_work.data(), &info);
        check_arguments("gelsd", info);
      }
      rhs.store(x, i);
      store_vector<T>(s, i, values);
      *entry<int64_t>(rank, i, 0) = found;
      return info;
    });
  });
  return result;
}

}  // namespace tandem::kernels
