// Trees and networks along them: the structure, levels, node by node, padding, gradients.
#include "tandem/models/tree.h"

#include <gtest/gtest.h>

#include <random>

#include "tandem/compile/compile.h"
#include "tests/models/checks.h"

namespace tandem::models {
namespace {

// A random tree with up to `arity` children a node.
Tree random_tree(int depth, int arity, std::mt19937& random) {
  std::vector<Tree> children;
  if (depth > 0)
    for (int n = static_cast<int>(random() % static_cast<uint32_t>(arity + 1)); n > 0; --n)
      children.push_back(random_tree(depth - 1, arity, random));
  return Tree(static_cast<int64_t>(random() % 6), children);
}

std::vector<Tree> forest(size_t n, int arity, uint32_t seed = 1) {
  std::mt19937 random(seed);
  std::vector<Tree> trees;
  for (size_t i = 0; i < n; ++i) trees.push_back(random_tree(4, arity, random));
  return trees;
}

int64_t node_count(const std::vector<Tree>& trees) {
  int64_t n = 0;
  for (const Tree& t : trees) n += t.size();
  return n;
}

Tree chain(int64_t length) {
  std::vector<int64_t> labels, parents;
  for (int64_t i = 0; i < length; ++i) {
    labels.push_back(i % 6);
    parents.push_back(i - 1);
  }
  return Tree::from_parents(labels, parents);
}

TEST(Tree, KnowsItsNodes) {
  const Tree t(10, {Tree(1), Tree(11, {Tree(2), Tree(3), Tree(4)})});
  EXPECT_EQ(t.size(), 6);
  EXPECT_EQ(t.root(), 5);
  EXPECT_EQ(t.labels(), (std::vector<int64_t>{1, 2, 3, 4, 11, 10}));
  EXPECT_EQ(t.children(5), (IntArrayRef{0, 4}));
  EXPECT_EQ(t.children(4), (IntArrayRef{1, 2, 3}));
  EXPECT_TRUE(t.children(2).empty());
  EXPECT_EQ(t.height(), 2);
  EXPECT_EQ(t.height(4), 1);
  EXPECT_EQ(t.order(), (std::vector<int64_t>{0, 1, 2, 3, 4, 5}));
}

TEST(Tree, IsMadeFromParents) {
  const Tree t = Tree::from_parents({10, 1, 11, 2, 3}, {-1, 0, 0, 2, 2});
  EXPECT_EQ(t.root(), 0);
  EXPECT_EQ(t.height(), 2);
  EXPECT_EQ(t.children(0), (IntArrayRef{1, 2}));
  EXPECT_EQ(t.children(2), (IntArrayRef{3, 4}));
  std::vector<bool> seen(5);
  for (const int64_t node : t.order()) {
    for (const int64_t child : t.children(node)) EXPECT_TRUE(seen[static_cast<size_t>(child)]);
    seen[static_cast<size_t>(node)] = true;
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), true), 5);
  EXPECT_EQ(chain(100000).height(), 99999);  // no recursion, so no limit but memory
}

TEST(Tree, RefusesWhatIsNoTree) {
  expect_error([] { Tree::from_parents({}, {}); }, "Tree: there are no nodes");
  expect_error([] { Tree::from_parents({1, 2}, {-1}); }, "there are 2 labels and 1 parents");
  expect_error([] { Tree::from_parents({1, 2}, {-1, -1}); }, "nodes 0 and 1 both have no parent");
  expect_error(
      [] {
        Tree::from_parents({1, 2}, {-1, 2});
      },
      "the parent of node 1 is 2, but there are 2 nodes");
  expect_error([] { Tree::from_parents({1, 2}, {-1, -2}); }, "the parent of node 1 is -2");
  expect_error([] { Tree::from_parents({1, 2}, {-1, 1}); }, "node 1 is its own parent");
  expect_error([] { Tree::from_parents({1, 2}, {1, 0}); }, "so there is no root");
  expect_error(
      [] {
        Tree::from_parents({1, 2, 3}, {-1, 2, 1});
      },
      "only 1 of 3 nodes are below the root 0");
  expect_error([] { Tree(1).children(1); }, "there is no node 1 among 1");
  expect_error([] { Tree(1).height(-1); }, "there is no node -1 among 1");
  expect_error([] { plan_levels({}); }, "there are no trees");
  expect_error(
      [] {
        plan_levels({Tree(1), Tree(1, {Tree(2), Tree(3), Tree(4)})}, 2);
      },
      "node 3 of tree 1 has 3 children, at most 2 are allowed");
  expect_error([] { plan_levels({Tree(1)}, -1); }, "must not be negative");
  expect_error([] { plan_levels({Tree(1)}, 0, int64_t{1} << 60); }, "nor the bucket huge");
}

