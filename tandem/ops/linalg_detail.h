#pragma once

#include "tandem/core/apply.h"
#include "tandem/core/op.h"
#include "tandem/kernels/lapack.h"

/// What the files linalg_*.cpp share.
namespace tandem::linalg_detail {

/// "linalg.inv" for the op linalg_inv: the name users know.
std::string shown(const char* op);

/// At least two dimensions, float32 or float64.
void check_matrix(const char* op, const TensorType& a, const char* name = "A");
void check_square(const char* op, const TensorType& a, const char* name = "A");
/// The type of X in AX = B: for ops whose inputs are A, square, and B.
void infer_solution(const InferArgs& args);
/// Throws LibTorch's message if a matrix was singular.
void check_invertible(const char* op, const kernels::LapackInfo& info, int64_t batch_dims,
                      const char* what);
void check_converged(const char* op, const kernels::LapackInfo& info, int64_t batch_dims);
/// "(Batch element 2): " for batches, nothing for a single matrix.
std::string which(const kernels::LapackInfo& info, int64_t batch_dims);

/// The leading dimensions of a batch of matrices (or of vectors, if dims is 1).
Dims batch_sizes(IntArrayRef sizes, int64_t dims = 2);
Dims with(Dims batch, std::initializer_list<int64_t> sizes);

/// Both operands with their batch dimensions broadcast to a common shape.
std::pair<Tensor, Tensor> broadcast_batches(const char* op, const Tensor& a, const Tensor& b);

/// x[..., None, None]
Tensor over_matrix(const Tensor& x);
/// A batch of identities shaped and typed like the square matrices a.
Tensor identity_like(const Tensor& a);
/// The diagonal of each matrix multiplied into its columns (rows): a diag(d), diag(d) a.
Tensor scale_columns(const Tensor& a, const Tensor& d);
Tensor scale_rows(const Tensor& d, const Tensor& a);

}  // namespace tandem::linalg_detail
