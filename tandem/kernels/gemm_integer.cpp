#include <algorithm>
#include <type_traits>

#include "tandem/base/parallel.h"
#include "tandem/kernels/gemm_impl.h"

namespace tandem::kernels::detail {
namespace {

// Unsigned sums wrap without undefined behaviour, and their low bits are those of the exact result.
template <class T>
using Sum = std::conditional_t<(sizeof(T) > 4) || std::is_same_v<T, bool>, uint64_t, uint32_t>;

constexpr int64_t kColumns = 1024;

template <class T>
void rows(const GemmArgs<T>& g, int64_t begin, int64_t end, int64_t alpha, int64_t beta) {
  using S = Sum<T>;
  S sum[kColumns];
  for (int64_t i = begin; i < end; ++i)
    for (int64_t j0 = 0; j0 < g.n; j0 += kColumns) {
      const int64_t cols = std::min(kColumns, g.n - j0);
      std::fill_n(sum, cols, S(0));
      for (int64_t p = 0; p < g.k; ++p) {
        const S a = static_cast<S>(g.a[i * g.a_row + p * g.a_col]);
        const T* b = g.b + p * g.b_row + j0 * g.b_col;
        if (a == 0) continue;
        if (g.b_col == 1) {
          for (int64_t j = 0; j < cols; ++j) sum[j] += a * static_cast<S>(b[j]);
        } else {
          for (int64_t j = 0; j < cols; ++j) sum[j] += a * static_cast<S>(b[j * g.b_col]);
        }
      }
      T* c = g.c + i * g.ldc + j0;
      for (int64_t j = 0; j < cols; ++j) {
        S r = static_cast<S>(alpha) * sum[j];
        if (beta != 0) r += static_cast<S>(beta) * static_cast<S>(c[j]);
        c[j] = static_cast<T>(r);
      }
    }
}

}  // namespace

template <class T>
void integer_gemm(const GemmArgs<T>& g, int64_t alpha, int64_t beta) {
  const int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, g.n * g.k));
  parallel_for(0, g.m, grain,
               [&](int64_t begin, int64_t end) { rows(g, begin, end, alpha, beta); });
}

template void integer_gemm(const GemmArgs<uint8_t>&, int64_t, int64_t);
template void integer_gemm(const GemmArgs<int8_t>&, int64_t, int64_t);
template void integer_gemm(const GemmArgs<int16_t>&, int64_t, int64_t);
template void integer_gemm(const GemmArgs<int32_t>&, int64_t, int64_t);
template void integer_gemm(const GemmArgs<int64_t>&, int64_t, int64_t);
template void integer_gemm(const GemmArgs<bool>&, int64_t, int64_t);

}  // namespace tandem::kernels::detail
