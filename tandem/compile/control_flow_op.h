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

/// The gradient of a while loop in a graph: how many rounds there are is known only when it runs,
/// so it runs the loop again, keeps the state of each round, and goes back by `gradient`. Inputs:
/// those of the loop, then the gradients by the float ones among the final state.
struct WhileGradAttrs {
  SubGraph condition, body, gradient;
  int64_t n_state = 0, n_seen = 0, n_condition_reads = 0, n_body_reads = 0;
  TANDEM_FIELDS(condition, body, gradient, n_state, n_seen, n_condition_reads, n_body_reads)
};
extern const OpDef kWhileGrad;
/// The gradient of that, by the float ones among its inputs. Inputs: its own, then the gradients by
/// its outputs.
extern const OpDef kWhileGradGrad;

// Their gradients,
Grads cond_vjp(const VjpArgs& a);
Grads while_vjp(const VjpArgs& a);
Grads while_grad_vjp(const VjpArgs& a);
Grads while_grad_grad_vjp(const VjpArgs& a);
void while_grad_grad_kernel(const KernelArgs& a);
Grads scan_vjp(const VjpArgs& a);
// and their rules for vmap.
void batch_cond(const BatchArgs& a);
void batch_while(const BatchArgs& a);
void batch_scan(const BatchArgs& a);

inline const TensorType& type_of(const Edge& e) { return e.node->outputs()[e.index]; }

}  // namespace tandem
