#pragma once

#include <cstddef>
#include <cstdint>

#include "tandem/kernels/matmul.h"

/// What the files gemm_*.cpp share. Not for other kernels: use matmul.h.
namespace tandem::kernels::detail {

/// C = alpha * A * B + beta * C with any strides on A and B; rows of C are contiguous.
/// beta = 0 means that C is not read.
template <class T>
struct GemmArgs {
  int64_t m, n, k;
  const T* a;
  int64_t a_row, a_col;
  const T* b;
  int64_t b_row, b_col;
  T* c;
  int64_t ldc;
  T alpha, beta;
  ProductParts* parts = nullptr;
};

/// Register blocks straight from the operands on the calling thread. Needs fits_small().
void small_gemm(const GemmArgs<float>& g);
void small_gemm(const GemmArgs<double>& g);

/// True if a B that has no contiguous rows fits in the buffer that small_gemm keeps on the stack.
template <class T>
bool fits_small(const GemmArgs<T>& g) {
  return g.b_col == 1 || g.m == 1 || g.n == 1 || g.k * (g.n + 15) <= 4096;
}

/// dst[p * ld + j] = B(p, j): B with contiguous rows.
void copy_b(const GemmArgs<float>& g, float* dst, int64_t ld);
void copy_b(const GemmArgs<double>& g, double* dst, int64_t ld);

/// Memory for copies of operands, aligned to a page. It belongs to the calling thread, which keeps
/// it for its next product; the next call invalidates it.
void* scratch(size_t bytes);

/// A B of at most so many bytes is packed once for all parts of a product: it stays in the second
/// cache.
constexpr int64_t kKeptBytes = 512 * 1024;
/// Packed, cache-blocked and threaded.
void packed_gemm(const GemmArgs<float>& g);
void packed_gemm(const GemmArgs<double>& g);
/// How much a core multiplies in one go: what has to be read of the factors in the same time, and
/// with that how products are best made, depends on it.
enum class Registers {
  kNarrow,  // of at most 256 bits
  kHalves,  // of 512 bits, one half after the other
  kWide,    // of 512 bits
};
Registers registers();

/// Products of few rows with a matrix that is packed once and used many times, as in the steps of a
/// recurrent network. A panel holds `cols` columns of B, all k rows of it one after the other. An
/// element of the result is summed in the order of k within one call, whatever m is.
template <class T>
struct PanelOps {
  int64_t cols;
  /// panel[p * cols + j] = b[p * row + j * col], zeros for j >= width.
  void (*pack)(const T* b, int64_t row, int64_t col, int64_t k, int64_t width, T* panel);
  /// C = A * panel, or C += A * panel: m rows of A with contiguous columns, m rows of C with `cols`
  /// columns.
  void (*multiply)(int64_t m, int64_t k, const T* a, int64_t lda, const T* panel, T* c, int64_t ldc,
                   bool add);
};
template <class T>
const PanelOps<T>& panel_ops();
/// The most columns that a panel has on any machine.
constexpr int64_t kMostPanelCols = 32;
/// Longer sums are better cut into pieces of about this length: that much of a panel stays in the
/// first cache.
constexpr int64_t kPanelDepth = 256;

/// y[i * y_stride] = alpha * dot(row i of A, x) + beta * y: contiguous rows and x; threaded.
void gemv_dots(int64_t rows, int64_t k, const float* a, int64_t lda, const float* x, float* y,
               int64_t y_stride, float alpha, float beta);
void gemv_dots(int64_t rows, int64_t k, const double* a, int64_t lda, const double* x, double* y,
               int64_t y_stride, double alpha, double beta);

/// Dot product of two contiguous vectors in an order fixed by n; threaded.
float dot_product(int64_t n, const float* a, const float* b);
double dot_product(int64_t n, const double* a, const double* b);

/// Integers wrap around as T does; bool is the or of ands. alpha and beta are 1 and 0 for bool.
template <class T>
void integer_gemm(const GemmArgs<T>& g, int64_t alpha, int64_t beta);

/// Any element type: the choice among all of the above, oneDNN and conversion to float32.
template <class T>
void any_gemm(const GemmArgs<T>& g, double alpha, double beta);

}  // namespace tandem::kernels::detail
