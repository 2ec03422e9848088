#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

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
/// nothing lost; 0: there are no such parts. Each factor has contiguous rows, or contiguous
/// columns.
struct PartRows {
  int64_t rows = 0;
  bool packs = false;      // True iff something is done to B first, for each part again.
  bool of_thread = false;  // True iff one thread alone had better make all rows at once.
};
PartRows part_rows(DType dtype, int64_t m, int64_t n, int64_t k, bool a_has_rows, bool b_has_rows);

/// A product of which a thread makes some rows after the others. While one exists, products of this
/// thread that have the result last named are parts of it: they are made as the whole would be,
/// share what they have packed of B, and make the lines of memory that is written to next their
/// core's own as they go along. Lines that another core has read too take long to be written to,
/// but here nobody waits for them.
class ProductParts {
 public:
  /// Of so many rows in all.
  explicit ProductParts(int64_t rows);
  ~ProductParts();
  ProductParts(const ProductParts&) = delete;
  ProductParts& operator=(const ProductParts&) = delete;
  /// The next part's result begins here, and nothing is claimed yet.
  void next(const void* result) {
    result_ = result;
    n_claimed_ = 0;
  }
  /// Lies as the result does, in elements of the same size, and is written to after it. More than a
  /// few are not looked after.
  void claim(void* rows) {
    if (n_claimed_ < kMostClaimed) claimed_[n_claimed_++] = static_cast<char*>(rows);
  }

  int64_t rows() const { return rows_; }
  const void* result() const { return result_; }
  std::span<char* const> claimed() const { return {claimed_, n_claimed_}; }

  /// What of B lies packed in the thread's scratch memory.
  struct Packed {
    const void* b = nullptr;  // Null: nothing.
    int64_t row = 0, col = 0, n = 0, k = 0;
    const void* where = nullptr;
    bool operator==(const Packed&) const = default;
  };
  Packed packed;

 private:
  static constexpr size_t kMostClaimed = 4;
  const int64_t rows_;
  const void* result_ = nullptr;
  ProductParts* outer_;
  char* claimed_[kMostClaimed];
  size_t n_claimed_ = 0;
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
