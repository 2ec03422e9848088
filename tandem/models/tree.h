#pragma once

#include <vector>

#include "tandem/nn/cloneable.h"
#include "tandem/nn/modules/embedding.h"
#include "tandem/nn/modules/linear.h"

/// Networks that compute along trees, a different one for each sample.
namespace tandem::models {

/// A tree whose nodes have labels: words, operators, digits. Nodes are numbered from 0; built from
/// other trees they are in postorder, so that the root is the last.
///
///     Tree sum(kPlus, {Tree(3), Tree(kTimes, {Tree(4), Tree(5)})});
///     Tree same = Tree::from_parents({3, 4, 5, kTimes, kPlus}, {4, 3, 3, 4, -1});
class Tree {
 public:
  explicit Tree(int64_t label, const std::vector<Tree>& children = {});
  /// The node above each, -1 for the root. Children are in the order of their numbers. Refuses what
  /// is not one tree.
  static Tree from_parents(std::vector<int64_t> labels, const std::vector<int64_t>& parents);

  int64_t size() const { return static_cast<int64_t>(labels_.size()); }
  int64_t root() const { return order_.back(); }
  const std::vector<int64_t>& labels() const { return labels_; }
  /// The numbers of a node's children.
  IntArrayRef children(int64_t node) const;
  /// How far the deepest leaf below a node is; 0 for a leaf.
  int64_t height(int64_t node) const;
  int64_t height() const { return height(root()); }
  /// All nodes, each behind its children.
  const std::vector<int64_t>& order() const { return order_; }

 private:
  Tree() = default;
  size_t checked(int64_t node) const;
  void measure();

  std::vector<int64_t> labels_, order_, heights_;
  // The children of node i are children_[begin_[i]] to children_[begin_[i + 1] - 1].
  std::vector<int64_t> begin_, children_;
};

/// What the nodes of one height in many trees need, to be computed together. States of a level are
/// rows: one of zeros, those of its nodes, and those below that a higher level needs.
struct TreeLevel {
  Tensor nodes;     // int64 [n]: rows of the inputs
  Tensor children;  // int64 [edges] or, for a fixed number of children, [n * arity]: rows below
  Tensor parents;   // int64 [edges]: which node of this level each belongs to; else empty
  Tensor carried;   // int64 [k]: rows below that are kept
};
struct TreePlan {
  std::vector<TreeLevel> levels;  // leaves first
  Tensor roots;                   // int64 [trees]: rows of the last level's states
  Tensor places;                  // int64 [nodes]: where each node is among the nodes of all levels
};
/// Inputs have a row for each node, tree by tree. arity 0: any number of children, in no order.
/// With a `bucket` sizes are rounded up to powers of two, at least that: what is added changes no
/// result, and there are few shapes, hence few graphs where a level is compiled.
TreePlan plan_levels(const std::vector<Tree>& trees, int64_t arity = 0, int64_t bucket = 0);

struct TreeLSTMOptions {
  TreeLSTMOptions(int64_t input_size, int64_t hidden_size)
      : input_size_(input_size), hidden_size_(hidden_size) {}
  TANDEM_ARG(int64_t, input_size);
  TANDEM_ARG(int64_t, hidden_size);
  /// 0: children are added up, however many. Otherwise nodes have at most so many, each with
  /// weights of its own: 2 for binary trees.
  TANDEM_ARG(int64_t, arity) = 0;
};

/// The long short-term memory of trees (Tai, Socher and Manning, 2015): a node's state depends on
/// its input and on its children's states, with a forget gate for each child.
///
///     TreeLSTM net(TreeLSTMOptions(16, 32).arity(2));
///     Tensor h = net(inputs, trees);        // [trees, 32], all nodes of a height at once
///     auto [h0, c0] = net->walk(x, tree);   // [1, 32], node by node
class TreeLSTMImpl : public nn::Cloneable<TreeLSTMImpl> {
 public:
  struct State {
    Tensor h, c;  // [rows, hidden_size]
  };

  TreeLSTMImpl(int64_t input_size, int64_t hidden_size)
      : TreeLSTMImpl(TreeLSTMOptions(input_size, hidden_size)) {}
  explicit TreeLSTMImpl(const TreeLSTMOptions& options);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;

  /// inputs: [nodes of all trees, input_size]. What the roots give: [trees, hidden_size].
  Tensor forward(const Tensor& inputs, const std::vector<Tree>& trees);
  /// What all nodes give: [nodes of all trees, hidden_size].
  Tensor forward_nodes(const Tensor& inputs, const std::vector<Tree>& trees);

  /// One node: x [1, input_size].
  State node(const Tensor& x, const std::vector<State>& children);
  /// One tree, node by node, as the tree says. The root's state.
  State walk(const Tensor& inputs, const Tree& tree);
  /// All nodes of a level: x [n, input_size] are their inputs. This is what can be compiled.
  State level(const Tensor& x, const State& below, const TreeLevel& level);
  /// Below the leaves: a row of zeros.
  State zero_state() const;

  TreeLSTMOptions options;
  nn::Linear input{nullptr}, hidden{nullptr}, forget{nullptr};

 private:
  void check_inputs(const Tensor& inputs, int64_t nodes) const;
  State gates(const Tensor& in, const Tensor& sum, const Tensor& kept) const;
  State run(const Tensor& inputs, const TreePlan& plan, std::vector<Tensor>* all);
};
TANDEM_MODULE(TreeLSTM);

struct RecursiveNetOptions {
  RecursiveNetOptions(int64_t labels, int64_t num_classes)
      : labels_(labels), num_classes_(num_classes) {}
  /// How many labels nodes can have.
  TANDEM_ARG(int64_t, labels);
  TANDEM_ARG(int64_t, num_classes);
  TANDEM_ARG(int64_t, embedding_size) = 32;
  TANDEM_ARG(int64_t, hidden_size) = 64;
  /// See TreeLSTMOptions.
  TANDEM_ARG(int64_t, arity) = 2;
};

/// Classifies trees by their labels and shape: embedding, TreeLSTM, and a linear layer on the root.
///
///     RecursiveNet net(RecursiveNetOptions(/*labels=*/8, /*num_classes=*/5));
///     Tensor scores = net(trees);   // std::vector<Tree>; [trees, 5]
class RecursiveNetImpl : public nn::Cloneable<RecursiveNetImpl> {
 public:
  explicit RecursiveNetImpl(const RecursiveNetOptions& options);
  void reset() override;
  void pretty_print(std::ostream& stream) const override;

  /// Scores [trees, num_classes], with all nodes of a height computed at once.
  Tensor forward(const std::vector<Tree>& trees);
  /// The same for every node: [nodes of all trees, num_classes].
  Tensor forward_nodes(const std::vector<Tree>& trees);
  /// Scores [1, num_classes] of one tree, node by node.
  Tensor walk(const Tree& tree);
  /// The inputs of all nodes, tree by tree: [nodes, embedding_size].
  Tensor embed(const std::vector<Tree>& trees);

  RecursiveNetOptions options;
  nn::Embedding embedding{nullptr};
  TreeLSTM tree{nullptr};
  nn::Linear output{nullptr};
};
TANDEM_MODULE(RecursiveNet);

}  // namespace tandem::models
