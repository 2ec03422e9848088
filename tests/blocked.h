#pragma once

#include "tandem/kernels/conv.h"
#include "tandem/ops/conv_op.h"

namespace tandem::test {

/// True iff convolutions in compiled programs use blocked layouts here: that needs AVX2, and
/// oneDNN, which ThreadSanitizer cannot see into and is built without.
inline bool convolutions_are_blocked() {
  kernels::WeightOrder order;
  const ConvAttrs attrs{{1, 1}, {0, 0}, {0, 0}, {1, 1}, 1, {}};
  return kernels::blocked_conv_order(
      kernels::ConvPart::y, conv_form(attrs, {2, 16, 6, 7}, {8, 16, 3, 3}, {2, 8, 4, 5}), &order);
}

}  // namespace tandem::test
