#pragma once

#include <unordered_map>

#include "tandem/core/graph.h"
#include "tandem/core/tensor.h"

namespace tandem::autograd {

/// One pass of backward over the record. For the inside of autograd; users call backward() and
/// grad().
///
/// It visits the nodes below its roots in an order in which a node comes after all that use its
/// outputs, on the calling thread: first it counts, for each node, how many edges lead to it
/// (iteratively: chains may have a million nodes), then it works through the nodes whose count has
/// come down to zero.
///
/// The state of a node is found through two fields of the node, `walk` and `walk_slot`. Threads may
/// walk records that share nodes, leaves above all, and a gradient may itself call backward: a node
/// that another walk has claimed is kept in a map of this walk instead.
class Walk {
 public:
  /// Told of each node before its gradients are computed.
  struct Visitor {
    virtual ~Visitor() = default;
    virtual void visits(const Node& node) = 0;
  };
  struct Options {
    bool keep = false;          // keep what was saved, for another pass
    bool create_graph = false;  // the gradients can be differentiated again
    bool accumulate = true;     // leaves get their grad() added to
    bool only_targets = false;  // only gradients on the way to the targets are computed
    // and a target's hooks, and what lies below it, are another walk's business
    bool stop_at_targets = false;
    Visitor* visitor = nullptr;
  };
  struct Target {
    Node* node;  // may be null: then nothing can reach it
    uint32_t index;
    Tensor grad;  // collected here
  };

  explicit Walk(Options options);
  ~Walk();
  Walk(const Walk&) = delete;
  Walk& operator=(const Walk&) = delete;

  std::vector<Target> targets;

  /// Starts from a value with that gradient.
  void add_root(const Edge& e, Tensor grad);
  /// May be called once, after the roots and the targets have been added.
  void run();

 private:
  struct State {
    Node* node;
    uint32_t waiting = 0;  // edges to this node not yet worked through
    bool claimed = false;
    bool needed = true;
    bool target = false;
    bool queued = false;
    SmallVector<Tensor, 1> grads;  // by output
  };

  bool knows(Node* n) const;
  uint32_t slot_of(Node* n) const;
  State& state_of(Node* n) { return states_[slot_of(n)]; }
  bool meet(Node* n);
  void discover(Node* root);
  void mark_needed();
  void deposit(State& s, uint32_t index, Tensor grad);
  void run_here();
  void visit(uint32_t slot);
  void differentiate(uint32_t slot);
  void compute(uint32_t slot, const bool* needed);
  template <class List>
  void hand_on(Node& node, const bool* needed, List grads);
  void collect(Node& node, const SmallVector<Tensor, 1>& grads);
  void add_to_leaf(Node& node, Tensor grad);
  void enqueue(Node* n, State& s);

  const Options options_;
  uint32_t id_ = 0;
  std::vector<State> states_;
  std::vector<uint32_t> order_;  // inputs before what uses them
  std::vector<uint32_t> ready_;
  std::vector<std::pair<Node*, uint32_t>> stack_;
  std::vector<Edge> roots_;
  std::unordered_map<Node*, uint32_t> elsewhere_;
};

}  // namespace tandem::autograd
