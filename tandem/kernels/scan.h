#pragma once

#include <cstdint>

#include "tandem/core/shape.h"

/// Running results along one dimension.
namespace tandem::kernels {

enum class ScanFn : uint8_t { Sum, Prod, Max, Min, LogSumExp };

/// out[i] = fn of in[0..i] along dim; `out` has in's shape and may be `in`.
///
/// Floats are accumulated in double, integers in int64; elements are converted to out's kind first.
/// Max and Min keep the later of two equal elements, a nan from where it stands onward, and write
/// the position to `indices` (int64, out's shape) unless that is null.
void scan(ScanFn fn, const Array& in, int64_t dim, const Array& out, const Array* indices = nullptr,
          bool reverse = false);

/// out[i] = b[i] + a[i] * out[i - 1] along dim (out[i + 1] when `reverse`), with 0 before the
/// first. All have one shape and a floating dtype; sums are kept in double.
void recurrence(const Array& a, const Array& b, int64_t dim, bool reverse, const Array& out);

}  // namespace tandem::kernels
