#pragma once

#include "tandem/core/op.h"

namespace tandem {

struct CopyAttrs {
  Dims sizes;
  DType dtype;
  TANDEM_FIELDS(sizes, dtype)
};
/// Fresh memory with the input's values, broadcast to a shape and converted to a dtype: clone,
/// contiguous and to(dtype) are all this.
extern const OpDef kCopy;
/// What copy_ leaves behind: the second input in the type of the first.
extern const OpDef kCopyInto;

}  // namespace tandem
