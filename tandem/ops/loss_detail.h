#pragma once

#include "tandem/ops/loss.h"

namespace tandem::detail {

/// Throws unless it is one of the enumerators.
void check_reduction(const char* op, int64_t reduction);
/// The losses as they are, their mean or their sum.
Tensor reduced_loss(const char* op, const Tensor& losses, int64_t reduction);
/// The tensor if there is one.
inline Tensor given(const std::optional<Tensor>& t) { return t ? *t : Tensor(); }

}  // namespace tandem::detail
