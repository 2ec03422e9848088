#include "tandem/ops/linalg_detail.h"

#include "tandem/ops/binary.h"
#include "tandem/ops/creation.h"
#include "tandem/ops/view.h"

namespace tandem::linalg_detail {

std::string shown(const char* op) {
  std::string name = op;
  if (name.rfind("linalg_", 0) == 0) name[6] = '.';
  return name;
}

void check_matrix(const char* op, const TensorType& a, const char* name) {
  TANDEM_CHECK_SHAPE(a.dim() >= 2, shown(op), ": The input tensor ", name,
                     " must have at least 2 dimensions, got shape ", a.sizes);
  TANDEM_CHECK_TYPE(is_floating(a.dtype), shown(op),
                    ": Expected a floating point tensor as input. Got ", a.dtype);
  TANDEM_CHECK_TYPE(a.dtype == kFloat || a.dtype == kDouble, shown(op),
                    ": Low precision dtypes not supported. Got ", a.dtype,
                    " (convert with .to(torch::kFloat))");
}

void check_square(const char* op, const TensorType& a, const char* name) {
  check_matrix(op, a, name);
  const int64_t rows = a.sizes[a.sizes.size() - 2], cols = a.sizes.back();
  TANDEM_CHECK_SHAPE(rows == cols, shown(op), ": ", name,
                     " must be batches of square matrices, but they are ", rows, " by ", cols,
                     " matrices");
}

void infer_solution(const InferArgs& args) {
  const TensorType &a = args.in(0), &b = args.in(1);
  const char* op = args.op.name;
  check_square(op, a);
  check_matrix(op, b, "B");
  TANDEM_CHECK_TYPE(a.dtype == b.dtype, shown(op),
                    ": Expected A and B to have the same dtype, but found A of type ", a.dtype,
                    " and B of type ", b.dtype, " instead");
  TANDEM_CHECK_SHAPE(a.sizes.back() == b.sizes[b.sizes.size() - 2], shown(op),
                     ": Incompatible shapes of A and B for the equation AX = B: ", a.sizes, " and ",
                     b.sizes);
  args.out().sizes = b.sizes;
  args.out().dtype = b.dtype;
}

std::string which(const kernels::LapackInfo& info, int64_t batch_dims) {
  return batch_dims > 0 ? str("(Batch element ", info.batch, "): ") : "";
}

void check_invertible(const char* op, const kernels::LapackInfo& info, int64_t batch_dims,
                      const char* what) {
  TANDEM_CHECK(info.code == 0, shown(op), ": ", which(info, batch_dims), "The diagonal element ",
               info.code, " is zero, the ", what,
               " could not be completed because the input matrix is singular.");
}

void check_converged(const char* op, const kernels::LapackInfo& info, int64_t batch_dims) {
  TANDEM_CHECK(info.code == 0, shown(op), ": ", which(info, batch_dims),
               "The algorithm failed to converge because the input matrix is ill-conditioned or "
               "has too many repeated values (error code: ",
               info.code, ").");
}

Dims batch_sizes(IntArrayRef sizes, int64_t dims) {
  return Dims(sizes.slice(0, sizes.size() - static_cast<size_t>(dims)));
}

Dims with(Dims batch, std::initializer_list<int64_t> sizes) {
  batch.append(sizes.begin(), sizes.end());
  return batch;
}

std::pair<Tensor, Tensor> broadcast_batches(const char* op, const Tensor& a, const Tensor& b) {
  const Dims ba = batch_sizes(a.sizes()), bb = batch_sizes(b.sizes());
  if (ba == bb) return {a, b};
  const Dims batch = broadcast_shapes(op, ba, bb);
  return {a.expand(with(batch, {a.size(-2), a.size(-1)})),
          b.expand(with(batch, {b.size(-2), b.size(-1)}))};
}

Tensor over_matrix(const Tensor& x) { return x.unsqueeze(-1).unsqueeze(-1); }

Tensor identity_like(const Tensor& a) { return eye(a.size(-1), a.options()).expand(a.sizes()); }

Tensor scale_columns(const Tensor& a, const Tensor& d) { return a * d.unsqueeze(-2); }
Tensor scale_rows(const Tensor& d, const Tensor& a) { return d.unsqueeze(-1) * a; }

}  // namespace tandem::linalg_detail
