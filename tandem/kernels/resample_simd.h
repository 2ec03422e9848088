#pragma once

#include <cstdint>

namespace tandem::kernels {

/// The inner loops of resampling, compiled for each instruction set.
template <class C>
struct ResampleOps {
  /// out[i] = rows[0][i] * weights[0] + rows[1][i] * weights[1] + ...
  void (*combine)(const C* const* rows, const C* weights, int64_t n_rows, int64_t n, C* out);
  /// out[i] += x[i] * weight.
  void (*add_scaled)(const C* x, C weight, int64_t n, C* out);
  /// out[i] = x[at[2 i]] * weight[2 i] + x[at[2 i + 1]] * weight[2 i + 1].
  void (*two_taps)(const C* x, const int32_t* at, const C* weight, int64_t n, C* out);
  /// out[i] = x[at[0][i]] * weight[0][i] + x[at[1][i]] * weight[1][i] + ..., where entry t of at
  /// and weight begins at t * pitch. What is at -1 is 0.
  void (*gather)(const C* x, const int32_t* at, const C* weight, int64_t n_taps, int64_t pitch,
                 int64_t n, C* out);
};
template <class C>
const ResampleOps<C>& resample_ops();
template <>
const ResampleOps<float>& resample_ops<float>();
template <>
const ResampleOps<double>& resample_ops<double>();

}  // namespace tandem::kernels
