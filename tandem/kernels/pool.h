#pragma once

#include <array>
#include <optional>

#include "tandem/core/shape.h"

// Pooling over windows. Arrays are [planes..., spatial dimensions, channels side by side]: plain
// tensors have one channel there, blocked ones eight. Indices are either the number of an element
// within its plane (int64) or within its window (uint8), counted in row-major order.
namespace tandem::kernels {

/// Depth, rows and columns; dimensions that are not there have extent 1.
using Extents = std::array<int64_t, 3>;

/// Which windows there are. For adaptive pooling only the extents count.
struct PoolShape {
  int64_t planes = 1;
  int64_t inner = 1;  // channels side by side
  Extents in{1, 1, 1}, out{1, 1, 1};
  Extents kernel{1, 1, 1}, stride{1, 1, 1}, padding{0, 0, 0}, dilation{1, 1, 1};
};

/// The greatest element of each window and its index. A nan counts as greater than any number; of
/// equal elements the first is taken, of several nans the last.
void max_pool(const Array& x, const PoolShape& shape, const Array& values, const Array& index);
/// The same over adaptive windows, from floor(i * in / out) to ceil((i + 1) * in / out).
void adaptive_max_pool(const Array& x, const PoolShape& shape, const Array& values,
                       const Array& index);
/// The same over windows of the kernel's extents that begin at random places: samples is [planes,
/// n], numbers in [0, 1) for each of the n spatial dimensions.
void fractional_max_pool(const Array& x, const Array& samples, const PoolShape& shape,
                         const Array& values, const Array& index);

/// out = 0, and each element of g added where its index points. Indices that point outside are
/// left out.
void pool_scatter(const Array& g, const Array& index, const PoolShape& shape, const Array& out);
/// out[i] = what index[i] points to in x; 0 where that is outside.
void pool_gather(const Array& x, const Array& index, const PoolShape& shape, const Array& out);

/// What the sum of a window is divided by.
struct PoolDivisor {
  bool count_padding = true;
  std::optional<int64_t> fixed = std::nullopt;
};
void avg_pool(const Array& x, const PoolShape& shape, const PoolDivisor& divisor, const Array& out);
/// avg_pool transposed: its gradient.
void avg_pool_transposed(const Array& g, const PoolShape& shape, const PoolDivisor& divisor,
                         const Array& out);
void adaptive_avg_pool(const Array& x, const PoolShape& shape, const Array& out);
void adaptive_avg_pool_transposed(const Array& g, const PoolShape& shape, const Array& out);

}  // namespace tandem::kernels
