#pragma once

#include "tandem/core/op.h"

namespace tandem {

struct CatAttrs {
  int64_t dim;
  Dims lengths;  // of each input along dim
  TANDEM_FIELDS(dim, lengths)
};
extern const OpDef kCat;

}  // namespace tandem
