#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tandem/compile/compile.h"
#include "tandem/compile/differentiate.h"
#include "tandem/compile/program.h"
#include "tandem/compile/recording.h"
#include "tandem/core/node_extra.h"

/// The graphs of a compiled function: when each may be used, and what it takes to run it.
namespace tandem::detail {

using Args = CompiledFunction::Args;

/// What a call must have in common with the recorded one.
struct Signature {
  struct Arg {
    TensorType type;
    bool defined = false, wants_grad = false, leaf = false;
    Dims strides;            // where it does not lie in row-major order
    int64_t same_leaf = -1;  // as an earlier argument, or as a captured tensor behind all arguments
  };
  structure::Key key;
  std::vector<Arg> args;
  bool grad = true, inference = false;
  DType default_dtype = kFloat;

  /// That of a call that is made now, but for `same_leaf`.
  static Signature of(const Args& args, const structure::Key& key);
};

/// One graph of a compiled function, with everything that it needs to be run.
struct Variant : std::enable_shared_from_this<Variant> {
  Signature signature;
  Recording recording;  // its graph is that of the call alone
  std::shared_ptr<const Program> program;
  // Where results can be differentiated:
  std::shared_ptr<const Program> backward;
  ForwardBackward halves;  // but for what has become the recording's graph
  bool reorders = false;   // True iff the graph takes an argument with its dimensions permuted.
  std::shared_ptr<const void> like;  // what the function returned
  std::string reason;                // why it was made
  std::atomic<uint64_t> calls{0};
  Variant* older = nullptr;

  /// Records the function with these arguments.
  static std::shared_ptr<Variant> make(const Args& args, const structure::Key& key,
                                       const CompiledFunction::Body& body);
  Variant() = default;
  ~Variant();

  /// Why a call is not that of this variant; the more is alike, the higher the rank.
  struct Mismatch {
    int rank = -1;
    std::string words;
  };
  /// True iff the call is that of this variant. Otherwise `why`, where somebody asks, says why not.
  bool fits(const Args& args, const structure::Key& key, Mismatch* why = nullptr) const;

  /// Backward where only some of the differentiated results have a gradient; made when it is first
  /// needed.
  struct Part {
    std::unique_ptr<const Program> program;  // null: nothing flows anywhere
    std::vector<bool> exists;                // as PartOfBackward
  };
  const Part& part_of_backward(const std::vector<bool>& given) const;

  /// The function op by op, for a gradient that is found by differentiating its ops: it gives the
  /// results that can be differentiated, and writes nothing. Made when it is first needed.
  const Graph& replay() const;
  /// Inputs that the function writes and that those results depend on as they were before.
  const std::vector<uint32_t>& overwritten() const { return overwritten_; }

  /// Gives back the memory that its programs keep for their next runs; says how much it was.
  int64_t release_idle() const;

 private:
  /// A tensor from outside, as it was when the function was recorded.
  struct Outside {
    TensorType type;
    bool wants_grad = false;
    bool held = false;      // True iff something outside held it.
    uint32_t recorded = 0;  // how many references of this variant it counts as recorded_refs
  };
  void make_programs();
  void note_outside();
  void note_overwritten();
  int64_t same_leaf(const Args& args, size_t i) const;

  /// Number i of those that the graph has captured, then of those that the function has seen.
  const Tensor& outside(size_t i) const {
    const std::vector<Tensor>& captured = recording.graph.captured;
    return i < captured.size() ? captured[i] : recording.seen[i - captured.size()];
  }

  std::vector<Outside> outside_;
  mutable std::mutex parts_mutex_;
  mutable std::map<std::vector<bool>, Part> parts_;
  mutable std::once_flag replay_made_;
  mutable Graph replay_;
  std::vector<uint32_t> overwritten_;
};

/// True iff the tensor belongs to a declared graph.
bool is_declared(const Tensor& t);

/// The leaf that a part of the recording (a guard, a change of a gradient) speaks of; null: none.
template <class G>
Node* leaf_of(const G& g, const Args& args) {
  if (g.argument < 0) return g.leaf.get();
  return args[static_cast<size_t>(g.argument)].impl()->edge.node.get();
}

/// Its gradient; null: none.
template <class G>
const Tensor* grad_of(const G& g, const Args& args) {
  const Node* leaf = leaf_of(g, args);
  if (!leaf || !leaf->extra || !leaf->extra->grads[0].defined()) return nullptr;
  return &leaf->extra->grads[0];
}

template <class G>
void set_grad(const G& g, const Args& args, Tensor grad) {
  Node* leaf = g.leaf.get();
  if (g.argument >= 0) leaf = &args[static_cast<size_t>(g.argument)].impl()->leaf_node();
  NodeExtra& extra = leaf->need_extra();
  std::lock_guard lock(extra.mutex);
  extra.grads[0] = std::move(grad);
}

}  // namespace tandem::detail
