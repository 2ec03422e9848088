// Products that are too small for packing or threads to pay: straight from the operands.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tandem/kernels/gemm_small.cpp"
#include "hwy/foreach_target.h"
// Highway's order: foreach_target before the headers that it includes again.
#include <algorithm>

#include "tandem/base/parallel.h"
#include "tandem/kernels/gemm_block-inl.h"
#include "tandem/kernels/gemm_impl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::kernels::HWY_NAMESPACE {
namespace {

using detail::GemmArgs;

template <int MR, int NV, bool kShift, bool kAhead, class D, class T = hn::TFromD<D>>
HWY_NOINLINE void rows_block(D d, const GemmArgs<T>& g, const T* a, const T* b, int64_t ldb,
                             int64_t shift, T* c, const T* ahead) {
  // Where a block ends up is fetched while it is worked out.
  constexpr int64_t kLongSum = 64, kCols = NV * static_cast<int64_t>(hn::MaxLanes(D()));
  if (g.k >= kLongSum) claim_rows<MR, kCols>(c, g.ldc);
  if (g.parts) claim_along<MR, kCols>(*g.parts, c, g.ldc);
  block<MR, NV, kShift, false, kAhead>(d, g.k, a, g.a_row, g.a_col, b, ldb, shift, c, g.ldc,
                                       g.alpha, g.beta, ahead);
}

/// All rows for NV vectors of columns. Rows are shared out evenly: 20 rows are 4 blocks of 5. With
/// kAhead there are more columns behind these, of which each block fetches a vector of each row.
template <int NV, bool kShift, bool kAhead = false, class D, class T = hn::TFromD<D>>
HWY_INLINE void column_strip(D d, const GemmArgs<T>& g, const T* b, int64_t ldb, int64_t shift,
                             T* c) {
  constexpr int64_t kMost = NV <= kBlockVectors ? kBlockRows : 4;
  constexpr int64_t kN = static_cast<int64_t>(hn::MaxLanes(D()));
  const int64_t blocks = (g.m + kMost - 1) / kMost;
  const T* a = g.a;
  int64_t left = g.m;
  for (int64_t i = blocks; i > 0; --i) {
    const int64_t rows = i == 1 ? left : (left + i - 1) / i;
    const T* ahead = b + (NV + std::min<int64_t>(blocks - i, NV)) * kN;
    switch (rows) {
      case 1:
        rows_block<1, NV, kShift, kAhead>(d, g, a, b, ldb, shift, c, ahead);
        break;
      case 2:
        rows_block<2, NV, kShift, kAhead>(d, g, a, b, ldb, shift, c, ahead);
        break;
      case 3:
        rows_block<3, NV, kShift, kAhead>(d, g, a, b, ldb, shift, c, ahead);
        break;
      case 4:
        rows_block<4, NV, kShift, kAhead>(d, g, a, b, ldb, shift, c, ahead);
        break;
      default:
        if constexpr (kMost > 4) {
          if (rows == 5)
            rows_block<5, NV, kShift, kAhead>(d, g, a, b, ldb, shift, c, ahead);
          else
            rows_block<6, NV, kShift, kAhead>(d, g, a, b, ldb, shift, c, ahead);
        }
    }
    left -= rows;
    a += rows * g.a_row;
    c += rows * g.ldc;
  }
}

/// B by rows, with vectors no longer than n: D is halved until it fits.
template <class D, class T = hn::TFromD<D>>
void by_columns(D d, const GemmArgs<T>& g, const T* b, int64_t ldb) {
  constexpr int64_t kN = static_cast<int64_t>(hn::MaxLanes(D()));
  if constexpr (kN > 1) {
    if (g.n < kN) return by_columns(hn::CappedTag<T, kN / 2>(), g, b, ldb);
  }
  const int64_t shift = (kN - g.n % kN) % kN;
  int64_t vectors = (g.n + kN - 1) / kN;
  int64_t j = 0;
  if (vectors == 1) return column_strip<1, false>(d, g, b, ldb, 0, g.c);
  if constexpr (kN < lanes<T>()) {  // shorter than two: otherwise D would not have been halved
    column_strip<2, true>(d, g, b, ldb, shift, g.c);
  } else {
    if (vectors % 2 == 1) {
      if (vectors == 3 && shift != 0) return column_strip<3, true>(d, g, b, ldb, shift, g.c);
      column_strip<3, false>(d, g, b, ldb, 0, g.c);
      vectors -= 3;
      j = 3 * kN;
    }
    if constexpr (kBlockVectors == 4)
      for (; vectors >= 6; vectors -= 4, j += 4 * kN)
        column_strip<4, false, true>(d, g, b + j, ldb, 0, g.c + j);
    for (; vectors > 0; vectors -= 2, j += 2 * kN) {
      if (vectors == 2 && shift != 0)
        column_strip<2, true>(d, g, b + j, ldb, shift, g.c + j);
      else
        column_strip<2, false>(d, g, b + j, ldb, 0, g.c + j);
    }
  }
}

/// One row times a matrix by rows: NV vectors of the result, two interleaved sums to hide latency.
template <int NV, bool kShift, class D, class T = hn::TFromD<D>>
HWY_INLINE void vecmat_strip(D d, int64_t k, const T* a, int64_t a_col, const T* b, int64_t ldb,
                             int64_t shift, T* c, T alpha, T beta) {
  using V = hn::Vec<D>;
  constexpr int64_t kN = static_cast<int64_t>(hn::MaxLanes(D()));
  const int64_t last = (NV - 1) * kN - (kShift ? shift : 0);
  V even[NV], odd[NV];
#pragma GCC unroll 8
  for (int v = 0; v < NV; ++v) even[v] = odd[v] = hn::Zero(d);
  int64_t p = 0;
  for (; p + 2 <= k; p += 2, a += 2 * a_col, b += 2 * ldb) {
    const V a0 = hn::Set(d, a[0]), a1 = hn::Set(d, a[a_col]);
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) {
      const int64_t at = v == NV - 1 ? last : v * kN;
      even[v] = hn::MulAdd(a0, hn::LoadU(d, b + at), even[v]);
      odd[v] = hn::MulAdd(a1, hn::LoadU(d, b + ldb + at), odd[v]);
    }
  }
  if (p < k) {
    const V a0 = hn::Set(d, a[0]);
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v)
      even[v] = hn::MulAdd(a0, hn::LoadU(d, b + (v == NV - 1 ? last : v * kN)), even[v]);
  }
  const V scale = hn::Set(d, alpha);
