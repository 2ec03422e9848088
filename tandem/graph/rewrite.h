#pragma once

#include "tandem/core/graph.h"

namespace tandem {

/// The node whose memory a value lies in: its own, or for views what they view.
const Node* memory_of(const Node* n);
inline const Node* memory_of(const Edge& e) { return memory_of(e.node.get()); }
inline const TensorType& type_of(const Edge& e) { return e.node->outputs()[e.index]; }
/// True iff nothing, promotion included, can tell values of the types apart.
inline bool same_type(const TensorType& a, const TensorType& b) {
  return a == b && a.weak == b.weak;
}

/// A pass that goes over the nodes once, in order, and replaces some of them by other values.
/// Changes the nodes it was given.
///
///   Rewriter r(std::move(g));
///   for (Node* n : r.nodes()) {
///     r.enter(*n);                        // its inputs are now what replaced them
///     if (...) r.replace(*n, value); else r.keep(*n);
///   }
///   return r.finish();
///
/// Note: memory that the caller sees
/// Results are tensors of the caller's, who may write to them. Two results that were apart must
/// stay apart, and a result that was fresh memory must not become an argument or a constant.
/// `replace` refuses what would do that.
class Rewriter {
 public:
  explicit Rewriter(Graph g);

  /// The nodes that are there at the beginning.
  const std::vector<NodePtr>& nodes() const { return old_; }
  void enter(Node& n);
  void keep(Node& n) { kept_.push_back(NodePtr(&n)); }
  /// From here on `value` stands for the node. False, and nothing happens, if the types differ or
  /// if the caller could tell. The node is then still to be kept.
  bool replace(Node& n, const Edge& value);
  /// The same for all outputs of a node, by those of another of the same types.
  bool replace_all(Node& n, Node& by);
  /// A new node, in front of whatever is kept next.
  Edge add(const OpDef& op, ArrayRef<Edge> inputs, AttrRef attrs = {});
  Edge constant(const Tensor& value);
  bool is_new(const Node& n) const { return n.walk_slot >= old_.size(); }

  /// True iff a result lies in the memory of this very value: it is one, or a result is a view of
  /// it.
  bool seen(const Node& n) const { return seen_[n.walk_slot]; }
  bool changed() const { return changed_; }
  Graph finish();

 private:
  Edge now(const Edge& e) const;
  bool may_stand_for(const Node& n, const Node* value) const;
  void mark_seen(const Node* n);

  Graph g_;
  std::vector<NodePtr> old_;
  std::vector<NodePtr> kept_;
  std::vector<Edge> stands_for_;  // by walk_slot; empty: itself
  std::vector<char> seen_;        // by walk_slot
  bool changed_ = false;
};

}  // namespace tandem
