#pragma once

#include "tandem/compile/sub_graph.h"
#include "tandem/core/op.h"

/// The ops that choices and loops are in a graph. Made by control_flow.cpp.
namespace tandem {

/// Inputs: the condition, what the branches write, what `yes` reads, what `no` reads.
struct CondAttrs {
  SubGraph yes, no;
  int64_t n_written = 0, n_yes_reads = 0;
  TANDEM_FIELDS(yes, no, n_written, n_yes_reads)
};
extern const OpDef kCond;

/// Inputs: the state (what the body writes included), what `condition` reads, what `body` reads.
/// The condition sees only the first n_seen of the state.
struct WhileAttrs {
  SubGraph condition, body;
  int64_t n_state = 0, n_seen = 0, n_condition_reads = 0;
  TANDEM_FIELDS(condition, body, n_state, n_seen, n_condition_reads)
};
extern const OpDef kWhile;

/// Inputs: the carry (what the body writes included), xs, what the body reads. Outputs: the carry,
/// ys.
struct ScanAttrs {
  SubGraph body;
  int64_t n_carry = 0, n_xs = 0, n_ys = 0;
  bool reverse = false;
  TANDEM_FIELDS(body, n_carry, n_xs, n_ys, reverse)
};
extern const OpDef kScan;

}  // namespace tandem
