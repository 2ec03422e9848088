#pragma once

#include "tandem/core/scalar.h"

namespace tandem::detail {

/// Throws for a number that cannot be one of the dtype: those that are too large, and what is not
/// finite where the dtype is whole. Fractions are cut off, and negative whole numbers wrap in an
/// unsigned dtype.
void refuse_unfit(const char* op, const Scalar& value, DType t);

inline void check_fits(const char* op, const Scalar& value, DType t) {
  // What nearly all programs fill with fits everywhere.
  const double v = value.toDouble();
  if (!(v >= 0 && v <= 127)) refuse_unfit(op, value, t);
}

}  // namespace tandem::detail
