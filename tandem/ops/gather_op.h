#pragma once

#include "tandem/core/op.h"
#include "tandem/kernels/index.h"

namespace tandem {

struct GatherAttrs {
  int64_t dim;
  TANDEM_FIELDS(dim)
};
struct ScatterAttrs {
  int64_t dim;
  kernels::ScatterFn fn;
  TANDEM_FIELDS(dim, fn)
};

/// x, index: out[i][j] = x[i][index[i][j]] for dim 1, and so on.
extern const OpDef kGather;
/// x, index, src: a copy of x with src written to, or added at, the places that gather would read.
extern const OpDef kScatter;

}  // namespace tandem