#pragma GCC unroll 8
  for (int v = 0; v < NV; ++v) even[v] = hn::Mul(hn::Add(even[v], odd[v]), scale);
  if (beta != T(0)) {
    const V keep = hn::Set(d, beta);
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v)
      even[v] = hn::MulAdd(hn::LoadU(d, c + (v == NV - 1 ? last : v * kN)), keep, even[v]);
  }
#pragma GCC unroll 8
  for (int v = 0; v < NV; ++v) hn::StoreU(even[v], d, c + (v == NV - 1 ? last : v * kN));
}

template <class D, class T = hn::TFromD<D>>
void vecmat(D d, int64_t n, int64_t k, const T* a, int64_t a_col, const T* b, int64_t ldb, T* c,
            T alpha, T beta) {
  constexpr int64_t kN = static_cast<int64_t>(hn::MaxLanes(D()));
  if constexpr (kN > 1) {
    if (n < kN) return vecmat(hn::CappedTag<T, kN / 2>(), n, k, a, a_col, b, ldb, c, alpha, beta);
  }
  const int64_t shift = (kN - n % kN) % kN;
  int64_t vectors = (n + kN - 1) / kN;
  if (vectors == 1) return vecmat_strip<1, false>(d, k, a, a_col, b, ldb, 0, c, alpha, beta);
  if constexpr (kN < lanes<T>()) {
    vecmat_strip<2, true>(d, k, a, a_col, b, ldb, shift, c, alpha, beta);
  } else {
    // A shifted vector needs a neighbour in its own strip: 5 vectors are 3 and 2.
    for (; vectors > 4; b += 4 * kN, c += 4 * kN, vectors -= 4) {
      if (vectors == 5) {
        vecmat_strip<3, false>(d, k, a, a_col, b, ldb, 0, c, alpha, beta);
        b += 3 * kN;
        c += 3 * kN;
        vectors = 2;
        break;
      }
      vecmat_strip<4, false>(d, k, a, a_col, b, ldb, 0, c, alpha, beta);
    }
    switch (vectors) {
      case 2:
        return vecmat_strip<2, true>(d, k, a, a_col, b, ldb, shift, c, alpha, beta);
      case 3:
        return vecmat_strip<3, true>(d, k, a, a_col, b, ldb, shift, c, alpha, beta);
      default:
        return vecmat_strip<4, true>(d, k, a, a_col, b, ldb, shift, c, alpha, beta);
    }
  }
}

