#pragma once

#include <cstddef>
#include <cstdint>

/// LAPACK's Fortran entry points for float and double under one name. The trailing sizes are the
/// lengths of the character arguments, which Fortran passes last.
namespace tandem::kernels::fortran {

using Int = int32_t;

#define TANDEM_LAPACK(name, params, args)             \
  extern "C" void s##name##_ params(float);           \
  extern "C" void d##name##_ params(double);          \
  inline void name params(float) { s##name##_ args; } \
  inline void name params(double) { d##name##_ args; }

#define TANDEM_PARAMS(T) (const Int* m, const Int* n, T* a, const Int* lda, Int* pivots, Int* info)
TANDEM_LAPACK(getrf, TANDEM_PARAMS, (m, n, a, lda, pivots, info))
#undef TANDEM_PARAMS

#define TANDEM_PARAMS(T)                                                         \
  (const char* trans, const Int* n, const Int* nrhs, const T* a, const Int* lda, \
   const Int* pivots, T* b, const Int* ldb, Int* info, size_t l0)
TANDEM_LAPACK(getrs, TANDEM_PARAMS, (trans, n, nrhs, a, lda, pivots, b, ldb, info, l0))
#undef TANDEM_PARAMS

#define TANDEM_PARAMS(T) \
  (const Int* n, T* a, const Int* lda, const Int* pivots, T* work, const Int* lwork, Int* info)
TANDEM_LAPACK(getri, TANDEM_PARAMS, (n, a, lda, pivots, work, lwork, info))
#undef TANDEM_PARAMS

#define TANDEM_PARAMS(T) \
  (const char* uplo, const Int* n, T* a, const Int* lda, Int* info, size_t l0)
TANDEM_LAPACK(potrf, TANDEM_PARAMS, (uplo, n, a, lda, info, l0))
#undef TANDEM_PARAMS

#define TANDEM_PARAMS(T)                                                                      \
  (const char* side, const char* uplo, const char* trans, const char* diag, const Int* m,     \
   const Int* n, const T* alpha, const T* a, const Int* lda, T* b, const Int* ldb, size_t l0, \
   size_t l1, size_t l2, size_t l3)
TANDEM_LAPACK(trsm, TANDEM_PARAMS,
              (side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb, l0, l1, l2, l3))
#undef TANDEM_PARAMS

#define TANDEM_PARAMS(T) \
  (const Int* m, const Int* n, T* a, const Int* lda, T* tau, T* work, const Int* lwork, Int* info)
TANDEM_LAPACK(geqrf, TANDEM_PARAMS, (m, n, a, lda, tau, work, lwork, info))
#undef TANDEM_PARAMS

#define TANDEM_PARAMS(T)                                                                  \
  (const Int* m, const Int* n, const Int* k, T* a, const Int* lda, const T* tau, T* work, \
   const Int* lwork, Int* info)
TANDEM_LAPACK(orgqr, TANDEM_PARAMS, (m, n, k, a, lda, tau, work, lwork, info))
#undef TANDEM_PARAMS

#define TANDEM_PARAMS(T)                                                                          \
  (const char* job, const Int* m, const Int* n, T* a, const Int* lda, T* s, T* u, const Int* ldu, \
   T* vt, const Int* ldvt, T* work, const Int* lwork, Int* iwork, Int* info, size_t l0)
TANDEM_LAPACK(gesdd, TANDEM_PARAMS,
              (job, m, n, a, lda, s, u, ldu, vt, ldvt, work, lwork, iwork, info, l0))
#undef TANDEM_PARAMS

#define TANDEM_PARAMS(T)                                                                 \
  (const char* job, const char* uplo, const Int* n, T* a, const Int* lda, T* w, T* work, \
   const Int* lwork, Int* iwork, const Int* liwork, Int* info, size_t l0, size_t l1)
TANDEM_LAPACK(syevd, TANDEM_PARAMS,
              (job, uplo, n, a, lda, w, work, lwork, iwork, liwork, info, l0, l1))
#undef TANDEM_PARAMS

#define TANDEM_PARAMS(T)                                                                          \
  (const Int* m, const Int* n, const Int* nrhs, T* a, const Int* lda, T* b, const Int* ldb, T* s, \
   const T* rcond, Int* rank, T* work, const Int* lwork, Int* iwork, Int* info)
TANDEM_LAPACK(gelsd, TANDEM_PARAMS,
              (m, n, nrhs, a, lda, b, ldb, s, rcond, rank, work, lwork, iwork, info))
#undef TANDEM_PARAMS
#undef TANDEM_LAPACK

}  // namespace tandem::kernels::fortran
