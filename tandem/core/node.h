#pragma once

#include <atomic>
#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "tandem/base/intrusive_ptr.h"
#include "tandem/core/op.h"

namespace tandem {

/// One output of a node: how values refer to what made them.
struct Edge {
  intrusive_ptr<Node> node;
  uint32_t index = 0;
  explicit operator bool() const { return static_cast<bool>(node); }
  bool is_valid() const { return static_cast<bool>(node); }
};

/// A tensor kept for backward, with the storage version at which its values were the right ones.
struct Saved {
  TensorImpl* impl = nullptr;  // owned
  uint32_t version = 0;
};

struct NodeExtra;

/// One application of an op: the record that backward walks and that graphs are made of.
///
/// A node owns the nodes its inputs came from. An input that needs no gradient has an empty edge
/// when only autograd keeps the record. Leaves are nodes too (op `leaf`): they hold the gradient of
/// a tensor that the user made.
///
/// A node is one block of memory: the struct, then its edges, output types, saved tensors and
/// attributes.
struct Node {
  std::atomic<uint32_t> refs{1};
  // Marks of a backward walk: which walk owns this node and where its state is. See
  // autograd/backward.
  std::atomic<uint32_t> walk{0};
  uint32_t walk_slot = 0;
  uint32_t n_inputs = 0;
  union {
    const OpDef* op = nullptr;
    Node* next_dead;  // once nobody refers to the node any more
  };
  uint16_t n_outputs = 0;
  uint16_t n_saved = 0;
  bool released = false;    // True iff backward has passed and freed what was saved.
  uint32_t bytes = 0;       // size of the whole block
  uint64_t saved_mask = 0;  // bits as in Saves
  const AttrType* attr_type = nullptr;
  NodeExtra* extra = nullptr;  // owned; null until needed

  static intrusive_ptr<Node> make(const OpDef& op, size_t n_inputs, size_t n_outputs,
                                  uint64_t saved_mask, AttrRef attrs);
  static void destroy(Node* n);

  Edge* inputs() { return reinterpret_cast<Edge*>(this + 1); }
  const Edge* inputs() const { return reinterpret_cast<const Edge*>(this + 1); }
  TensorType* outputs() { return reinterpret_cast<TensorType*>(inputs() + n_inputs); }
  const TensorType* outputs() const {
    return reinterpret_cast<const TensorType*>(inputs() + n_inputs);
  }
  Saved* saved() { return reinterpret_cast<Saved*>(outputs() + n_outputs); }
  const Saved* saved() const { return reinterpret_cast<const Saved*>(outputs() + n_outputs); }
  AttrRef attrs() const { return attr_type ? AttrRef(saved() + n_saved, attr_type) : AttrRef(); }
  /// Position in saved() of the value that bit `bit` of Saves stands for; -1 if it was not saved.
  int saved_index(int bit) const;
  void release_saved();
  NodeExtra& need_extra();

  /// Notes the call that made the node, for the messages of anomaly mode.
  void describe(std::string call);

  bool is_leaf() const;
  /// LibTorch-like name of the gradient function: "MulBackward".
  std::string name() const;
  Edge next_edge(size_t i) const { return inputs()[i]; }
  /// As LibTorch calls an edge's parts.
  struct NextEdge {
    intrusive_ptr<Node> function;
    uint32_t input_nr = 0;
    bool is_valid() const { return static_cast<bool>(function); }
  };
  std::vector<NextEdge> next_edges() const;
  size_t num_inputs() const { return n_outputs; }  // of the gradient function, as LibTorch counts
  size_t num_outputs() const { return n_inputs; }
};

void release_node(Node* n);
inline void retain(Node* n) { n->refs.fetch_add(1, std::memory_order_relaxed); }
inline void release(Node* n) {
  if (n->refs.load(std::memory_order_acquire) == 1 ||
      n->refs.fetch_sub(1, std::memory_order_acq_rel) == 1)
    release_node(n);
}
using NodePtr = intrusive_ptr<Node>;
/// Where it is, as of any other pointer.
std::ostream& operator<<(std::ostream& out, const NodePtr& n);

/// The leaf op: a value that the user made. Its node holds the gradient.
extern const OpDef kLeaf;

}  // namespace tandem
