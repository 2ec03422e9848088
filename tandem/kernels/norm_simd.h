#pragma once

#include <cstdint>

/// The element loops of norms, compiled once for each instruction set.
///
/// "Strands": element i of a run goes to strand i % kNormStrands, and parameters of a run are given
/// once for each strand. Functions whose name ends in _row take parameters and sums one for each
/// element instead.
namespace tandem::kernels {

/// 64 bytes of T.
template <class T>
inline constexpr int64_t kNormStrands = 64 / static_cast<int64_t>(sizeof(T));

/// T is float or double. No argument may overlap an output, but `out` may be `x` or `g`.
template <class T>
struct NormOps {
  /// sum += d, squares += d * d with d = x - shift.
  void (*moments)(const T* x, int64_t n, const T* shift, T* sum, T* squares);
  void (*moments_row)(const T* x, int64_t n, const T* shift, T* sum, T* squares);
  /// sum += g, product += g * (x - shift).
  void (*sums)(const T* g, const T* x, int64_t n, const T* shift, T* sum, T* product);
  void (*sums_row)(const T* g, const T* x, int64_t n, const T* shift, T* sum, T* product);
  /// The same with g where ((x - shift) * scale) * weight + bias > 0 and 0 elsewhere.
  void (*gated_sums)(const T* g, const T* x, int64_t n, const T* shift, const T* scale,
                     const T* weight, const T* bias, T* sum, T* product);
  void (*gated_sums_row)(const T* g, const T* x, int64_t n, const T* shift, const T* scale,
                         const T* weight, const T* bias, T* sum, T* product);
  /// out = ((x - shift) * scale) * weight + bias.
  void (*normalize)(const T* x, int64_t n, const T* shift, const T* scale, const T* weight,
                    const T* bias, T* out);
  void (*normalize_row)(const T* x, int64_t n, const T* shift, const T* scale, const T* weight,
                        const T* bias, T* out);
  /// out = ((g * weight - a) - (x - shift) * b) * scale.
  void (*grad)(const T* g, const T* x, int64_t n, const T* shift, const T* weight, const T* a,
               const T* b, const T* scale, T* out);
  void (*grad_row)(const T* g, const T* x, int64_t n, const T* shift, const T* weight, const T* a,
                   const T* b, const T* scale, T* out);

  /// out = ((x - shift) * rstd) * weight + bias, with one shift and rstd for all.
  void (*affine)(const T* x, int64_t n, T shift, T rstd, const T* weight, const T* bias, T* out);
  /// d = (x - shift) * rstd; product = h * d.
  void (*centre)(const T* x, const T* h, int64_t n, T shift, T rstd, T* d, T* product);
  /// out = g * weight.
  void (*multiply)(const T* g, const T* weight, int64_t n, T* out);
  /// out = ((h - a) - d * b) * rstd.
  void (*combine)(const T* h, const T* d, int64_t n, T a, T b, T rstd, T* out);
  /// weight_grad += g * ((x - shift) * rstd), bias_grad += g.
  void (*param_row)(const T* g, const T* x, int64_t n, T shift, T rstd, T* weight_grad,
                    T* bias_grad);
};

template <class T>
const NormOps<T>& norm_ops();

}  // namespace tandem::kernels
