#pragma once

#include <cstdint>

namespace tandem::kernels {

/// Windows side by side of `inner` channels: `windows` of them, window_step apart, each of which
/// has `rows` runs, row_step apart, of n elements, `step` apart. The elements of the first run have
/// the numbers first_number, first_number + 1, ..., those of the second begin row_number later.
struct WindowRow {
  int64_t windows, window_step, rows, row_step, n, step, inner;
};

/// The inner loops of pooling, for float and double, compiled for each instruction set. Numbers of
/// elements within a window are kept as C, in which they are exact.
template <class C>
struct PoolOps {
  /// For i < n: best[i] = the greatest of taps[0][i], taps[1][i], ..., number[i] = numbers[t] of
  /// the tap it came from; number[i] is given as what it is if none is greater than -inf.
  void (*max_taps)(const C* const* taps, const C* numbers, int64_t n_taps, int64_t n, C* best,
                   C* number);
  /// out[i] = (taps[0][i] + taps[1][i] + ...) / divisor[i].
  void (*average_taps)(const C* const* taps, int64_t n_taps, int64_t n, const C* divisor, C* out);
  /// Both for windows two columns wide that lie side by side, straight from the rows: the taps are
  /// rows[0][2 i], rows[0][2 i + 1], rows[1][2 i], ...
  void (*max_pairs)(const C* const* rows, const C* numbers, int64_t n_rows, int64_t n, C* best,
                    C* number);
  void (*average_pairs)(const C* const* rows, int64_t n_rows, int64_t n, const C* divisor, C* out);
  /// taps[t][i] += g[i] / divisor[i], for taps in their order within i in its order.
  void (*spread_taps)(C* const* taps, int64_t n_taps, int64_t n, const C* g, const C* divisor);
  /// out[i] = x[i * stride].
  void (*pick)(const C* x, int64_t stride, int64_t n, C* out);

  /// n elements of `inner` channels, `step` apart: best and number go on with element number,
  /// number + 1, ...
  void (*max_run)(const C* x, int64_t step, int64_t n, int64_t inner, C first_number, C* best,
                  C* number);
  /// The same for each of a row of windows: best and number of the next window follow those of the
  /// one before, `inner` of them.
  void (*max_windows)(const WindowRow& w, const C* x, C first_number, C row_number, C* best,
                      C* number);
  /// x[c] += g[c] where number[c] is that of the element: what max_windows took x from, backwards.
  void (*spread_windows)(const WindowRow& w, C* x, C first_number, C row_number, const C* g,
                         const C* number);
  /// sum[c] += x[c] for each of n elements.
  void (*add_run)(const C* x, int64_t step, int64_t n, int64_t inner, C* sum);
  /// out[p] = the sum of the p-th n elements of x, divided by n.
  void (*average_planes)(const C* x, int64_t planes, int64_t n, C* out);
  /// x[c] += value[c] for each of n elements.
  void (*spread_run)(C* x, int64_t step, int64_t n, int64_t inner, const C* value);
};
template <class C>
const PoolOps<C>& pool_ops();
template <>
const PoolOps<float>& pool_ops<float>();
template <>
const PoolOps<double>& pool_ops<double>();

}  // namespace tandem::kernels
