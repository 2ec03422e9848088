#pragma once

#include "tandem/core/op.h"

namespace tandem {

/// Attributes of sum, mean, prod, any, all and their like.
struct ReduceAttrs {
  Dims dims;
  bool keepdim = false;
  DType dtype = DType::Undefined;  // of the result; Undefined: by rule
  TANDEM_FIELDS(dims, keepdim, dtype)
};
extern const OpDef kSum;
extern const OpDef kMean;
extern const OpDef kProd;

struct SumToAttrs {
  Dims sizes;
  TANDEM_FIELDS(sizes)
};
/// The opposite of broadcasting.
extern const OpDef kSumTo;

}  // namespace tandem
