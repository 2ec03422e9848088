// The register block and the copies that the matrix products share, once for each Highway target.
#if defined(TANDEM_KERNELS_GEMM_BLOCK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TANDEM_KERNELS_GEMM_BLOCK_INL_H_
#undef TANDEM_KERNELS_GEMM_BLOCK_INL_H_
#else
#define TANDEM_KERNELS_GEMM_BLOCK_INL_H_
#endif

#include <cstdint>
#include <cstring>

#include "hwy/highway.h"
#include "tandem/kernels/matmul.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::kernels::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// Rows and vectors of the largest block: 12 accumulators of 16 registers, or 24 of 32.
constexpr int kBlockRows = 6;
constexpr int kBlockVectors = HWY_TARGET == HWY_AVX3 ? 4 : 2;

template <class T>
using Tag = hn::ScalableTag<T>;
template <class T>
constexpr int64_t lanes() {
  return static_cast<int64_t>(hn::MaxLanes(Tag<T>()));
}

/// The first `count` lanes from p, zeros behind; nothing beyond them is touched.
template <class T>
HWY_INLINE hn::Vec<Tag<T>> load_first(const T* p, size_t count) {
  const Tag<T> d;
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  return hn::MaskedLoad(hn::FirstN(d, count), d, p);
#else
  HWY_ALIGN T buffer[hn::MaxLanes(d)] = {};
  std::memcpy(buffer, p, count * sizeof(T));
  return hn::Load(d, buffer);
#endif
}

/// Makes MR rows of kCols elements this core's own before they are written to. Nobody waits for it.
template <int MR, int64_t kCols, class T>
HWY_INLINE void claim_rows(const T* rows, int64_t ld) {
  const auto claim = [](const T* p) {
#if HWY_ARCH_X86
    // By hand: compilers take an instruction that only reads, unless told that this one exists;
    // processors that lack it do nothing.
    asm volatile("prefetchw %0" : : "m"(*p));
#else
    __builtin_prefetch(p, /*write=*/1);
#endif
  };
  constexpr int64_t kLine = 64 / sizeof(T);
#pragma GCC unroll 8
  for (int i = 0; i < MR; ++i) {
    const T* row = rows + i * ld;
    for (int64_t j = 0; j < kCols; j += kLine) claim(row + j);
    claim(row + kCols - 1);
  }
}

/// claim_rows for what is written to after the block of the result at c.
template <int MR, int64_t kCols, class T>
HWY_INLINE void claim_along(const ProductParts& parts, const T* c, int64_t ld) {
  const int64_t offset = c - static_cast<const T*>(parts.result());
  for (const char* rows : parts.claimed())
    claim_rows<MR, kCols>(reinterpret_cast<const T*>(rows) + offset, ld);
}

/// C = alpha * A * B + beta * C for MR rows and NV vectors of columns.
///
/// With kShift the last vector lies `shift` elements further left and computes some columns again:
/// the same sums in the same order, so both stores agree, and no masked access is needed. kPacked:
/// A holds MR elements for each k. kAhead: one line of each row is fetched of what lies at `ahead`,
/// for later.
template <int MR, int NV, bool kShift, bool kPacked, bool kAhead = false, class D,
          class T = hn::TFromD<D>>
HWY_INLINE void block(D d, int64_t k, const T* HWY_RESTRICT a, int64_t a_row, int64_t a_col,
                      const T* HWY_RESTRICT b, int64_t ldb, int64_t shift, T* HWY_RESTRICT c,
                      int64_t ldc, T alpha, T beta, const T* ahead = nullptr) {
  using V = hn::Vec<D>;
  constexpr int64_t kN = static_cast<int64_t>(hn::MaxLanes(D()));
  V acc[MR][NV];
#pragma GCC unroll 8
  for (int i = 0; i < MR; ++i)
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) acc[i][v] = hn::Zero(d);
  if constexpr (kPacked) {
    a_row = 1;
    a_col = MR;
  }
  const int64_t last = (NV - 1) * kN - (kShift ? shift : 0);
  for (int64_t p = 0; p < k; ++p) {
    V bv[NV];
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v) bv[v] = hn::LoadU(d, b + (v == NV - 1 ? last : v * kN));
#pragma GCC unroll 8
    for (int i = 0; i < MR; ++i) {
      const V av = hn::Set(d, a[i * a_row]);
#pragma GCC unroll 8
      for (int v = 0; v < NV; ++v) acc[i][v] = hn::MulAdd(av, bv[v], acc[i][v]);
    }
    a += a_col;
    b += ldb;
    if constexpr (kAhead) {
      __builtin_prefetch(ahead, /*write=*/0, /*to the second cache*/ 2);
      ahead += ldb;
    }
  }
  if (alpha != T(1)) {
    const V scale = hn::Set(d, alpha);
#pragma GCC unroll 8
    for (int i = 0; i < MR; ++i)
#pragma GCC unroll 8
      for (int v = 0; v < NV; ++v) acc[i][v] = hn::Mul(acc[i][v], scale);
  }
  if (beta != T(0)) {
    // Every load of C comes before the first store: shifted vectors overlap.
    const V scale = hn::Set(d, beta);
#pragma GCC unroll 8
    for (int i = 0; i < MR; ++i)
#pragma GCC unroll 8
      for (int v = 0; v < NV; ++v)
        acc[i][v] =
            hn::MulAdd(hn::LoadU(d, c + i * ldc + (v == NV - 1 ? last : v * kN)), scale, acc[i][v]);
  }
