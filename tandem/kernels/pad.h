#pragma once

#include "tandem/core/shape.h"

// Arrays with a border. A padding is given as LibTorch gives it: two numbers for each dimension,
// what is added before and after, the last dimension first. Negative numbers cut off.
namespace tandem::kernels {

enum class PadMode : uint8_t { Reflect, Replicate, Circular };

/// out = x with elements of one value around it; `value` points to an element of x's dtype.
void pad_constant(const Array& x, IntArrayRef padding, const void* value, const Array& out);
/// out = x continued beyond its borders.
void pad(const Array& x, IntArrayRef padding, PadMode mode, const Array& out);
/// What pad does, transposed: each element of g is added where pad reads. The order of additions is
/// that of g's elements.
void pad_transposed(const Array& g, IntArrayRef padding, PadMode mode, const Array& out);

}  // namespace tandem::kernels
