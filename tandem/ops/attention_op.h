#pragma once

#include "tandem/core/apply.h"
#include "tandem/kernels/attention.h"

/// What the ops of attention share: attention.cpp has those on queries, keys and values,
/// attention_packed.cpp those on the three in one tensor.
namespace tandem {

struct AttentionAttrs {
  bool causal = false;
  double scale = 1;
  double dropout = 0;
  TANDEM_FIELDS(causal, scale, dropout)
};

struct AttentionBackwardAttrs {
  bool causal = false;
  double scale = 1;
  double dropout = 0;
  bool masked = false;     // True iff there is a mask among the inputs.
  bool mask_grad = false;  // True iff the gradient by the scores is wanted too.
  TANDEM_FIELDS(causal, scale, dropout, masked, mask_grad)
};

// Inputs: query, key, value, then the mask if there is one. Outputs: the result, and for each query
// the logarithm of its sum of exponentials. With dropout a generator's state comes first.
extern const OpDef kAttention;
extern const OpDef kAttentionDropout;
// Inputs: gradient, query, key, value, both outputs, then mask and state. Outputs: the gradients by
// query, key, value and, if wanted, by the scores.
extern const OpDef kAttentionBackward;

namespace attention {

/// Throws unless queries, keys, values, mask (null: none) and dropout go together.
void check_types(const TensorType& q, const TensorType& k, const TensorType& v,
                 const TensorType* mask, double dropout);
/// Throws unless it is the state of a generator.
void check_state(const OpDef& op, const TensorType& state);
DType sum_dtype(DType t);
/// The sizes with other last two.
Dims with_last(IntArrayRef sizes, int64_t rows, int64_t cols);

/// Fills in causal, scale and, from the state (null: none), what dropout needs.
void fill_call(kernels::Attention& call, bool causal, double scale, double dropout,
               const Array* state);

/// The weights before dropout, in public ops. The mask may be undefined.
Tensor weights_of(const Tensor& q, const Tensor& k, const Tensor& mask, bool causal, double scale);
/// Seed and counter for weights of that shape, [..., queries, keys]; undefined if none are dropped.
Tensor draw_state(IntArrayRef weights, double dropout, Device device);
/// What weights are multiplied by: 0 where they are dropped. The same numbers as the kernel draws.
Tensor dropout_factors(const Tensor& state, const Tensor& q, const Tensor& k, double dropout);

/// What the gradient of attention's gradient is made of: see second_order.
struct SecondOrder {
  Tensor g, q, k, v;     // what backward read
  Tensor mask, factors;  // undefined: none
  Tensor x, y, z, w;     // what flows back into dq, dk, dv and, if defined, dscores
  bool causal = false;
  double scale = 1;
};
struct SecondOrderGrads {
  Tensor g, q, k, v, scores;
};
SecondOrderGrads second_order(const SecondOrder& s);

}  // namespace attention
}  // namespace tandem
