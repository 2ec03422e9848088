#pragma once

#include "tandem/core/tensor.h"

namespace tandem {

Tensor clone(const Tensor& x, std::optional<MemoryFormat> f = std::nullopt);

}  // namespace tandem
