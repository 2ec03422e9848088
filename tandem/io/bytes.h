#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem::io {

/// The number of bytes of a tensor; false if that does not fit.
bool byte_size(IntArrayRef shape, size_t element_size, size_t& bytes);

/// A dense tensor of bytes that are there already. It shares them, and `owner` with them, unless
/// they are not aligned. Throws FileError, with `what` in front, if a truth value is neither 0
/// nor 1.
Tensor tensor_in_memory(char* data, DType dtype, IntArrayRef shape,
                        std::shared_ptr<const void> owner, const std::string& what);

}  // namespace tandem::io
