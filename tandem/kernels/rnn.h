#pragma once

#include <cstdint>

#include "tandem/core/dtype.h"

namespace tandem::kernels {

enum class RnnCell : uint8_t { lstm, gru, tanh, relu };

/// One layer of a recurrent network in one direction, for a batch of sequences.
///
/// Arrays are dense, row-major, all float32 or all float64. Their rows are the steps in order, and
/// within a step its sequences: counts[t] of them in step t, which never grows with t, or `batch`
/// in every step where counts is null. `reverse` runs from the last step to the first.
struct RnnShape {
  RnnCell cell = RnnCell::lstm;
  DType dtype = kFloat;
  bool reverse = false;
  int64_t steps = 0, batch = 0;
  int64_t hidden = 0;
  int64_t out = 0;  // extent of the state: `hidden` unless it is projected
  const int64_t* counts = nullptr;
};

struct RnnForward : RnnShape {
  const void* gx = nullptr;    // [rows, gates * hidden]: what the input gives to the gates
  const void* h0 = nullptr;    // [batch, out]
  const void* c0 = nullptr;    // [batch, hidden]; lstm
  const void* w_hh = nullptr;  // [gates * hidden, out]
  const void* b_hh = nullptr;  // [3 * hidden]; gru, may be null
  const void* w_hr = nullptr;  // [out, hidden]; lstm, null: no projection
  void* y = nullptr;           // [rows, out]
  void* hn = nullptr;          // [batch, out]
  void* cn = nullptr;          // [batch, hidden]; lstm
  void* gates = nullptr;       // [rows, 4 * hidden]; lstm and gru: for the gradient
  void* cells = nullptr;       // [rows, hidden]; lstm: for the gradient
};
void rnn_forward(const RnnForward& f);

/// The gradient of rnn_forward. Results that are null are not wanted.
struct RnnBackward : RnnShape {
  const void *dy = nullptr, *dhn = nullptr, *dcn = nullptr;  // by the results
  const void *h0 = nullptr, *c0 = nullptr, *w_hh = nullptr, *w_hr = nullptr;
  const void *y = nullptr, *gates = nullptr, *cells = nullptr;
  void* dgx = nullptr;   // never null
  void* dnew = nullptr;  // [rows, hidden], by the state's part of the new gate; gru: never null
  void *dh0 = nullptr, *dc0 = nullptr, *dw_hh = nullptr, *dw_hr = nullptr;
};
void rnn_backward(const RnnBackward& b);

}  // namespace tandem::kernels
