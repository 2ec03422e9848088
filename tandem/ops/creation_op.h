#pragma once

#include "tandem/core/op.h"

/// Ops whose result is one value everywhere, for those who rewrite graphs.
namespace tandem {

struct FullAttrs {
  Dims sizes;
  DType dtype;
  Device device;
  Scalar value;
  TANDEM_FIELDS(sizes, dtype, device, value)
};
extern const OpDef kFull;

struct FillAttrs {
  Scalar value;
  TANDEM_FIELDS(value)
};
/// The type of its input with one value everywhere: what fill_ and zero_ leave behind.
extern const OpDef kFill;

}  // namespace tandem
