#pragma once

#include <cstdint>

#include "tandem/core/dtype.h"
#include "tandem/core/shape.h"

namespace tandem::kernels {

/// C = alpha * op(A) * op(B) + beta * C, all row-major.
///
/// op(A) is m x k, op(B) is k x n. Without transposition A is stored as m rows of length lda, with
/// it as k rows of length lda; B likewise. beta = 0 means that C is not read. C must not overlap A
/// or B. float16 and bfloat16 are computed in float32; integers wrap around as int64 does.
struct Gemm {
  DType dtype = kFloat;
  int64_t m = 0, n = 0, k = 0;
  const void* a = nullptr;
  int64_t lda = 0;
  bool transa = false;
  const void* b = nullptr;
  int64_t ldb = 0;
  bool transb = false;
  void* c = nullptr;
  int64_t ldc = 0;
  double alpha = 1, beta = 0;
};

/// Results are bit-identical for any thread count, except float32 products that are big enough for
/// oneDNN while deterministic_algorithms() is off.
void gemm(const Gemm& g);

/// How many rows of an m x n product make a part that can be made by itself, by one thread, with
/// nothing lost; 0: there are no such parts. B has contiguous rows, or contiguous columns.
struct PartRows {
  int64_t rows = 0;
  bool packs = false;  // True iff something is done to B first, for each part again.
};
PartRows part_rows(DType dtype, int64_t m, int64_t n, int64_t k, bool contiguous_rows);

/// Memory that is written next, at the same places as the result of a product. While one exists,
/// products of this thread that have this result make its lines their core's own as they go along:
/// lines that another core has read too take long to be written to, but here nobody waits for them.
class ClaimAlong {
 public:
  /// `result` is where C begins.
  explicit ClaimAlong(const void* result);
  ~ClaimAlong();
  ClaimAlong(const ClaimAlong&) = delete;
  ClaimAlong& operator=(const ClaimAlong&) = delete;
  /// Lies as the result does, in elements of the same size. More than a few are not looked after.
  void add(void* rows) {
    if (n_ < kMost) rows_[n_++] = static_cast<char*>(rows);
  }

  const char* result() const { return result_; }
  char* const* begin() const { return rows_; }
  char* const* end() const { return rows_ + n_; }

 private:
  static constexpr int kMost = 4;
  const char* result_;
  const ClaimAlong* outer_;
  char* rows_[kMost];
  int n_ = 0;
};

/// `batch` products; operand i starts `i * stride` elements further on. A stride of 0 repeats an
/// input.
void batched_gemm(const Gemm& g, int64_t batch, int64_t stride_a, int64_t stride_b,
                  int64_t stride_c);

/// How matmul reads its operands and what it does with the result.
struct MatmulForm {
  bool trans_a = false, trans_b = false;  // of the last two dimensions
  double alpha = 1, beta = 0;
};

/// out = alpha * op(a) x op(b) + beta * out for 2-d arrays, or 3-d ones whose first dimension is
/// the batch (of extent 1 where it repeats). Any strides, nothing is copied beforehand. The three
/// have one dtype; out overlaps neither operand.
void matmul(const Array& a, const Array& b, const Array& out, const MatmulForm& form = {});

/// Sum of a[i * stride_a] * b[i * stride_b], added up in an order fixed by n. `out` holds one
/// element.
void dot(DType dtype, int64_t n, const void* a, int64_t stride_a, const void* b, int64_t stride_b,
         void* out);

/// y = alpha * op(A) x + beta * y; A is stored row-major as rows x cols.
void gemv(DType dtype, bool trans, int64_t rows, int64_t cols, double alpha, const void* a,
          int64_t lda, const void* x, double beta, void* y);

}  // namespace tandem::kernels
