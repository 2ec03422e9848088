#pragma once

#include "tandem/autograd/callable.h"
#include "tandem/core/recorder.h"

/// Running a function under a recorder: what trace, compile, vmap and control flow are built on.
namespace tandem {

using autograd::TensorFunction;

/// A function as a graph, with what it does beside returning results.
struct Recording {
  /// Arguments: those of the function, then, with backward, the gradients by `differentiated`.
  /// Results: those of the function that are defined, the gradients of `grads`, and, with backward,
  /// the gradients by `sources`.
  Graph graph;

  size_t n_args = 0;  // of the function
  /// By argument of the function: how its dimensions are permuted for the graph; empty: not at all.
  std::vector<Dims> order;
  std::vector<int64_t> result;  // by result of the function: which of the graph's, -1 if undefined
  std::vector<bool> requires_grad;  // by result of the function
  std::vector<bool> detached;       // by result: the function detached it
  /// By result of the function: which input it is itself, by number among the arguments, then what
  /// was captured; -1 where it is a tensor of its own.
  std::vector<int64_t> same_as;
  /// By result of the function: what it shares its memory with, where the plan would give it
  /// memory of its own: an input that was written or does not lie in one piece, or several results.
  struct ResultView {
    int64_t input = -1;  // as in same_as
    int64_t base = -1;   // or which of the graph's results
    ViewChain chain;     // of that; empty if it shows all
  };
  std::vector<ResultView> view_of;

  /// The function left another gradient in a leaf than it found.
  struct GradChange {
    NodePtr leaf;
    int64_t argument = -1;  // the leaf is that of an argument
    int64_t result = -1;    // which result of the graph it is; -1: the leaf has none any more
    bool discards = false;  // True iff nothing depends on the one that it found.
  };
  std::vector<GradChange> grads;

  /// The recording holds only as long as these leaves have a gradient, or have none,
  struct GradGuard {
    NodePtr leaf;
    int64_t argument = -1;
    bool defined = false;
  };
  std::vector<GradGuard> guards;
  /// A captured tensor that is a leaf's gradient: not the one that was there when the function was
  /// recorded, which `captured` does not hold, but the one that is there at a call. If there is
  /// none (which a guard may exclude), the call gets memory for one, and leaves that in the leaf.
  struct GradInput {
    size_t captured = 0;  // which of the captured
    NodePtr leaf;
    int64_t argument = -1;
    TensorType type;
  };
  std::vector<GradInput> grad_inputs;
  /// and no hook has been added to or taken from these leaves,
  struct HookGuard {
    NodePtr leaf;
    int64_t argument = -1;
    size_t count = 0;
    unsigned next = 0;  // number
  };
  std::vector<HookGuard> hooks;
  /// and these flags have these values,
  struct FlagGuard {
    std::shared_ptr<bool> flag;
    bool value;
  };
  std::vector<FlagGuard> flags;
  /// and these lists hold these tensors, told by where they are.
  struct ListGuard {
    std::shared_ptr<const std::vector<Tensor>> list;
    std::vector<const TensorImpl*> tensors;
  };
  std::vector<ListGuard> lists;
  /// and these tensors from outside, which are not in the graph, are what the function saw when it
  /// asked for their shapes, dtypes or whether they need a gradient.
  std::vector<Tensor> seen;

  /// The function leaves these flags with these values.
  std::vector<FlagGuard> flags_set;

  /// A tensor that results can be differentiated by.
  struct Source {
    int64_t argument = -1;
    Tensor captured;        // where it is not an argument
    int64_t gradient = -1;  // which result of the graph is its gradient; -1: nothing flows to it
  };
  std::vector<Source> sources;
  std::vector<int64_t>
      differentiated;  // results of the function that the sources' gradients follow
  std::vector<std::string> one_by_one;  // ops that vmap ran one sample after the other
  size_t forward_nodes = 0;             // the nodes from here on belong to backward
  /// By node of backward: which of the differentiated results its gradient is on the way from, bit
  /// k for number k. Some gradients depend on no other: that of floor() is always zero.
  std::vector<uint64_t> results_of;
  /// The gradient could not be recorded: it must be found op by op. No source has one in the graph.
  bool by_hand = false;
  /// Where the gradient is found op by op, none flows through these inputs of nodes: the function
  /// saw them detached, or without grad mode.
  struct Cut {
    const Node* node;
    uint32_t input;
    bool no_grad_mode;  // True iff it was for want of grad mode.
    bool detached;      // True iff the function detached it, with or without a gradient to cut.
  };
  std::vector<Cut> cut_off;
  std::vector<bool> input_wants_grad;  // by input of the function, then by what was captured
  bool any_input = false;              // RecordOptions::any_input
  /// What the function did to gradients is not in its ops: a hook, or a Function of the user's.
  bool has_own_gradients = false;
};

struct RecordOptions {
  /// Go on with the gradients of the results, so that a compiled call can be differentiated.
  bool backward = false;
  /// Gradients are those that leaves have when it is run (Recording::grad_inputs); otherwise those
  /// that they have now.
  bool later_grads = false;
  /// Arguments lie in memory as they do now whenever it is run, and the function sees how.
  bool layouts = false;
  /// Record a body whose arguments differ from run to run: gradients may flow to each of them, and
  /// to each tensor from outside by its own history.
  bool body = false;
  /// Gradients may later be taken by inputs that need none now, and grad mode is left to whoever
  /// runs it.
  bool any_input = false;
};

/// Why a function is refused that writes to memory which another of its inputs shows as well.
inline constexpr const char* kReachedTwice =
    "compile: the function writes in place to memory that it reaches in two ways, as two of its "
    "arguments or tensors from outside. Pass it only once, or clone() one of them.";

/// Runs fn once with tensors that have the arguments' types but no values. Whatever happens,
/// tensors and gradients outside are afterwards as before.
Recording record(const TensorFunction& fn, ArrayRef<Tensor> args, RecordOptions options = {});

/// Argument i of the function as the graph takes it; it has no history.
Tensor laid_out(const Recording& r, size_t i, const Tensor& argument);

/// The recorded graph in a form that can be differentiated op by op: what the function saw
/// detached, or used without grad mode, is detached there. Numbers of inputs, outputs and captured
/// tensors are those of `graph`, which is the recording's own or a part of it.
Graph with_detached(const Recording& r, const Graph& graph);

}  // namespace tandem
