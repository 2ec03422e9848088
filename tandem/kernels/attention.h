#pragma once

#include <cstdint>

#include "tandem/core/shape.h"

/// Scaled dot-product attention, tile by tile: softmax(scale * q k^T + mask) v.
///
/// The matrix of scores is never held. A tile of it (some queries against some keys) is made, used
/// and forgotten; sums over the keys so far are corrected whenever a greater score turns up, so
/// that one pass suffices. Backward makes the tiles again from the logarithm of each row's sum.
///
/// Tiles are cut by the shape alone and added up in order: the bits do not depend on the number of
/// threads, nor on strides.
namespace tandem::kernels {

/// q is [..., L, E], k [..., S, E], v [..., S, Ev], with the same leading dimensions, of one
/// floating dtype; the 16-bit ones are computed in float32. Any strides.
struct Attention {
  Array q, k, v;
  /// Broadcasts to [..., L, S]; no data: none. Of dtype bool: true takes part; of q's dtype: added
  /// to the scores.
  Array mask;
  bool causal = false;  // key j takes part for query i only if j <= i
  double scale = 1;
  /// Each weight is kept with probability 1 - dropout, and then divided by it. Weight (row, key)
  /// gets number row * padded_keys(S) + key of those that fill_random's Bernoulli draws.
  double dropout = 0;
  uint64_t seed = 0, counter = 0;
};

/// The keys of a row that random numbers are counted for: whole blocks of the cipher.
constexpr int64_t padded_keys(int64_t keys) { return (keys + 3) / 4 * 4; }

/// out is [..., L, Ev] with any strides, lse [..., L] the logarithm of each row's sum of
/// exponentials (float64 for float64, float32 otherwise), contiguous. A row without any key gives
/// zeros if there are no keys at all, and NaN if all are masked.
void attention(const Attention& a, const Array& out, const Array& lse);

/// The gradients by q, k, v, with any strides, and, unless it has no data, by the scores before
/// softmax ([..., L, S], contiguous). `out` and `lse` are what `attention` gave, `grad` the
/// gradient by out.
void attention_backward(const Attention& a, const Array& grad, const Array& out, const Array& lse,
                        const Array& dq, const Array& dk, const Array& dv, const Array& dscores);

}  // namespace tandem::kernels
