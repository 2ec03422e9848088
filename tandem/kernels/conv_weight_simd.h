#pragma once

#include <cstdint>

namespace tandem::kernels {

/// Where the loops of a blocked convolution's gradient by the weight find their numbers: `rows`
/// rows of n positions, eight channels at each.
struct OuterRows {
  const float* y;
  int64_t y_row;      // from one row to the next
  const float* x[3];  // channels of x, or the same ones at neighbouring places
  int64_t x_row, x_step;
  int64_t rows, n;
  int64_t images, y_image, x_image;
};

/// For the eight (or four) channels o of y from y[0] on and for each of the given x:
/// sums[o * step + t * 8 + i] += the sum over all positions of y[o] * x[t][i].
struct OuterOps {
  bool usable;  // False iff vectors hold less than eight numbers here.
  void (*four_by_3)(const OuterRows& r, float* sums, int64_t step);
  void (*four_by_2)(const OuterRows& r, float* sums, int64_t step);
  void (*eight_by_1)(const OuterRows& r, float* sums, int64_t step);
};
const OuterOps& outer_ops();

}  // namespace tandem::kernels
