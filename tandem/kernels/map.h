#pragma once

#include <cstdint>

#include "tandem/core/shape.h"
#include "tandem/kernels/map_functions.h"

namespace tandem::kernels {

/// out[i] = fn(in[0][i], in[1][i], ...).
///
/// Inputs are broadcast against out by NumPy's rule: dimensions are aligned at the end, an extent
/// of 1 or a missing dimension is repeated. Any dtype, any strides >= 0. The formula runs in the
/// compute type of `compute` (float32 for the 16-bit floats, int64 for integers and bool); operands
/// are converted to it and results back in small chunks. An input may be exactly `out`, element for
/// element; any other overlap of an input with out is the caller's to avoid.
///
/// Integer division by zero and a negative integer power throw tandem::Error.
void map(MapFn fn, const Array* in, int n_in, const Array& out, DType compute,
         const MapParams& params = {});

/// dst = src, converted and broadcast. Float to integer truncates towards zero; nan and what does
/// not fit becomes the smallest int32 or int64 and narrower integers keep its low bits (0). To bool
/// is != 0. The two may be the same memory with the same layout, otherwise they must not overlap.
void copy(const Array& src, const Array& dst);

/// dst[i] = value for every i, converted as by copy().
void fill(const Array& dst, double value);
void fill(const Array& dst, int64_t value);

/// dst[i] = src[i] for n elements that lie side by side.
void convert(DType from, const void* src, DType to, void* dst, int64_t n);

}  // namespace tandem::kernels