// What a tree of one node is, by the formulas of the paper.
TEST(TreeLSTM, ComputesTheFormulas) {
  manual_seed(0);
  for (const int64_t arity : {0, 2}) {
    TreeLSTM net(TreeLSTMOptions(3, 2).arity(arity));
    net->to(kDouble);
    const Tensor x = randn({3, 3}, kDouble), w = net->input->weight, b = net->input->bias;
    const auto gate = [&](const Tensor& in, int64_t k) {
      return mv(w.narrow(0, 2 * k, 2), in) + b.narrow(0, 2 * k, 2);
    };
    const auto leaf = [&](int64_t i) {
      const Tensor c = gate(x[i], 0).sigmoid() * gate(x[i], 2).tanh();
      return std::pair(gate(x[i], 1).sigmoid() * c.tanh(), c);
    };
    const auto [h0, c0] = leaf(0);
    const auto [h1, c1] = leaf(1);
    const Tensor below = arity == 0 ? h0 + h1 : cat({h0, h1});
    const Tensor u = mv(net->hidden->weight, below), f = net->forget->weight;
    const Tensor f0 = arity == 0 ? mv(f, h0) : mv(f, below).narrow(0, 0, 2);
    const Tensor f1 = arity == 0 ? mv(f, h1) : mv(f, below).narrow(0, 2, 2);
    const Tensor c =
        (gate(x[2], 0) + u.narrow(0, 0, 2)).sigmoid() * (gate(x[2], 2) + u.narrow(0, 4, 2)).tanh() +
        (gate(x[2], 3) + f0).sigmoid() * c0 + (gate(x[2], 3) + f1).sigmoid() * c1;
    const Tensor h = (gate(x[2], 1) + u.narrow(0, 2, 2)).sigmoid() * c.tanh();
    const Tree tree(0, {Tree(0), Tree(0)});
    EXPECT_TRUE(allclose(net->walk(x, tree).h[0], h, 1e-12, 1e-12));
    EXPECT_TRUE(allclose(net->walk(x, tree).c[0], c, 1e-12, 1e-12));
    EXPECT_TRUE(allclose(net->forward(x, {tree})[0], h, 1e-12, 1e-12));
  }
}

TEST(TreeLSTM, LevelsGiveWhatAWalkGives) {
  manual_seed(1);
  const NoGradGuard no_grad;
  for (const int64_t arity : {0, 2, 3}) {
    TreeLSTM net(TreeLSTMOptions(4, 5).arity(arity));
    net->to(kDouble);
    std::vector<Tree> trees = forest(12, arity == 0 ? 4 : static_cast<int>(arity));
    trees.push_back(chain(40));
    trees.push_back(Tree(2));
    const Tensor x = randn({node_count(trees), 4}, kDouble);
    const Tensor together = net(x, trees), nodes = net->forward_nodes(x, trees);
    EXPECT_EQ(together.sizes(), (IntArrayRef{14, 5}));
    EXPECT_EQ(nodes.sizes(), (IntArrayRef{node_count(trees), 5}));
    int64_t offset = 0;
    for (size_t i = 0; i < trees.size(); ++i) {
      const Tensor h = net->walk(x.narrow(0, offset, trees[i].size()), trees[i]).h[0];
      EXPECT_TRUE(allclose(together[static_cast<int64_t>(i)], h, 1e-10, 1e-12)) << i;
      EXPECT_TRUE(equal(nodes[offset + trees[i].root()], together[static_cast<int64_t>(i)])) << i;
      offset += trees[i].size();
    }
  }
}

TEST(TreeLSTM, PaddingOfLevelsChangesNothing) {
  manual_seed(2);
  for (const int64_t arity : {0, 2}) {
    TreeLSTM net(TreeLSTMOptions(4, 5).arity(arity));
    net->to(kDouble);
    const std::vector<Tree> trees = forest(9, arity == 0 ? 4 : 2);
    const Tensor x = randn({node_count(trees), 4}, kDouble);
    const auto results = [&](int64_t bucket) {
      const TreePlan plan = plan_levels(trees, arity, bucket);
      auto state = net->zero_state();
      for (const TreeLevel& l : plan.levels) {
        EXPECT_TRUE(bucket == 0 || (l.nodes.size(0) & (l.nodes.size(0) - 1)) == 0);
        EXPECT_GE(l.nodes.size(0), bucket);
        state = net->level(x.index_select(0, l.nodes), state, l);
      }
      net->zero_grad();
      const Tensor roots = state.h.index_select(0, plan.roots);
      roots.square().sum().backward();
      std::vector<Tensor> all = {roots.detach()};
      for (const Tensor& p : net->parameters()) all.push_back(p.grad().clone());
      return all;
    };
    const auto plain = results(0), padded = results(16);
    for (size_t i = 0; i < plain.size(); ++i)
      EXPECT_TRUE(allclose(plain[i], padded[i], 1e-10, 1e-12)) << i;
  }
}

TEST(TreeLSTM, TrainsAllItsParametersWithTheRightGradients) {
  manual_seed(3);
  const std::vector<Tree> trees = {Tree(1, {Tree(2), Tree(0, {Tree(3)})}), Tree(4)};
  for (const int64_t arity : {0, 2}) {
    RecursiveNet net(RecursiveNetOptions(6, 3).embedding_size(2).hidden_size(2).arity(arity));
    net->to(kDouble);
    const Tensor classes = tensor({2, 0}, kLong);
    expect_gradients_reach(net, cross_entropy_loss(net(trees), classes));
    expect_right_gradients(net, [&] { return cross_entropy_loss(net(trees), classes); });
    expect_right_gradients(net, [&] { return net->walk(trees[0]).square().sum(); });
    expect_right_gradients(net, [&] { return net->forward_nodes(trees).square().sum(); });
  }
}

TEST(RecursiveNet, ClassifiesEachTreeAsIfAlone) {
  manual_seed(4);
  const NoGradGuard no_grad;
  RecursiveNet net(RecursiveNetOptions(6, 3).embedding_size(4).hidden_size(8));
  const std::vector<Tree> trees = forest(20, 2);
  const Tensor scores = net(trees), nodes = net->forward_nodes(trees);
  EXPECT_EQ(scores.sizes(), (IntArrayRef{20, 3}));
  EXPECT_EQ(nodes.sizes(), (IntArrayRef{node_count(trees), 3}));
  for (size_t i = 0; i < trees.size(); ++i)
    EXPECT_TRUE(allclose(scores[static_cast<int64_t>(i)], net->walk(trees[i])[0], 1e-5, 1e-6));
  // The order of children counts where each place has weights of its own, and only there.
  const Tree ab(1, {Tree(2), Tree(3)}), ba(1, {Tree(3), Tree(2)});
  EXPECT_FALSE(allclose(net->walk(ab), net->walk(ba)));
  RecursiveNet sum(RecursiveNetOptions(6, 3).arity(0));
  EXPECT_TRUE(allclose(sum->walk(ab), sum->walk(ba), 1e-5, 1e-6));
}

TEST(RecursiveNet, CompiledLevelsAgree) {
  manual_seed(5);
  for (const int64_t arity : {0, 2}) {
    RecursiveNet net(RecursiveNetOptions(6, 3).embedding_size(4).hidden_size(8).arity(arity));
    const auto level = compile([&](const Tensor& x, const TreeLSTMImpl::State& below,
                                   const TreeLevel& l) { return net->tree->level(x, below, l); });
    const auto compiled_scores = [&](const std::vector<Tree>& trees) {
      const TreePlan plan = plan_levels(trees, arity, /*bucket=*/64);
      const Tensor x = net->embed(trees);
      auto state = net->tree->zero_state();
      for (const TreeLevel& l : plan.levels) state = level(x.index_select(0, l.nodes), state, l);
      return net->output(state.h.index_select(0, plan.roots));
    };
    size_t graphs = 0;
    for (uint32_t seed = 1; seed <= 4; ++seed) {
      const std::vector<Tree> trees = forest(10, 2, seed);
      net->zero_grad();
      const Tensor scores = net(trees);
      scores.square().sum().backward();
      std::vector<Tensor> gradients;
      for (const Tensor& p : net->parameters()) gradients.push_back(p.grad().clone());
      net->zero_grad();
      const Tensor compiled = compiled_scores(trees);
      EXPECT_TRUE(allclose(compiled, scores, 1e-5, 1e-6));
      compiled.square().sum().backward();
      for (size_t i = 0; i < gradients.size(); ++i)
        EXPECT_TRUE(allclose(net->parameters()[i].grad(), gradients[i], 1e-4, 1e-5)) << i;
      if (seed == 2) graphs = level.graph_count();
    }
    EXPECT_EQ(level.graph_count(), graphs);  // other trees of these sizes need no other graphs
  }
}

TEST(RecursiveNet, FilesAndCopiesHoldTheSameNetwork) {
  manual_seed(6);
  const std::vector<Tree> trees = forest(5, 2);
  for (const int64_t arity : {0, 2}) {
    const auto options = RecursiveNetOptions(6, 3).arity(arity);
    expect_files_and_copies<RecursiveNet>(RecursiveNet(options), RecursiveNet(options),
                                          [&](RecursiveNet& n) { return n(trees); });
  }
  RecursiveNet net(RecursiveNetOptions(6, 3).embedding_size(4).hidden_size(8));
  EXPECT_TRUE(net->named_parameters().contains("tree.forget.weight"));
  std::ostringstream text;
  text << net;
  EXPECT_NE(text.str().find("(tree): tandem::models::TreeLSTM(4, 8, arity=2)"), std::string::npos)
      << text.str();
}

TEST(RecursiveNet, SaysWhatIsWrong) {
  RecursiveNet net(RecursiveNetOptions(6, 3));
  expect_error([&] { net->forward({}); }, "there are no trees");
  expect_error(
      [&] {
        net->forward({Tree(1), Tree(6)});
      },
      "tree 1 has the label 6, but there are 6");
  expect_error([&] { net->walk(Tree(-1)); }, "tree 0 has the label -1");
  const Tree wide(1, {Tree(1), Tree(1), Tree(1)});
  expect_error([&] { net->forward({wide}); }, "has 3 children, at most 2 are allowed");
  expect_error([&] { net->walk(wide); }, "has 3 children, at most 2 are allowed");
  TreeLSTM tree(4, 5);
  expect_error(
      [&] {
        tree->forward(zeros({2, 4}), {Tree(1)});
      },
      "inputs for 1 nodes must be [1, 4], not float32 [2, 4]");
  expect_error([&] { tree->walk(Tensor(), Tree(1)); }, "not an undefined tensor");
  expect_error([] { TreeLSTM(0, 5); }, "must be positive and arity not negative, got 0, 5 and 0");
  expect_error([] { RecursiveNet(RecursiveNetOptions(0, 3)); }, "must be labels and classes");
}

}  // namespace
}  // namespace tandem::models