/// R dot products with one vector. The order within a row does not depend on R.
template <int R, class T>
HWY_INLINE void dot_rows(int64_t k, const T* a, int64_t lda, const T* x, T* y, int64_t y_stride,
                         T alpha, T beta) {
  const Tag<T> d;
  using V = hn::Vec<Tag<T>>;
  constexpr int64_t kN = lanes<T>();
  V even[R], odd[R];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) even[r] = odd[r] = hn::Zero(d);
  int64_t p = 0;
  for (; p + 2 * kN <= k; p += 2 * kN) {
    const V x0 = hn::LoadU(d, x + p), x1 = hn::LoadU(d, x + p + kN);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      even[r] = hn::MulAdd(hn::LoadU(d, a + r * lda + p), x0, even[r]);
      odd[r] = hn::MulAdd(hn::LoadU(d, a + r * lda + p + kN), x1, odd[r]);
    }
  }
  if (p + kN <= k) {
    const V x0 = hn::LoadU(d, x + p);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) even[r] = hn::MulAdd(hn::LoadU(d, a + r * lda + p), x0, even[r]);
    p += kN;
  }
  if (p < k) {
    const size_t tail = static_cast<size_t>(k - p);
    const V x0 = load_first(x + p, tail);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) odd[r] = hn::MulAdd(load_first(a + r * lda + p, tail), x0, odd[r]);
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
    T sum = alpha * hn::GetLane(hn::SumOfLanes(d, hn::Add(even[r], odd[r])));
    if (beta != T(0)) sum += beta * y[r * y_stride];
    y[r * y_stride] = sum;
  }
}

template <class T>
void gemv_dots_rows(int64_t begin, int64_t end, int64_t k, const T* a, int64_t lda, const T* x,
                    T* y, int64_t y_stride, T alpha, T beta) {
  int64_t i = begin;
  for (; i + 4 <= end; i += 4)
    dot_rows<4>(k, a + i * lda, lda, x, y + i * y_stride, y_stride, alpha, beta);
  for (; i < end; ++i) dot_rows<1>(k, a + i * lda, lda, x, y + i * y_stride, y_stride, alpha, beta);
}

template <class T>
T dot_range(int64_t n, const T* a, const T* b) {
  const Tag<T> d;
  using V = hn::Vec<Tag<T>>;
  constexpr int64_t kN = lanes<T>();
  V s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  int64_t i = 0;
  for (; i + 4 * kN <= n; i += 4 * kN) {
    s0 = hn::MulAdd(hn::LoadU(d, a + i), hn::LoadU(d, b + i), s0);
    s1 = hn::MulAdd(hn::LoadU(d, a + i + kN), hn::LoadU(d, b + i + kN), s1);
    s2 = hn::MulAdd(hn::LoadU(d, a + i + 2 * kN), hn::LoadU(d, b + i + 2 * kN), s2);
    s3 = hn::MulAdd(hn::LoadU(d, a + i + 3 * kN), hn::LoadU(d, b + i + 3 * kN), s3);
  }
  for (; i + kN <= n; i += kN) s0 = hn::MulAdd(hn::LoadU(d, a + i), hn::LoadU(d, b + i), s0);
  if (i < n) {
    const size_t tail = static_cast<size_t>(n - i);
    s1 = hn::MulAdd(load_first(a + i, tail), load_first(b + i, tail), s1);
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
}

template <class T>
void copy_rows(const GemmArgs<T>& g, T* dst, int64_t ld) {
  if (g.b_row == 1) return copy_transposed(g.b, g.b_col, g.n, g.k, dst, ld);
  for (int64_t p = 0; p < g.k; ++p) {
    const T* b = g.b + p * g.b_row;
    if (g.b_col == 1)
      std::memcpy(dst + p * ld, b, g.n * sizeof(T));
    else
      for (int64_t j = 0; j < g.n; ++j) dst[p * ld + j] = b[j * g.b_col];
  }
}

template <class T>
void small_product(const GemmArgs<T>& g) {
  const Tag<T> d;
  constexpr int64_t kN = lanes<T>();
  if (g.n == 1) {
    if (g.a_col == 1 && (g.b_row == 1 || g.k == 1))
      return gemv_dots_rows(0, g.m, g.k, g.a, g.a_row, g.b, g.c, g.ldc, g.alpha, g.beta);
    if (g.a_row == 1 && g.ldc == 1)
      return vecmat(d, g.m, g.k, g.b, g.b_row, g.a, g.a_col, g.c, g.alpha, g.beta);
    return by_columns(d, g, g.b, g.b_row);
  }
  if (g.m == 1) {
    if (g.b_col == 1) return vecmat(d, g.n, g.k, g.a, g.a_col, g.b, g.b_row, g.c, g.alpha, g.beta);
    if (g.b_row == 1 && g.a_col == 1)
      return gemv_dots_rows(0, g.n, g.k, g.b, g.b_col, g.a, g.c, 1, g.alpha, g.beta);
    for (int64_t j = 0; j < g.n; ++j) {
      T sum = 0;
      for (int64_t p = 0; p < g.k; ++p) sum += g.a[p * g.a_col] * g.b[p * g.b_row + j * g.b_col];
      g.c[j] = g.alpha * sum + (g.beta != T(0) ? g.beta * g.c[j] : T(0));
    }
    return;
  }
  if (g.b_col == 1) return by_columns(d, g, g.b, g.b_row);
  HWY_ALIGN T copy[4096];
  const int64_t ldb = (g.n + kN - 1) / kN * kN;
  copy_rows(g, copy, ldb);
  by_columns(d, g, copy, ldb);
}

}  // namespace

