#pragma once

#include "tandem/core/apply.h"
#include "tandem/kernels/norm.h"

/// Shared by the norm*.cpp files.
namespace tandem {

/// The dtype in which values of a floating dtype are computed, and statistics are kept.
inline DType compute_dtype(DType t) { return t == kDouble ? kDouble : kFloat; }

/// The input, if there is one.
inline const Array* optional_input(const KernelArgs& a, int i) {
  return i < a.n_inputs ? &a.in(i) : nullptr;
}

inline Tensor value_or_none(const std::optional<Tensor>& t) {
  return t && t->defined() ? *t : Tensor();
}

}  // namespace tandem
