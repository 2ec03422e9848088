#pragma once

#include <cstdint>

/// What the files rnn*.cpp share. Not for other kernels: use rnn.h.
namespace tandem::kernels {

/// The pointwise part of recurrent cells for `n` neighbouring units of one row, with the formulas
/// of the ops sigmoid and tanh.
///
/// gx: what the input gives to each gate, h: what the state before gives. The gates of a unit lie
/// `stride` elements apart in gx, gates and their gradients, and `h_stride` in h. No pointer may be
/// written through and read through another one, except dc.
template <class T>
struct GateOps {
  /// gates: the four after their functions (in, forget, cell, out).
  void (*lstm)(int64_t n, int64_t stride, const T* gx, int64_t h_stride, const T* h,
               const T* c_before, T* gates, T* c, T* out);
  /// gates: reset, update, new and the state's part of the new one. bias may be null.
  void (*gru)(int64_t n, int64_t stride, const T* gx, int64_t h_stride, const T* h, const T* bias,
              const T* h_before, T* gates, T* out);
  void (*tanh)(int64_t n, const T* gx, const T* h, T* out);
  void (*relu)(int64_t n, const T* gx, const T* h, T* out);

  /// dh: the gradient by the state (before a projection); dc: that by the cell after the step on
  /// entry, before it on return. dgates: by what went into the gates' functions.
  void (*lstm_backward)(int64_t n, int64_t stride, const T* gates, const T* c, const T* c_before,
                        const T* dh, T* dc, T* dgates);
  /// dnew: by the state's part of the new gate; carry: what goes past the gates to the state
  /// before.
  void (*gru_backward)(int64_t n, int64_t stride, const T* gates, const T* h_before, const T* dh,
                       T* dgates, T* dnew, T* carry);
  void (*tanh_backward)(int64_t n, const T* y, const T* dh, T* dgates);
  void (*relu_backward)(int64_t n, const T* y, const T* dh, T* dgates);
  /// out = o * tanh(c): the state before a projection.
  void (*lstm_state)(int64_t n, const T* o, const T* c, T* out);
};

template <class T>
const GateOps<T>& gate_ops();

}  // namespace tandem::kernels
