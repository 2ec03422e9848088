#pragma once

#include <cstdint>

/// The inner loops of reductions, compiled once for each instruction set.
///
/// Note: order of combination
/// Every instruction set combines in the same order, so a result does not depend on the machine. A
/// block of elements is dealt out to kLanes strands (element i to strand i % kLanes); the strands
/// are then folded in halves: strand j with strand j + kLanes / 2, and so on down to one.
namespace tandem::kernels {

enum class Combine : uint8_t { Sum, SumSquares, Prod, Max, Min };

/// Strands of a block: 128 bytes of T.
template <class T>
inline constexpr int64_t kLanes = 128 / static_cast<int64_t>(sizeof(T));

/// Rows that the column kernel takes at once.
inline constexpr int64_t kRowsAtOnce = 8;

/// T is float, double or int64_t.
template <class T>
struct CombineOps {
  /// Leaves any value as it is. For sums this is -0.0.
  T identity;
  /// a combined with b. Unlike the functions below, it never squares b.
  T (*join)(T a, T b);
  /// All n elements of x (n >= 0) in one value.
  T (*block)(const T* x, int64_t n);
  /// out[r] = block(x + r * stride, n) for r in [0, rows).
  void (*blocks)(const T* x, int64_t stride, int64_t n, int64_t rows, T* out);
  /// strands[i % kLanes] takes x[i]; the strands lie aligned to 64 bytes.
  void (*accumulate)(T* strands, const T* x, int64_t n);
  /// One value of kLanes strands.
  T (*fold)(const T* strands);
  /// a[i] takes b[i], which is itself a partial result.
  void (*merge)(T* a, const T* b, int64_t n);
  /// acc[i] takes row[i], an element. When `first`, acc holds nothing yet.
  void (*add_row)(T* acc, const T* row, int64_t n, bool first);
  /// acc[i] takes the elements x[offset[r] + i] of eight rows, folded in halves.
  void (*add_rows)(T* acc, const T* x, const int64_t* offset, int64_t n, bool first);
};

template <class T>
const CombineOps<T>& combine_ops(Combine kind);

/// Index of the first element equal to `value`, or of the first nan when value is nan; n if none.
template <class T>
int64_t find_first(const T* x, int64_t n, T value);

/// best[i], where[i] become row[i], r if row[i] is greater (less when `least`) or the first nan.
template <class T>
void arg_row(T* best, int64_t* where, const T* row, int64_t r, int64_t n, bool least);

/// Sum of (x[i] - mean)^2 in the order of CombineOps::block.
template <class T>
T squared_deviations(const T* x, int64_t n, T mean);

/// Sums of x[i] - mean and of its square, each in the order of CombineOps::block; n is at most
/// kMostDeviations.
inline constexpr int64_t kMostDeviations = 4096;
template <class T>
struct Deviations {
  T sum, squares;
};
template <class T>
Deviations<T> deviations(const T* x, int64_t n, T mean);

/// acc[i] += (row[i] - mean[i])^2.
template <class T>
void add_squared_deviations(T* acc, const T* row, const T* mean, int64_t n);

}  // namespace tandem::kernels
