#pragma once

#include <cstdint>

namespace tandem::kernels {

/// The loops of Winograd's convolution: kernels of 3 x 3 on squares of 2 x 2 results, of which each
/// is made of a square of 4 x 4 inputs. Transformed, a square is 16 points, and a convolution a
/// matrix product over channels at each of them.
///
/// Channels come in blocks of eight, side by side. Points are `point` floats apart.

/// A square of 4 x 4 or 2 x 2 positions of an image, of which some may lie outside: those are zero
/// where they are read, and not stored.
struct Square {
  int64_t offset;  // of position (0, 0) from the image's first, in floats; may lie outside
  int8_t top, bottom, left, right;  // positions from top to bottom - 1, left to right - 1 exist
};

struct WinogradOps {
  bool usable;  // False iff vectors hold less than eight numbers here.
  /// to[point * p + 8 * t] = B^T d B of squares[t], for eight channels.
  void (*inputs)(const float* image, int64_t row, const Square* squares, int64_t n, float* to,
                 int64_t point);
  /// The same of 2 x 2 gradients: A g A^T.
  void (*gradients)(const float* image, int64_t row, const Square* squares, int64_t n, float* to,
                    int64_t point);
  /// image = A^T m A, plus the bias of eight channels unless it is null, plus what it held (add),
  /// and then not below 0 (relu).
  void (*outputs)(const float* from, int64_t point, float* image, int64_t row,
                  const Square* squares, int64_t n, const float* bias, bool add, bool relu);
  /// For n squares t: m[8 * t + i] and m[next + 8 * t + i] = the sum over c of
  /// v[c / 8 * block + 8 * t + c % 8] times u[16 * c + i] and u[16 * c + 8 + i].
  void (*multiply)(int64_t channels, const float* v, int64_t block, const float* u, float* m,
                   int64_t next, int64_t n);
  /// u[point * p + i] = G g G^T for 16 kernels i, of which element k is at g[k * 16 + i].
  void (*weights)(const float* g, float* u, int64_t point);
  /// g[k * 8 + i] = G^T u G for eight kernels i at u[point * p + i].
  void (*weight_gradients)(const float* u, int64_t point, float* g);
};
const WinogradOps& winograd_ops();

}  // namespace tandem::kernels
