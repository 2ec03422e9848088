#pragma once

/// Names that LibTorch has beside those that Tandem's own headers use.

#include <cstdint>

#include "tandem/core/cuda.h"
#include "tandem/core/tensor.h"

namespace tandem {

inline constexpr DType kU8 = kByte;
inline constexpr DType kI8 = kChar;
inline constexpr DType kI16 = kShort;
inline constexpr DType kI32 = kInt;
inline constexpr DType kI64 = kLong;
inline constexpr DType kF16 = kHalf;
inline constexpr DType kF32 = kFloat;
inline constexpr DType kF64 = kDouble;

using IntList = IntArrayRef;

// Programs call these whether there is a GPU or not, and without one they do nothing.
namespace cuda {
inline void manual_seed(uint64_t) {}
inline void manual_seed_all(uint64_t) {}
inline void synchronize(int64_t = -1) {}
}  // namespace cuda

}  // namespace tandem
