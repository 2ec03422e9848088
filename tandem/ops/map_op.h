#pragma once

#include "tandem/core/op.h"
#include "tandem/kernels/map_functions.h"

namespace tandem {

/// Constants of a pointwise formula; what they mean is said beside the formula in map_functions.h.
struct MapAttrs {
  double a = 0, b = 0, c = 0;
  TANDEM_FIELDS(a, b, c)
};

// Type rules of pointwise ops: shapes broadcast, and the dtype is ...
void infer_map(const InferArgs& a);         // the promoted one
void infer_map_float(const InferArgs& a);   // the promoted one; integers become the default dtype
void infer_map_truth(const InferArgs& a);   // bool
void infer_map_number(const InferArgs& a);  // the promoted one, which must not be bool
void infer_map_real(const InferArgs& a);    // the promoted one, which must be a float
void infer_map_whole(const InferArgs& a);   // the promoted one, which must be an integer

/// Runs the formula that the op names in `.map`; attributes, if any, are MapAttrs.
void map_kernel(const KernelArgs& a);

}  // namespace tandem
