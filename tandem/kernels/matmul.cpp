#include "tandem/kernels/matmul.h"

#include <algorithm>
#include <memory>

#include "tandem/base/error.h"
#include "tandem/base/parallel.h"
#include "tandem/kernels/gemm_impl.h"

namespace tandem::kernels {
namespace {

struct Matrix {
  int64_t rows, cols, row, col;  // extents and strides
  int64_t batch, step;
};

Matrix matrix_of(const Array& x) {
  TANDEM_ASSERT(x.ndim == 2 || x.ndim == 3, "matmul kernel: ", x.ndim, " dimensions");
  const int64_t *size = x.sizes + x.ndim - 2, *stride = x.strides + x.ndim - 2;
  Matrix m{size[0], size[1], stride[0], stride[1], 1, 0};
  // The stride of a dimension of extent 1 is never used; the choice here makes it look contiguous.
  if (m.cols == 1) m.col = 1;
  if (m.rows == 1) m.row = m.cols == 1 ? 1 : m.cols * m.col;
  if (x.ndim == 3) {
    m.batch = x.sizes[0];
    m.step = m.batch == 1 ? 0 : x.strides[0];
    if (m.rows == 1 && m.batch > 1) m.row = m.step;  // so that a batch of rows is one matrix
  }
  return m;
}

template <class T>
detail::GemmArgs<T> args_of(const Matrix& ma, const T* a, const Matrix& mb, const T* b, T* c,
                            int64_t ldc) {
  return {ma.rows, mb.cols, ma.cols, a, ma.row, ma.col, b, mb.row, mb.col, c, ldc, T(0), T(0)};
}

Matrix flipped(const Matrix& m) { return {m.cols, m.rows, m.col, m.row, m.batch, m.step}; }

template <class T>
void product(const Matrix& ma, const T* a, const Matrix& mb, const T* b, const Matrix& mc, T* c,
             double alpha, double beta) {
  if (mc.col == 1) return detail::any_gemm(args_of(ma, a, mb, b, c, mc.row), alpha, beta);
  if (mc.row == 1 || mc.rows == 1)  // the transpose of C has contiguous rows
    return detail::any_gemm(args_of(flipped(mb), b, flipped(ma), a, c, mc.col), alpha, beta);
  std::unique_ptr<T[]> dense(new T[mc.rows * mc.cols]);
  if (beta != 0)
    for (int64_t i = 0; i < mc.rows; ++i)
      for (int64_t j = 0; j < mc.cols; ++j) dense[i * mc.cols + j] = c[i * mc.row + j * mc.col];
  detail::any_gemm(args_of(ma, a, mb, b, dense.get(), mc.cols), alpha, beta);
  for (int64_t i = 0; i < mc.rows; ++i)
    for (int64_t j = 0; j < mc.cols; ++j) c[i * mc.row + j * mc.col] = dense[i * mc.cols + j];
}

constexpr int64_t kLargeItem = int64_t{1} << 26;
constexpr int64_t kBatchGrain = 32768;

template <class T>
void batched(Matrix ma, const T* a, const Matrix& mb, const T* b, Matrix mc, T* c, double alpha,
             double beta) {
  if (mb.step == 0 && ma.step == ma.rows * ma.row && mc.step == mc.rows * mc.row) {
    // One B for all: the batch is more rows of one product.
    ma.rows *= mc.batch;
    mc.rows *= mc.batch;
    return product(ma, a, mb, b, mc, c, alpha, beta);
  }
  auto run = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      product(ma, a + i * ma.step, mb, b + i * mb.step, mc, c + i * mc.step, alpha, beta);
  };
  const int64_t work = mc.rows * mc.cols * ma.cols;
  if (work >= kLargeItem || (mc.batch < get_num_threads() && work >= 4 * kBatchGrain))
    return run(0, mc.batch);
  parallel_for(0, mc.batch, std::max<int64_t>(1, kBatchGrain / std::max<int64_t>(1, work)), run);
}

template <class T>
void typed(const Array& a, const Array& b, const Array& out, const MatmulForm& f) {
  Matrix ma = matrix_of(a), mb = matrix_of(b);
  const Matrix mc = matrix_of(out);
  if (f.trans_a) ma = flipped(ma);
  if (f.trans_b) mb = flipped(mb);
  if (mc.batch == 1)
    product(ma, a.ptr<T>(), mb, b.ptr<T>(), mc, out.ptr<T>(), f.alpha, f.beta);
  else
    batched(ma, a.ptr<T>(), mb, b.ptr<T>(), mc, out.ptr<T>(), f.alpha, f.beta);
}

}  // namespace

void matmul(const Array& a, const Array& b, const Array& out, const MatmulForm& form) {
  if (out.dtype == kFloat) return typed<float>(a, b, out, form);
  dispatch(out.dtype, [&]<class T>(T) { typed<T>(a, b, out, form); });
}

void dot(DType dtype, int64_t n, const void* a, int64_t stride_a, const void* b, int64_t stride_b,
         void* out) {
  dispatch(dtype, [&]<class T>(T) {
    detail::any_gemm(detail::GemmArgs<T>{1, 1, n, static_cast<const T*>(a), 1, stride_a,
                                         static_cast<const T*>(b), stride_b, 1,
                                         static_cast<T*>(out), 1, T(0), T(0)},
                     1, 0);
  });
}

void gemv(DType dtype, bool trans, int64_t rows, int64_t cols, double alpha, const void* a,
          int64_t lda, const void* x, double beta, void* y) {
  gemm({.dtype = dtype,
        .m = trans ? cols : rows,
        .n = 1,
        .k = trans ? rows : cols,
        .a = a,
        .lda = lda,
        .transa = trans,
        .b = x,
        .ldb = 1,
        .c = y,
        .ldc = 1,
        .alpha = alpha,
        .beta = beta});
}

}  // namespace tandem::kernels
