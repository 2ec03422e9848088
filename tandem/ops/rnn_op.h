#pragma once

#include "tandem/core/op.h"
#include "tandem/core/tensor.h"
#include "tandem/kernels/rnn.h"

/// The ops behind lstm, gru, rnn_tanh and rnn_relu: one layer in one direction, all steps at once.
/// What the input gives to the gates is computed before, by one product for all steps.
namespace tandem {

/// Values are padded ([steps, batch, features]) or packed ([rows, features], with the number of
/// rows of each step as the last input).
struct RnnAttrs {
  bool reverse = false;
  bool packed = false;
  bool projected = false;  // lstm
  bool biased = false;     // gru: the state's part has a bias of its own
  bool relu = false;       // rnn: relu instead of tanh
  TANDEM_FIELDS(reverse, packed, projected, biased, relu)
};

struct RnnBackwardAttrs {
  bool reverse = false;
  bool packed = false;
  bool projected = false;
  bool relu = false;
  bool states = false;   // the gradients by the initial states are wanted
  bool weights = false;  // the gradients by the weights are wanted
  TANDEM_FIELDS(reverse, packed, projected, relu, states, weights)
};

extern const OpDef kLstmSequence;  // gx, h0, c0, w_hh, [w_hr], [sizes] -> y, hn, cn, gates, cells
extern const OpDef kGruSequence;   // gx, h0, w_hh, [b_hh], [sizes] -> y, hn, gates
extern const OpDef kRnnSequence;   // gx, h0, w_hh, [sizes] -> y, hn

/// dy, dhn, [dcn], h0, [c0], w_hh, [w_hr], y, [gates], [cells], [sizes] -> dgx, [dnew] (gru), then
/// as asked for: dh0, [dc0]; dw_hh, [dw_hr]
extern const OpDef kLstmSequenceBackward;
extern const OpDef kGruSequenceBackward;
extern const OpDef kRnnSequenceBackward;

/// Inputs and outputs of the ops by name; what a call does not have is undefined.
struct RnnTensors {
  Tensor gx, h0, c0, w_hh, b_hh, w_hr, sizes;
};
struct RnnResults {
  Tensor y, hn, cn, gates, cells;
};
struct RnnGradInputs {
  Tensor dy, dhn, dcn, h0, c0, w_hh, w_hr, y, gates, cells, sizes;
  Tensor dgates, dcells;  // the gradients by `gates` and `cells`, if any
};
struct RnnGrads {
  Tensor dgx, dnew, dh0, dc0, dw_hh, dw_hr;
};

RnnResults rnn_sequence(kernels::RnnCell cell, const RnnTensors& in, bool reverse);

/// What the ops compute, and their gradients, cell by cell in public ops: for gradients of
/// gradients, and for vmap over weights. All values but `sizes` may have the same additional
/// dimensions in front. `cell` is lstm, gru, tanh or relu.
RnnResults rnn_composite(kernels::RnnCell cell, const RnnTensors& in, bool reverse);
RnnGrads rnn_composite_backward(kernels::RnnCell cell, const RnnGradInputs& in, bool reverse);

}  // namespace tandem
