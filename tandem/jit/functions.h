#pragma once

#include <string_view>

namespace tandem::jit {

/// The address of a function that generated code calls; null if there is none of that name.
///
///   tandem_call_TYPE_NAME(x, n)             x[i] = NAME(x[i]), NAME of
///   kernels/simd/lane_functions.h tandem_call_TYPE_NAME(x, y, n)          x[i] = NAME(x[i], y[i])
///   tandem_patch_TYPE_NAME(to, x, bits, n)  to[i] = NAME(x[i]) where bit i is set
///   tandem_push_TYPE_COMBINE(counter, x)    the next block's value of a long reduction
///   tandem_finish_TYPE_COMBINE(counter)     the combined value
///   memcpy
void* find_function(std::string_view symbol);

}  // namespace tandem::jit