#pragma GCC unroll 8
  for (int i = 0; i < MR; ++i)
#pragma GCC unroll 8
    for (int v = 0; v < NV; ++v)
      hn::StoreU(acc[i][v], d, c + i * ldc + (v == NV - 1 ? last : v * kN));
}

#if HWY_TARGET != HWY_SCALAR
/// The 16 bytes at p, those `step` elements further on and so forth: as many as a vector holds.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_blocks(D d, const T* p, int64_t step) {
  constexpr int64_t kN = static_cast<int64_t>(hn::MaxLanes(D()));
  if constexpr (kN * sizeof(T) <= 16) {
    return hn::LoadU(d, p);
  } else {
    const hn::Half<D> half;
    const int64_t blocks = kN * static_cast<int64_t>(sizeof(T)) / 16;
    return hn::Combine(d, load_blocks(half, p + blocks / 2 * step, step),
                       load_blocks(half, p, step));
  }
}

/// copy_transposed for as many rows as vectors have lanes at a time, from row r on; returns the
/// first row that is left.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE int64_t transpose_rows(D d, int64_t r, const T* HWY_RESTRICT src, int64_t src_row,
                                  int64_t rows, int64_t cols, T* HWY_RESTRICT dst,
                                  int64_t dst_row) {
  constexpr int64_t kN = static_cast<int64_t>(hn::MaxLanes(D())), kSide = 16 / sizeof(T);
  const int64_t step = kSide * src_row;
  for (; r + kN <= rows; r += kN) {
    const T* s = src + r * src_row;
    T* t = dst + r;
    int64_t c = 0;
    // Squares of 16 bytes, those of one vector below each other.
    for (; c + kSide <= cols; c += kSide, s += kSide, t += kSide * dst_row) {
      const auto r0 = load_blocks(d, s, step), r1 = load_blocks(d, s + src_row, step);
      if constexpr (kSide == 2) {
        hn::StoreU(hn::InterleaveLower(d, r0, r1), d, t);
        hn::StoreU(hn::InterleaveUpper(d, r0, r1), d, t + dst_row);
      } else {
        const auto r2 = load_blocks(d, s + 2 * src_row, step);
        const auto r3 = load_blocks(d, s + 3 * src_row, step);
        const auto even_low = hn::InterleaveLower(d, r0, r2);
        const auto odd_low = hn::InterleaveLower(d, r1, r3);
        const auto even_high = hn::InterleaveUpper(d, r0, r2);
        const auto odd_high = hn::InterleaveUpper(d, r1, r3);
        hn::StoreU(hn::InterleaveLower(d, even_low, odd_low), d, t);
        hn::StoreU(hn::InterleaveUpper(d, even_low, odd_low), d, t + dst_row);
        hn::StoreU(hn::InterleaveLower(d, even_high, odd_high), d, t + 2 * dst_row);
        hn::StoreU(hn::InterleaveUpper(d, even_high, odd_high), d, t + 3 * dst_row);
      }
    }
    for (; c < cols; ++c, ++s, t += dst_row)
      for (int64_t i = 0; i < kN; ++i) t[i] = s[i * src_row];
  }
  return r;
}
#endif

/// dst[c * dst_row + r] = src[r * src_row + c] for r < rows, c < cols.
template <class T>
HWY_INLINE void copy_transposed(const T* HWY_RESTRICT src, int64_t src_row, int64_t rows,
                                int64_t cols, T* HWY_RESTRICT dst, int64_t dst_row) {
  int64_t r = 0;
#if HWY_TARGET != HWY_SCALAR
  r = transpose_rows(Tag<T>(), r, src, src_row, rows, cols, dst, dst_row);
  r = transpose_rows(hn::FixedTag<T, 16 / sizeof(T)>(), r, src, src_row, rows, cols, dst, dst_row);
#endif
  for (; r + 2 <= rows; r += 2) {
    const T *s0 = src + r * src_row, *s1 = s0 + src_row;
    T* t = dst + r;
    for (int64_t c = 0; c < cols; ++c, t += dst_row) {
      t[0] = s0[c];
      t[1] = s1[c];
    }
  }
  for (; r < rows; ++r)
    for (int64_t c = 0; c < cols; ++c) dst[c * dst_row + r] = src[r * src_row + c];
}

}  // namespace
}  // namespace tandem::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard
