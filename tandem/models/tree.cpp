#include "tandem/models/tree.h"

#include <algorithm>
#include <bit>
#include <ostream>

#include "tandem/ops/ops.h"

namespace tandem::models {

// -- Tree --------------------------------------------------------------------------------------

Tree::Tree(int64_t label, const std::vector<Tree>& children) : begin_{0} {
  std::vector<int64_t> roots;
  for (const Tree& child : children) {
    const int64_t offset = size();
    labels_.insert(labels_.end(), child.labels_.begin(), child.labels_.end());
    for (const int64_t node : child.order_) order_.push_back(node + offset);
    heights_.insert(heights_.end(), child.heights_.begin(), child.heights_.end());
    const int64_t edges = static_cast<int64_t>(children_.size());
    for (size_t i = 1; i < child.begin_.size(); ++i) begin_.push_back(child.begin_[i] + edges);
    for (const int64_t node : child.children_) children_.push_back(node + offset);
    roots.push_back(child.root() + offset);
  }
  int64_t height = 0;
  for (const int64_t node : roots)
    height = std::max(height, heights_[static_cast<size_t>(node)] + 1);
  order_.push_back(size());
  labels_.push_back(label);
  heights_.push_back(height);
  children_.insert(children_.end(), roots.begin(), roots.end());
  begin_.push_back(static_cast<int64_t>(children_.size()));
}

Tree Tree::from_parents(std::vector<int64_t> labels, const std::vector<int64_t>& parents) {
  const int64_t n = static_cast<int64_t>(labels.size());
  TANDEM_CHECK(n > 0, "Tree: there are no nodes");
  TANDEM_CHECK(parents.size() == labels.size(), "Tree: there are ", n, " labels and ",
               parents.size(), " parents");
  Tree tree;
  tree.labels_ = std::move(labels);
  tree.begin_.assign(static_cast<size_t>(n) + 1, 0);
  int64_t root = -1;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t parent = parents[static_cast<size_t>(i)];
    if (parent == -1) {
      TANDEM_CHECK(root < 0, "Tree: nodes ", root, " and ", i, " both have no parent");
      root = i;
      continue;
    }
    TANDEM_CHECK_INDEX(0 <= parent && parent < n, "Tree: the parent of node ", i, " is ", parent,
                       ", but there are ", n, " nodes");
    TANDEM_CHECK(parent != i, "Tree: node ", i, " is its own parent");
    ++tree.begin_[static_cast<size_t>(parent) + 1];
  }
  TANDEM_CHECK(root >= 0, "Tree: every node has a parent, so there is no root");
  for (size_t i = 0; i < static_cast<size_t>(n); ++i) tree.begin_[i + 1] += tree.begin_[i];
  tree.children_.resize(static_cast<size_t>(n) - 1);
  std::vector<int64_t> next(tree.begin_.begin(), tree.begin_.end() - 1);
  for (int64_t i = 0; i < n; ++i)
    if (i != root)
      tree.children_[static_cast<size_t>(
          next[static_cast<size_t>(parents[static_cast<size_t>(i)])]++)] = i;
  // From the root downwards, then turned round: children come before the nodes above them.
  tree.order_.push_back(root);
  for (size_t i = 0; i < tree.order_.size(); ++i) {
    const auto below = tree.children(tree.order_[i]);
    tree.order_.insert(tree.order_.end(), below.rbegin(), below.rend());
  }
  std::reverse(tree.order_.begin(), tree.order_.end());
  TANDEM_CHECK(static_cast<int64_t>(tree.order_.size()) == n, "Tree: only ", tree.order_.size(),
               " of ", n, " nodes are below the root ", root,
               ": the parents of the others lead in a circle");
  tree.measure();
  return tree;
}

void Tree::measure() {
  heights_.assign(labels_.size(), 0);
  for (const int64_t node : order_)
    for (const int64_t child : children(node))
      heights_[static_cast<size_t>(node)] =
          std::max(heights_[static_cast<size_t>(node)], heights_[static_cast<size_t>(child)] + 1);
}

size_t Tree::checked(int64_t node) const {
  TANDEM_CHECK_INDEX(0 <= node && node < size(), "Tree: there is no node ", node, " among ",
                     size());
  return static_cast<size_t>(node);
}

IntArrayRef Tree::children(int64_t node) const {
  const size_t i = checked(node);
  return {children_.data() + begin_[i], static_cast<size_t>(begin_[i + 1] - begin_[i])};
}

int64_t Tree::height(int64_t node) const { return heights_[checked(node)]; }

// -- Levels ------------------------------------------------------------------------------------

namespace {

Tensor padded(std::vector<int64_t> values, size_t size) {
  values.resize(size, 0);
  return tensor(values, kLong);
}

size_t rounded(size_t size, int64_t bucket) {
  if (bucket == 0) return size;
  return std::max(std::bit_ceil(size), std::bit_ceil(static_cast<size_t>(bucket)));
}

// A node of a forest: its row among all nodes, the height of its parent (-1 for a root), its
// children.
struct ForestNode {
  int64_t row, parent_height;
  std::vector<int64_t> children;
};

}  // namespace

// Note: rows of padding
// Padding refers to row 0 everywhere. As a node it computes something that nobody reads; as a child
// it is the row of zeros, which adds nothing to sums over children, whatever node it is added to.
TreePlan plan_levels(const std::vector<Tree>& trees, int64_t arity, int64_t bucket) {
  TANDEM_CHECK(!trees.empty(), "plan_levels: there are no trees");
  TANDEM_CHECK(arity >= 0 && bucket >= 0 && bucket <= (int64_t{1} << 30),
               "plan_levels: arity and bucket must not be negative, nor the bucket huge, got ",
               arity, " and ", bucket);
  std::vector<std::vector<ForestNode>> by_height;
  std::vector<int64_t> roots;
  int64_t offset = 0;
  for (size_t t = 0; t < trees.size(); ++t) {
    const Tree& tree = trees[t];
    by_height.resize(std::max(by_height.size(), static_cast<size_t>(tree.height()) + 1));
    std::vector<int64_t> above(static_cast<size_t>(tree.size()), -1);
    for (const int64_t node : tree.order())
      for (const int64_t child : tree.children(node))
        above[static_cast<size_t>(child)] = tree.height(node);
    for (const int64_t node : tree.order()) {
      const IntArrayRef below = tree.children(node);
      TANDEM_CHECK(arity == 0 || static_cast<int64_t>(below.size()) <= arity, "plan_levels: node ",
                   node, " of tree ", t, " has ", below.size(), " children, at most ", arity,
                   " are allowed");
      ForestNode entry{offset + node, above[static_cast<size_t>(node)], {}};
      for (const int64_t child : below) entry.children.push_back(offset + child);
      by_height[static_cast<size_t>(tree.height(node))].push_back(std::move(entry));
    }
    roots.push_back(offset + tree.root());
    offset += tree.size();
  }

  TreePlan plan;
  const int64_t top = static_cast<int64_t>(by_height.size());
  // The row that each node has in the states of the level at hand, while it is there.
  std::vector<int64_t> place(static_cast<size_t>(offset), 0);
  std::vector<int64_t> places(static_cast<size_t>(offset), 0);
  std::vector<ForestNode> alive;  // nodes of the level below's states
  int64_t done = 0;
  for (int64_t height = 0; height < top; ++height) {
    std::vector<ForestNode>& nodes = by_height[static_cast<size_t>(height)];
    std::vector<int64_t> rows, children, parents, carried;
    for (size_t i = 0; i < nodes.size(); ++i) {
      rows.push_back(nodes[i].row);
      for (const int64_t child : nodes[i].children) {
        children.push_back(place[static_cast<size_t>(child)]);
        if (arity == 0) parents.push_back(static_cast<int64_t>(i));
      }
      if (arity > 0) children.resize((i + 1) * static_cast<size_t>(arity), 0);
    }
    const size_t n = rounded(nodes.size(), bucket);
    std::vector<ForestNode> next;
    for (size_t i = 0; i < nodes.size(); ++i) {
      const size_t row = static_cast<size_t>(nodes[i].row);
      places[row] = done + static_cast<int64_t>(i);
      place[row] = static_cast<int64_t>(i) + 1;
      next.push_back(std::move(nodes[i]));
    }
    for (ForestNode& node : alive) {
      // A root is wanted in the end.
      if (node.parent_height >= 0 && node.parent_height <= height) continue;
      int64_t& at = place[static_cast<size_t>(node.row)];
      carried.push_back(at);
      at = static_cast<int64_t>(n + carried.size());
      next.push_back(std::move(node));
    }
    alive = std::move(next);
    done += static_cast<int64_t>(n);
    const size_t edges = arity > 0     ? n * static_cast<size_t>(arity)
                         : height == 0 ? 0
                                       : rounded(children.size(), bucket);
    plan.levels.push_back({padded(std::move(rows), n), padded(std::move(children), edges),
                           padded(std::move(parents), arity > 0 ? 0 : edges),
                           padded(carried, carried.empty() ? 0 : rounded(carried.size(), bucket))});
  }
  for (int64_t& root : roots) root = place[static_cast<size_t>(root)];
  plan.roots = tensor(roots, kLong);
  plan.places = tensor(places, kLong);
  return plan;
}

// -- TreeLSTM ----------------------------------------------------------------------------------

TreeLSTMImpl::TreeLSTMImpl(const TreeLSTMOptions& options_) : options(options_) {
  TANDEM_CHECK(options.input_size() > 0 && options.hidden_size() > 0 && options.arity() >= 0,
               "TreeLSTM: input_size and hidden_size must be positive and arity not negative, got ",
               options.input_size(), ", ", options.hidden_size(), " and ", options.arity());
  reset();
}

void TreeLSTMImpl::reset() {
  const int64_t size = options.hidden_size(), arity = options.arity();
  const auto plain = [](int64_t in, int64_t out) {
    return nn::Linear(nn::LinearOptions(in, out).bias(false));
  };
  // Gates are in the order in, out, new, forget.
  input = register_module("input", nn::Linear(options.input_size(), 4 * size));
  if (arity == 0) {
    hidden = register_module("hidden", plain(size, 3 * size));
    forget = register_module("forget", plain(size, size));
  } else {
    hidden = register_module("hidden", plain(arity * size, 3 * size));
    forget = register_module("forget", plain(arity * size, arity * size));
  }
}

void TreeLSTMImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::models::TreeLSTM(" << options.input_size() << ", " << options.hidden_size()
         << ", arity=" << options.arity() << ")";
}

TreeLSTMImpl::State TreeLSTMImpl::zero_state() const {
  const Tensor zero =
      zeros({1, options.hidden_size()}, input->weight.options().requires_grad(false));
  return {zero, zero};
}

void TreeLSTMImpl::check_inputs(const Tensor& inputs, int64_t nodes) const {
  TANDEM_CHECK_SHAPE(inputs.defined() && inputs.dim() == 2 && inputs.size(0) == nodes &&
                         inputs.size(1) == options.input_size(),
                     "TreeLSTM: inputs for ", nodes, " nodes must be [", nodes, ", ",
                     options.input_size(), "], not ",
                     inputs.defined() ? str(inputs.type_of()) : "an undefined tensor");
}

// in: what the inputs add to the gates; sum: what the children add; kept: the cells they leave.
TreeLSTMImpl::State TreeLSTMImpl::gates(const Tensor& in, const Tensor& sum,
                                        const Tensor& kept) const {
  const int64_t size = options.hidden_size();
  const Tensor all = in.narrow(1, 0, 3 * size) + sum;
  const Tensor c = all.narrow(1, 0, size).sigmoid() * all.narrow(1, 2 * size, size).tanh() + kept;
  return {all.narrow(1, size, size).sigmoid() * c.tanh(), c};
}

TreeLSTMImpl::State TreeLSTMImpl::node(const Tensor& x, const std::vector<State>& children) {
  const nn::ForwardScope scope(*this);
  const int64_t size = options.hidden_size(), arity = options.arity();
  check_inputs(x, 1);
  TANDEM_CHECK(arity == 0 || static_cast<int64_t>(children.size()) <= arity,
               "TreeLSTM: a node has ", children.size(), " children, at most ", arity,
               " are allowed");
  const Tensor in = input(x), in_forget = in.narrow(1, 3 * size, size);
  const State zero = zero_state();
  if (children.empty() && arity == 0)
    return gates(in, zeros({1, 3 * size}, zero.h.options()), zero.c);
  std::vector<Tensor> hs, cs;
  for (const State& child : children) {
    hs.push_back(child.h);
    cs.push_back(child.c);
  }
  if (arity == 0) {
    const Tensor h = cat(hs, 0), c = cat(cs, 0);
    const Tensor f = (in_forget + forget(h)).sigmoid();
    return gates(in, hidden(h.sum(0, /*keepdim=*/true)), (f * c).sum(0, /*keepdim=*/true));
  }
  hs.resize(static_cast<size_t>(arity), zero.h);
  cs.resize(static_cast<size_t>(arity), zero.c);
  const Tensor h = cat(hs, 1), c = cat(cs, 0);
  const Tensor f = (in_forget + forget(h).view({arity, size})).sigmoid();
  return gates(in, hidden(h), (f * c).sum(0, /*keepdim=*/true));
}

TreeLSTMImpl::State TreeLSTMImpl::walk(const Tensor& inputs, const Tree& tree) {
  const nn::ForwardScope scope(*this);
  check_inputs(inputs, tree.size());
  std::vector<State> states(static_cast<size_t>(tree.size()));
  for (const int64_t i : tree.order()) {
    std::vector<State> children;
    for (const int64_t child : tree.children(i))
      children.push_back(std::move(states[static_cast<size_t>(child)]));
    states[static_cast<size_t>(i)] = node(inputs.narrow(0, i, 1), children);
  }
  return states[static_cast<size_t>(tree.root())];
}

TreeLSTMImpl::State TreeLSTMImpl::level(const Tensor& x, const State& below,
                                        const TreeLevel& level) {
  const nn::ForwardScope scope(*this);
  const int64_t size = options.hidden_size(), arity = options.arity(), n = level.nodes.size(0);
  check_inputs(x, n);
  const Tensor in = input(x), in_forget = in.narrow(1, 3 * size, size);
  const Tensor zero = zeros({1, size}, x.options().requires_grad(false));
  State made;
  if (arity > 0) {
    const Tensor h = below.h.index_select(0, level.children).view({n, arity * size});
    const Tensor c = below.c.index_select(0, level.children).view({n, arity, size});
    const Tensor f = (in_forget.unsqueeze(1) + forget(h).view({n, arity, size})).sigmoid();
    made = gates(in, hidden(h), (f * c).sum(1));
  } else if (level.children.numel() == 0) {
    const Tensor none = zero.expand({n, size});
    made = gates(in, none.repeat({1, 3}), none);
  } else {
    const Tensor h = below.h.index_select(0, level.children);
    const Tensor c = below.c.index_select(0, level.children);
    const Tensor f = (in_forget.index_select(0, level.parents) + forget(h)).sigmoid();
    const Tensor none = zeros({n, size}, x.options().requires_grad(false));
    made = gates(in, hidden(none.index_add(0, level.parents, h)),
                 none.index_add(0, level.parents, f * c));
  }
  if (level.carried.numel() == 0) return {cat({zero, made.h}, 0), cat({zero, made.c}, 0)};
  return {cat({zero, made.h, below.h.index_select(0, level.carried)}, 0),
          cat({zero, made.c, below.c.index_select(0, level.carried)}, 0)};
}

TreeLSTMImpl::State TreeLSTMImpl::run(const Tensor& inputs, const TreePlan& plan,
                                      std::vector<Tensor>* all) {
  check_inputs(inputs, plan.places.size(0));
  State state = zero_state();
  for (const TreeLevel& l : plan.levels) {
    state = level(inputs.index_select(0, l.nodes), state, l);
    if (all) all->push_back(state.h.narrow(0, 1, l.nodes.size(0)));
  }
  return state;
}

Tensor TreeLSTMImpl::forward(const Tensor& inputs, const std::vector<Tree>& trees) {
  const nn::ForwardScope scope(*this);
  const TreePlan plan = plan_levels(trees, options.arity());
  return run(inputs, plan, nullptr).h.index_select(0, plan.roots);
}

Tensor TreeLSTMImpl::forward_nodes(const Tensor& inputs, const std::vector<Tree>& trees) {
  const nn::ForwardScope scope(*this);
  const TreePlan plan = plan_levels(trees, options.arity());
  std::vector<Tensor> all;
  run(inputs, plan, &all);
  return cat(all, 0).index_select(0, plan.places);
}

// -- RecursiveNet ------------------------------------------------------------------------------

RecursiveNetImpl::RecursiveNetImpl(const RecursiveNetOptions& options_) : options(options_) {
  TANDEM_CHECK(options.labels() > 0 && options.num_classes() > 0,
               "RecursiveNet: there must be labels and classes, got ", options.labels(), " and ",
               options.num_classes());
  reset();
}

void RecursiveNetImpl::reset() {
  embedding =
      register_module("embedding", nn::Embedding(options.labels(), options.embedding_size()));
  tree = register_module(
      "tree",
      TreeLSTM(
          TreeLSTMOptions(options.embedding_size(), options.hidden_size()).arity(options.arity())));
  output = register_module("output", nn::Linear(options.hidden_size(), options.num_classes()));
}

void RecursiveNetImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::models::RecursiveNet";
}

Tensor RecursiveNetImpl::embed(const std::vector<Tree>& trees) {
  std::vector<int64_t> labels;
  for (size_t t = 0; t < trees.size(); ++t)
    for (const int64_t label : trees[t].labels()) {
      TANDEM_CHECK_INDEX(0 <= label && label < options.labels(), "RecursiveNet: tree ", t,
                         " has the label ", label, ", but there are ", options.labels());
      labels.push_back(label);
    }
  return embedding(tensor(labels, kLong));
}

Tensor RecursiveNetImpl::forward(const std::vector<Tree>& trees) {
  const nn::ForwardScope scope(*this);
  return output(tree(embed(trees), trees));
}

Tensor RecursiveNetImpl::forward_nodes(const std::vector<Tree>& trees) {
  const nn::ForwardScope scope(*this);
  return output(tree->forward_nodes(embed(trees), trees));
}

Tensor RecursiveNetImpl::walk(const Tree& t) {
  const nn::ForwardScope scope(*this);
  return output(tree->walk(embed({t}), t).h);
}

}  // namespace tandem::models
