#pragma once

#include <cstdint>

#include "tandem/kernels/map_functions.h"

// Between map.cpp and the files that hold the kernels of each group of functions.

namespace tandem::kernels {

enum Compute : uint8_t { kComputeF32, kComputeF64, kComputeI64, kNumComputes };

/// out[i] = f(in...[i]) for i < n over contiguous operands of the compute type. Bit k of `scalars`
/// set: operand k is one value.
using Inner = void (*)(void* out, const void* const* in, int64_t n, unsigned scalars,
                       const MapParams& params);

struct InnerTable {
  Inner inner[kNumMapFns][kNumComputes] = {};
};

// Each enters the functions of its group, compiled for the best instruction set of this machine.
void enter_arithmetic(InnerTable& table);
void enter_compare(InnerTable& table);
void enter_exponential(InnerTable& table);
void enter_special(InnerTable& table);
void enter_activation(InnerTable& table);
void enter_integers(InnerTable& table);

}  // namespace tandem::kernels
