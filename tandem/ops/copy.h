#pragma once

#include "tandem/core/tensor.h"

namespace tandem {

Tensor clone(const Tensor& x, std::optional<MemoryFormat> f = std::nullopt);
inline Tensor& detach_(const Tensor& x) { return x.detach_(); }

}  // namespace tandem
