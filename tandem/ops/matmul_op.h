#pragma once

#include "tandem/core/op.h"

namespace tandem {

/// Both product ops take their operands transposed (in the last two dimensions) on request:
/// gradients then need no views.
struct MatmulAttrs {
  bool trans_a = false;
  bool trans_b = false;
  TANDEM_FIELDS(trans_a, trans_b)
};
struct AddmmAttrs {
  double beta = 1, alpha = 1;
  bool trans_a = false;
  bool trans_b = false;
  TANDEM_FIELDS(beta, alpha, trans_a, trans_b)
};

extern const OpDef kMm;     // 2-d
extern const OpDef kBmm;    // 3-d; a batch of extent 1 repeats
extern const OpDef kAddmm;  // beta * input + alpha * a x b, 2-d

/// Their rules for vmap; ops/matmul_batch.cpp.
void mm_batch(const BatchArgs& a);
void bmm_batch(const BatchArgs& a);
void addmm_batch(const BatchArgs& a);
void dot_batch(const BatchArgs& a);

/// op(x) x op(y) for 2-d or 3-d tensors.
Tensor mm_form(const Tensor& x, const Tensor& y, bool trans_x, bool trans_y);
Tensor bmm_form(const Tensor& x, const Tensor& y, bool trans_x, bool trans_y);

}  // namespace tandem
