#pragma once

#include <map>
#include <vector>

#include "tandem/graph/rewrite.h"
#include "tandem/ops/conv_blocked_op.h"

/// How layout works; for the files layout*.cpp only.
namespace tandem::layouts {

/// Builds a graph anew, with convolutions and what follows them blocked.
///
/// Each value of the old graph has one or two forms in the new one. A missing form is made when
/// somebody asks for it.
class Blocker {
 public:
  explicit Blocker(const Graph& g) : g_(g) {}
  Graph run();

 private:
  struct Forms {
    Edge plain, blocked;
  };
  Forms& forms(const Edge& e) { return values_[e.node->walk_slot][e.index]; }
  bool is_blocked(const Edge& e) { return static_cast<bool>(forms(e).blocked.node); }
  Edge plain(const Edge& e);
  Edge blocked(const Edge& e);
  Edge make_blocked(const Edge& e);

  /// A new node in the new graph.
  Edge add(const OpDef& op, ArrayRef<Edge> inputs, AttrRef attrs = {});
  Edge view(const Edge& e, const Dims& sizes);
  /// The node as it is, on plain values.
  void keep(const Node& n);
  void set_plain(const Node& n, const Edge& value) { values_[n.walk_slot][0].plain = value; }
  void set_blocked(const Node& n, const Edge& value) { values_[n.walk_slot][0].blocked = value; }

  // Each is true if it has found a form for the node's results.
  bool convolution(const Node& n);
  bool follow(const Node& n);  // layout_follow.cpp
  bool added_to_zero(const Node& n);
  bool pointwise(const Node& n);
  bool copy(const Node& n);
  bool join(const Node& n);
  bool slice(const Node& n);
  bool reduction(const Node& n);
  bool sum_to(const Node& n);
  bool norm(const Node& n);
  bool pool(const Node& n);
  template <class A>
  bool pooled(const Node& n);

  Edge weight(const Edge& w, kernels::WeightOrder order);
  /// The value such that it broadcasts with blocked tensors of that (plain) shape; empty if there
  /// is no way.
  Edge operand(const Edge& e, const Dims& shape);
  /// [n, C, 1, 1], n being 1 or the batch, repeated along the rows of blocked images.
  Edge along_rows(const Edge& plain, int64_t n, int64_t channels, int64_t width);
  Edge number_per_channel(const Edge& plain, const Dims& shape);

  const Graph& g_;
  Graph out_;
  std::vector<SmallVector<Forms, 1>> values_;  // by old node and output
  struct WeightKey {
    const Node* node;
    uint32_t index;
    kernels::WeightOrder order;
    auto operator<=>(const WeightKey&) const = default;
  };
  std::map<WeightKey, Edge> weights_;
  std::map<std::tuple<const Node*, uint32_t, int64_t>, Edge> rows_;  // along_rows, by width
};

/// True iff the node is a convolution with a fast blocked loop that is worth it.
bool can_block(const Node& n, kernels::ConvForm* form, kernels::WeightOrder* order);

/// Norms with given statistics become part of the convolution before them.
Graph fold_norms(Graph g);
/// Sums and relus become part of the blocked convolution before them.
Graph join_ends(Graph g);

}  // namespace tandem::layouts