void small_gemm_f32(const GemmArgs<float>& g) { small_product(g); }
void small_gemm_f64(const GemmArgs<double>& g) { small_product(g); }
void copy_b_f32(const GemmArgs<float>& g, float* dst, int64_t ld) { copy_rows(g, dst, ld); }
void copy_b_f64(const GemmArgs<double>& g, double* dst, int64_t ld) { copy_rows(g, dst, ld); }
void gemv_dots_f32(int64_t b, int64_t e, int64_t k, const float* a, int64_t lda, const float* x,
                   float* y, int64_t ys, float alpha, float beta) {
  gemv_dots_rows(b, e, k, a, lda, x, y, ys, alpha, beta);
}
void gemv_dots_f64(int64_t b, int64_t e, int64_t k, const double* a, int64_t lda, const double* x,
                   double* y, int64_t ys, double alpha, double beta) {
  gemv_dots_rows(b, e, k, a, lda, x, y, ys, alpha, beta);
}
float dot_f32(int64_t n, const float* a, const float* b) { return dot_range(n, a, b); }
double dot_f64(int64_t n, const double* a, const double* b) { return dot_range(n, a, b); }

}  // namespace tandem::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <vector>

namespace tandem::kernels {
HWY_EXPORT(small_gemm_f32);
HWY_EXPORT(small_gemm_f64);
HWY_EXPORT(copy_b_f32);
HWY_EXPORT(copy_b_f64);
HWY_EXPORT(gemv_dots_f32);
HWY_EXPORT(gemv_dots_f64);
HWY_EXPORT(dot_f32);
HWY_EXPORT(dot_f64);

namespace detail {
namespace {

// Elements that one thread should at least have to read before a second one is worth waking.
constexpr int64_t kGrain = 32768;
constexpr int64_t kDotGrain = 16384;

template <class T, class F>
T sum_of_grains(int64_t n, const F& range) {
  if (n <= kDotGrain) return range(0, n);
  const int64_t grains = (n + kDotGrain - 1) / kDotGrain;
  std::vector<T> partial(grains);
  parallel_for(0, grains, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      partial[i] = range(i * kDotGrain, std::min(n, (i + 1) * kDotGrain));
  });
  T sum = 0;
  for (T p : partial) sum += p;
  return sum;
}

}  // namespace

void small_gemm(const GemmArgs<float>& g) { HWY_DYNAMIC_DISPATCH(small_gemm_f32)(g); }
void small_gemm(const GemmArgs<double>& g) { HWY_DYNAMIC_DISPATCH(small_gemm_f64)(g); }

void copy_b(const GemmArgs<float>& g, float* dst, int64_t ld) {
  HWY_DYNAMIC_DISPATCH(copy_b_f32)(g, dst, ld);
}
void copy_b(const GemmArgs<double>& g, double* dst, int64_t ld) {
  HWY_DYNAMIC_DISPATCH(copy_b_f64)(g, dst, ld);
}

void gemv_dots(int64_t rows, int64_t k, const float* a, int64_t lda, const float* x, float* y,
               int64_t y_stride, float alpha, float beta) {
  const auto run = HWY_DYNAMIC_DISPATCH(gemv_dots_f32);
  parallel_for(0, rows, std::max<int64_t>(1, kGrain / std::max<int64_t>(k, 1)),
               [&](int64_t b, int64_t e) { run(b, e, k, a, lda, x, y, y_stride, alpha, beta); });
}
void gemv_dots(int64_t rows, int64_t k, const double* a, int64_t lda, const double* x, double* y,
               int64_t y_stride, double alpha, double beta) {
  const auto run = HWY_DYNAMIC_DISPATCH(gemv_dots_f64);
  parallel_for(0, rows, std::max<int64_t>(1, kGrain / std::max<int64_t>(k, 1)),
               [&](int64_t b, int64_t e) { run(b, e, k, a, lda, x, y, y_stride, alpha, beta); });
}

float dot_product(int64_t n, const float* a, const float* b) {
  const auto run = HWY_DYNAMIC_DISPATCH(dot_f32);
  return sum_of_grains<float>(
      n, [&](int64_t from, int64_t to) { return run(to - from, a + from, b + from); });
}
double dot_product(int64_t n, const double* a, const double* b) {
  const auto run = HWY_DYNAMIC_DISPATCH(dot_f64);
  return sum_of_grains<double>(
      n, [&](int64_t from, int64_t to) { return run(to - from, a + from, b + from); });
}

}  // namespace detail
}  // namespace tandem::kernels
#endif  // HWY_ONCE
