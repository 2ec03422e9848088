#include "tandem/nn/functional/linear.h"

#include "tandem/ops/ops.h"

namespace tandem::nn::functional {

Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  return tandem::linear(input, weight, bias);
}
Tensor bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight,
                const Tensor& bias) {
  return tandem::bilinear(input1, input2, weight, bias);
}

}  // namespace tandem::nn::functional
