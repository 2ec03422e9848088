#pragma once

#include "tandem/core/tensor.h"

namespace tandem::data::detail {

/// Bytes as float32 numbers from 0 to 1; other images as they are.
Tensor zero_to_one(const Tensor& image);

}  // namespace tandem::data::detail
