#pragma once

#include "tandem/core/op.h"

/// The view ops and their attributes, for those who rewrite graphs.
namespace tandem {

struct ViewAttrs {
  Dims sizes;
  TANDEM_FIELDS(sizes)
};
extern const OpDef kView;

struct PermuteAttrs {
  Dims dims;  // dimension i of the result is dimension dims[i] of the input
  TANDEM_FIELDS(dims)
};
extern const OpDef kPermute;

struct ExpandAttrs {
  Dims sizes;
  TANDEM_FIELDS(sizes)
};
extern const OpDef kExpand;

struct SliceAttrs {
  int64_t dim, start, length, step;
  TANDEM_FIELDS(dim, start, length, step)
};
extern const OpDef kSlice;

struct SelectAttrs {
  int64_t dim, index;
  TANDEM_FIELDS(dim, index)
};
extern const OpDef kSelect;

}  // namespace tandem
