#include "tandem/nn/functional/embedding.h"

#include "tandem/ops/ops.h"

namespace tandem::nn::functional {

Tensor one_hot(const Tensor& tensor, int64_t num_classes) {
  return tandem::one_hot(tensor, num_classes);
}

Tensor embedding(const Tensor& input, const Tensor& weight, const EmbeddingFuncOptions& o) {
  TANDEM_CHECK_SHAPE(weight.dim() == 2, "embedding: 'weight' must be 2-D, got shape ",
                     weight.sizes());
  int64_t padding = -1;
  if (o.padding_idx()) {
    const int64_t rows = weight.size(0);
    padding = *o.padding_idx();
    TANDEM_CHECK(padding >= -rows && padding < rows,
                 "Padding_idx must be within num_embeddings: ", padding, " is not one of ", rows,
                 " rows");
    if (padding < 0) padding += rows;
  }
  if (o.max_norm()) tandem::embedding_renorm_(weight, input, *o.max_norm(), o.norm_type());
  return tandem::embedding(weight, input, padding, o.scale_grad_by_freq(), o.sparse());
}

Tensor embedding_bag(const Tensor& input, const Tensor& weight, const EmbeddingBagFuncOptions& o) {
  Tensor index = input, offsets = o.offsets(), scales = o.per_sample_weights();
  TANDEM_CHECK_SHAPE(
      !scales.defined() || input.sizes() == scales.sizes(),
      "embedding_bag: If per_sample_weights (", scales.defined() ? scales.sizes() : IntArrayRef(),
      ") is not null, then it must have the same shape as the input (", input.sizes(), ")");
  if (input.dim() == 2) {
    TANDEM_CHECK(!offsets.defined(),
                 "If input is 2D, then offsets has to be null, as input is treated is a mini-batch "
                 "of fixed length sequences. However, found offsets of type Tensor");
    const int64_t bags = input.size(0), each = input.size(1);
    offsets = arange(bags, TensorOptions().dtype(kLong)) * each;
    if (o.include_last_offset()) offsets = arange(bags + 1, TensorOptions().dtype(kLong)) * each;
    index = input.reshape({-1});
    if (scales.defined()) scales = scales.reshape({-1});
  } else {
    TANDEM_CHECK_SHAPE(input.dim() == 1,
                       "input has to be 1D or 2D Tensor, but got Tensor of dimension ",
                       input.dim());
    TANDEM_CHECK(offsets.defined(), "offsets has to be a 1D Tensor but got null");
    TANDEM_CHECK_SHAPE(offsets.dim() == 1, "offsets has to be a 1D Tensor, got shape ",
                       offsets.sizes());
  }
  const bool max = std::holds_alternative<enumtype::kMax>(o.mode());
  const bool sum = std::holds_alternative<enumtype::kSum>(o.mode());
  TANDEM_CHECK(!max || !o.scale_grad_by_freq(),
               "max mode does not support scaling the gradient by the frequency");
  TANDEM_CHECK(!max || !o.sparse(), "max mode does not support sparse weights");
  TANDEM_CHECK(!scales.defined() || sum,
               "embedding_bag: per_sample_weights was not null. per_sample_weights is only "
               "supported for mode='kSum' (got mode='",
               enumtype::get_enum_name(o.mode()), "')");
  if (o.max_norm()) tandem::embedding_renorm_(weight, index, *o.max_norm(), o.norm_type());
  return std::get<0>(tandem::embedding_bag(weight, index, offsets, o.scale_grad_by_freq(),
                                           sum   ? 0
                                           : max ? 2
                                                 : 1,
                                           o.sparse(), scales, o.include_last_offset(),
                                           o.padding_idx()));
}

}  // namespace tandem::nn::functional
