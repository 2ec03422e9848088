#pragma once

#include <cstdint>

/// The loops of CTC over the states of one step, compiled once for each instruction set. All work
/// on whole registers: n is a multiple of kCtcLanes.
namespace tandem::kernels {

inline constexpr int64_t kCtcLanes = 16;

/// T is float or double; everything is a logarithm unless it says otherwise.
template <class T>
struct CtcOps {
  /// to[s] = log(exp(from[s]) + exp(from[s - 1]) + exp(from[s - 2] + skip[s])) + emit[s]
  void (*forward)(const T* from, const T* skip, const T* emit, T* to, int64_t n);
  /// With b = log(exp(from[s]) + exp(from[s + 1]) + exp(from[s + 2] + skip[s + 2])):
  /// to[s] = b + emit[s], and share[s] = exp(alpha[s] + b + loss), no logarithm.
  void (*backward)(const T* from, const T* skip, const T* emit, const T* alpha, T loss, T* to,
                   T* share, int64_t n);
  /// out[i] = exp(x[i]) - share[i] for any n.
  void (*exp_minus)(const T* x, const T* share, T* out, int64_t n);
};

template <class T>
const CtcOps<T>& ctc_ops();

}  // namespace tandem::kernels
