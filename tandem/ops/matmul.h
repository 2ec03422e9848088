#pragma once

#include "tandem/core/tensor.h"

namespace tandem {

/// The product of matrices, vectors, or batches of either, which broadcast.
Tensor matmul(const Tensor& x, const Tensor& y);
Tensor mm(const Tensor& x, const Tensor& y);
Tensor bmm(const Tensor& x, const Tensor& y);
Tensor mv(const Tensor& matrix, const Tensor& vector);
Tensor dot(const Tensor& x, const Tensor& y);
Tensor vdot(const Tensor& x, const Tensor& y);
/// Sums over the last dimension of both.
Tensor inner(const Tensor& x, const Tensor& y);
Tensor outer(const Tensor& x, const Tensor& y);
Tensor ger(const Tensor& x, const Tensor& y);

/// beta * input + alpha * (mat1 x mat2). With beta = 0 the input's values do not matter.
Tensor addmm(const Tensor& input, const Tensor& mat1, const Tensor& mat2, const Scalar& beta = 1,
             const Scalar& alpha = 1);
Tensor addmv(const Tensor& input, const Tensor& matrix, const Tensor& vector,
             const Scalar& beta = 1, const Scalar& alpha = 1);
Tensor addr(const Tensor& input, const Tensor& vec1, const Tensor& vec2, const Scalar& beta = 1,
            const Scalar& alpha = 1);
Tensor baddbmm(const Tensor& input, const Tensor& batch1, const Tensor& batch2,
               const Scalar& beta = 1, const Scalar& alpha = 1);
/// Like baddbmm, with the products summed over the batch.
Tensor addbmm(const Tensor& input, const Tensor& batch1, const Tensor& batch2,
              const Scalar& beta = 1, const Scalar& alpha = 1);

/// input x weight^T + bias; weight is [out, in].
Tensor linear(const Tensor& input, const Tensor& weight,
              const std::optional<Tensor>& bias = std::nullopt);
/// input1^T W input2 + bias for each of the matrices W that weight holds: [out, in1, in2].
Tensor bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight,
                const std::optional<Tensor>& bias = std::nullopt);

}  // namespace tandem
