#pragma once

#include <cstdint>

#include "tandem/core/shape.h"

/// Statistics of channels and of rows, and what is done with them: batch, layer, group and instance
/// norms.
///
/// Note: accuracy and order
/// Values are computed in float32 (float64 for float64), in strands that are added up in float64
/// every few thousand elements. Work is cut by shape alone, so results have the same bits for any
/// number of threads.
namespace tandem::kernels {

/// How the elements of a contiguous array belong to channels: element (n, b, s, l) of an array of
/// extents [batch, blocks, span, lanes] belongs to channel b * lanes + l.
struct Channels {
  int64_t batch = 1, blocks = 1, span = 1, lanes = 1;
  int64_t count() const { return blocks * lanes; }
  /// Elements of one channel.
  int64_t each() const { return batch * span; }
};

/// Mean, variance (divided by the number of elements) and 1 / sqrt(variance + eps) of each channel.
/// A single pass: deviations are from the mean of the channel's first elements. Outputs are
/// contiguous and of the compute type.
void channel_moments(const Array& x, const Channels& c, double eps, const Array& mean,
                     const Array& rstd, const Array& var);

/// out = ((x - mean) * rstd) * weight + bias. Weight and bias may be null: 1 and 0.
void channel_normalize(const Array& x, const Channels& c, const Array& mean, const Array& rstd,
                       const Array* weight, const Array* bias, const Array& out);

/// The same with a mean and an rstd for each of `groups` groups of the channels of each sample:
/// [batch * groups]. Weight and bias are for each channel. c has no lanes.
void group_normalize(const Array& x, const Channels& c, int64_t groups, const Array& mean,
                     const Array& rstd, const Array* weight, const Array* bias, const Array& out);

/// The sums over each channel of g and of g * (x - mean) * rstd. With a weight and a bias, g counts
/// only where ((x - mean) * rstd) * weight + bias > 0.
void channel_sums(const Array& g, const Array& x, const Channels& c, const Array& mean,
                  const Array& rstd, const Array* weight, const Array* bias, const Array& sum,
                  const Array& product);

/// out = ((g * weight - a) - (x - mean) * b) * scale, all but g and x one number a channel; weight
/// may be null: 1. With the right numbers this is the gradient by x of normalising with x's own
/// moments.
void channel_grad(const Array& g, const Array& x, const Channels& c, const Array& mean,
                  const Array* weight, const Array& a, const Array& b, const Array& scale,
                  const Array& out);

/// out = ((x - mean) * rstd) * weight + bias by the moments of each row of `length` elements, which
/// are given too, with rstd = 1 / sqrt(mean((x - mean)^2) + eps).
void row_norm(const Array& x, int64_t length, const Array* weight, const Array* bias, double eps,
              const Array& out, const Array& mean, const Array& rstd);

/// The gradient by x: with h = g * weight and d = (x - mean) * rstd,
/// out = ((h - mean(h)) - d * mean(h * d)) * rstd.
void row_norm_grad(const Array& g, const Array& x, int64_t length, const Array& mean,
                   const Array& rstd, const Array* weight, const Array& out);

/// The gradients by weight and bias: the sums over rows of g * ((x - mean) * rstd) and of g.
void row_norm_sums(const Array& g, const Array& x, int64_t length, const Array& mean,
                   const Array& rstd, const Array& weight_grad, const Array& bias_grad);

}  // namespace tandem::kernels
