#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "tandem/base/deterministic.h"
#include "tandem/base/error.h"
#include "tandem/base/parallel.h"
#include "tandem/kernels/lapack.h"
#include "tandem/kernels/lapack_fortran.h"

/// What the files lapack_*.cpp share: batches of strided matrices and column-major copies of them.
namespace tandem::kernels::detail {

using fortran::Int;

inline Int to_int(int64_t n) {
  TANDEM_CHECK(n <= std::numeric_limits<Int>::max(), "LAPACK: a matrix dimension of ", n,
               " is too large");
  return static_cast<Int>(n);
}

inline int64_t rows_of(const Array& a) { return a.sizes[a.ndim - 2]; }
inline int64_t cols_of(const Array& a) { return a.sizes[a.ndim - 1]; }
inline int64_t batch_of(const Array& a, int matrix_dims) {
  int64_t n = 1;
  for (int i = 0; i < a.ndim - matrix_dims; ++i) n *= a.sizes[i];
  return n;
}

/// The first element of entry `index` of a batch.
template <class T>
T* entry(const Array& a, int64_t index, int matrix_dims) {
  int64_t offset = 0;
  for (int i = a.ndim - matrix_dims - 1; i >= 0; --i) {
    offset += index % a.sizes[i] * a.strides[i];
    index /= a.sizes[i];
  }
  return a.ptr<T>() + offset;
}

/// A matrix as Fortran keeps it.
template <class T>
struct Columns {
  int64_t rows, cols;
  std::vector<T> v;
  Columns(int64_t r, int64_t c) : rows(r), cols(c), v(std::max<int64_t>(1, r * c)) {}
  T* data() { return v.data(); }
  T& at(int64_t i, int64_t j) { return v[j * rows + i]; }
  /// Leading dimension: LAPACK wants at least 1.
  Int ld() const { return to_int(std::max<int64_t>(1, rows)); }

  /// Reads entry b of `a` into the upper left corner.
  void load(const Array& a, int64_t b) {
    const T* p = entry<T>(a, b, 2);
    const int64_t rs = a.strides[a.ndim - 2], cs = a.strides[a.ndim - 1];
    const int64_t m = std::min(rows, rows_of(a)), n = std::min(cols, cols_of(a));
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) at(i, j) = p[i * rs + j * cs];
  }
  /// Writes the upper left corner to entry b of `a`.
  void store(const Array& a, int64_t b) {
    T* p = entry<T>(a, b, 2);
    const int64_t rs = a.strides[a.ndim - 2], cs = a.strides[a.ndim - 1];
    for (int64_t i = 0; i < rows_of(a); ++i)
      for (int64_t j = 0; j < cols_of(a); ++j) p[i * rs + j * cs] = at(i, j);
  }
};

template <class T>
Columns<T> columns(const Array& a, int64_t b) {
  Columns<T> c(rows_of(a), cols_of(a));
  c.load(a, b);
  return c;
}

template <class T, class U>
void store_vector(const Array& a, int64_t b, const std::vector<U>& v) {
  T* p = entry<T>(a, b, 1);
  for (int64_t i = 0; i < a.sizes[a.ndim - 1]; ++i)
    p[i * a.strides[a.ndim - 1]] = static_cast<T>(v[i]);
}

/// Calls fn.operator()<T>() with the array's element type.
template <class F>
void for_float_type(DType t, F&& fn) {
  TANDEM_ASSERT(t == kFloat || t == kDouble, "LAPACK kernel called with ", name_of(t));
  if (t == kFloat)
    fn(float());
  else
    fn(double());
}

/// Runs fn(b) -> code for every entry of a batch: several small matrices at once on threads of
/// their own, large ones one after another with LAPACK's threads. Gives the first code that is not
/// 0.
template <class F>
LapackInfo for_batch(int64_t batch, int64_t size, const F& fn) {
  std::vector<int64_t> codes(batch);
  constexpr int64_t kLarge = 256;
  if (size < kLarge || batch >= 2 * get_num_threads() || deterministic_algorithms()) {
    const int64_t grain = std::max<int64_t>(1, 32768 / std::max<int64_t>(1, size * size * size));
    parallel_for(0, batch, grain, [&](int64_t begin, int64_t end) {
      const LibraryThreads one(1);
      for (int64_t b = begin; b < end; ++b) codes[b] = fn(b);
    });
  } else {
    const LibraryThreads all;
    for (int64_t b = 0; b < batch; ++b) codes[b] = fn(b);
  }
  for (int64_t b = 0; b < batch; ++b)
    if (codes[b] != 0) return {codes[b], b};
  return {};
}

inline void store_infos(const Array& infos, int64_t b, int64_t code) {
  if (infos.data != nullptr) *entry<int32_t>(infos, b, 0) = static_cast<int32_t>(code);
}

/// A work array of the size that a query answered.
template <class T>
std::vector<T> work_array(T answer, Int* size) {
  *size = std::max<Int>(1, static_cast<Int>(answer));
  return std::vector<T>(*size);
}

inline void check_arguments(const char* routine, Int info) {
  TANDEM_ASSERT(info >= 0, routine, ": argument ", -info, " is wrong");
}

}  // namespace tandem::kernels::detail
