#include "pictures.h"
#include "tandem/autograd/autograd.h"
#include "tandem/compile/compile.h"
#include "tandem/compile/trace.h"
#include "tandem/core/fused.h"
#include "tandem/optim/optim.h"

namespace tandem::inspect {
namespace {

TEST(DrawGraph, TellsTheKindsApart) {
  const Tensor w = randn({4, 3}), count_up = zeros({});
  const Graph g = trace(
      [&](const Tensor& x) {
        count_up.add_(1);
        return (x.mm(w) + tensor({1.f, 2.f, 3.f})).relu();
      },
      {randn({2, 4})});
  const Picture p = make_picture(g, {.names = {{"w", w}, {"steps", count_up}}});
  EXPECT_FALSE(p.autograd);
  EXPECT_EQ(count(p, Kind::argument), 1u);
  EXPECT_EQ(count(p, Kind::captured), 2u);
  EXPECT_EQ(count(p, Kind::result), 1u);
  EXPECT_EQ(count(p, Kind::write), 1u);
  EXPECT_GE(count(p, Kind::constant), 1u);
  EXPECT_EQ(count(p, Kind::leaf), 0u);
  EXPECT_TRUE(has_line(p, "argument 0", "mm"));
  EXPECT_TRUE(has_line(p, "w", "mm"));
  EXPECT_TRUE(has_line(p, "relu", "result"));
  EXPECT_TRUE(has_line(p, "add", "write steps"));
  EXPECT_TRUE(has_line(p, "steps", "add"));
  for (const Picture::Line& l : p.lines) EXPECT_LT(l.from, l.to);
}

TEST(DrawGraph, ConstantsSayWhatTheyAre) {
  const Graph g = Graph::parse(
      "graph(%0)\n"
      "%0 = input \"x\" : float32 [2]\n"
      "%1 = constant() {value=float32 [] [2.5]} : float32 []\n"
      "%2 = constant() {value=float32 [2] [1, 3]} : float32 [2]\n"
      "%3 = mul(%0, %1) : float32 [2]\n"
      "%4 = mul(%3, %2) : float32 [2]\n"
      "return %4\n");
  const Picture p = make_picture(g, {});
  EXPECT_TRUE(has_line(p, "2.5", "mul"));
  EXPECT_TRUE(has_line(p, "[1, 3]", "mul"));
  EXPECT_TRUE(has_line(p, "x", "mul"));
}

// By group that is fused: the ops in it.
std::vector<std::vector<std::string>> fused_ops(const Picture& p) {
  std::vector<std::vector<std::string>> ops(p.groups.size());
  for (const Picture::Box& b : p.boxes)
    if (b.group && p.groups[static_cast<size_t>(b.group)].fused)
      ops[static_cast<size_t>(b.group)].push_back(b.lines[0]);
  std::erase_if(ops, [](const auto& list) { return list.empty(); });
  return ops;
}

TEST(DrawGraph, FusedGroupsAreBoxed) {
  const auto f = compile([](const Tensor& a, const Tensor& b) { return (a * b + a).tanh().exp(); });
  EXPECT_NE(error_of([&] { to_svg(f); }).find("has not been called"), std::string::npos);
  f(randn({64, 32}), randn({64, 32}));
  const Picture p = make_picture(f, {});
  ASSERT_EQ(p.groups.size(), 2u);
  EXPECT_TRUE(p.groups[1].fused);
  EXPECT_EQ(fused_ops(p), (std::vector<std::vector<std::string>>{{"mul", "add", "tanh", "exp"}}));
  EXPECT_EQ(count(p, Kind::argument), 2u);
  EXPECT_TRUE(has_line(p, "argument 1", "mul"));
  EXPECT_TRUE(has_line(p, "exp", "result"));
  EXPECT_EQ(find_box(p, "fused"), -1);  // no box beside those of what it does
  const std::string svg = to_svg(f);
  EXPECT_EQ(count(svg, "<rect class=\"fused\" x="), 2u);  // the legend, the group
  EXPECT_EQ(count(to_dot(f), "subgraph cluster_"), 1u);
  // The recorded graph has none.
  EXPECT_EQ(make_picture(f.graph(), {}).groups.size(), 1u);
}

TEST(DrawGraph, TrainingStepReadsAndWritesItsWeights) {
  const Tensor w = randn({8, 4}, requires_grad());
  const auto step = compile([&](const Tensor& x) {
    const Tensor loss = x.mm(w).tanh().pow(2).mean();
    loss.backward();
    const NoGradGuard no_grad;
    w.sub_(w.grad() * 0.1);
    w.mutable_grad() = Tensor();
    return loss.detach();
  });
  step(randn({16, 8}));
  const Picture p = make_picture(step, {.names = {{"w", w}}});
  EXPECT_GE(find_box(p, "w"), 0);
  EXPECT_GE(find_box(p, "write w"), 0);
  EXPECT_FALSE(fused_ops(p).empty());
  const size_t ops = count(p, Kind::function);
  size_t in_graph = 0;
  for (const NodePtr& n : step.optimised_graph().nodes) {
    if (const FusedGroup* g = fused_group(*n)) {
      for (const NodePtr& inner : g->body.nodes)
        in_graph += inner->op != &kInputOp && inner->op != &kConstantOp;
    } else {
      in_graph += n->op != &kInputOp && n->op != &kConstantOp;
    }
  }
  EXPECT_EQ(ops, in_graph);  // every node of every body, once
}

TEST(DrawGraph, ManyTensorsInOnePlaceAreOneBox) {
  std::vector<Tensor> many, few;
  for (int i = 0; i < 20; ++i) many.push_back(randn({3}));
  for (int i = 0; i < 3; ++i) few.push_back(randn({3}));
  const Graph g = trace(
      [&](const Tensor& x) {
        return cat({cat(many), cat(few), x});
      },
      {randn({3})});
  const Picture p = make_picture(g, {});
  EXPECT_EQ(count(p, Kind::captured), 1u + 3u);
  EXPECT_TRUE(has_line(p, "20 tensors", "cat"));
  EXPECT_EQ(p.boxes.size(), 9u);  // with x, three cats and the result
  EXPECT_EQ(p.lines.size(), 1u + 3u + 3u + 1u);
  EXPECT_EQ(count(make_picture(g, {.fold = false}), Kind::captured), 23u);
  // What has a name keeps its box.
  DrawOptions named;
  for (size_t i = 0; i < many.size(); ++i)
    named.names.emplace_back("tensor " + std::to_string(i), many[i]);
  EXPECT_EQ(count(make_picture(g, named), Kind::captured), 23u);
}

TEST(DrawGraph, WhatAnOptimiserRemembersIsOneBox) {
  std::vector<Tensor> weights;
  for (int i = 0; i < 12; ++i) weights.push_back(randn({3}, requires_grad()));
  optim::SGD sgd(weights, optim::SGDOptions(0.1).momentum(0.9));
  const auto step = compile([&](const Tensor& x) {
    const Tensor loss = (cat(weights) * x).sum();
    loss.backward();
    sgd.step();
    sgd.zero_grad(/*set_to_none=*/true);
    return loss.detach();
  });
  step(randn({36}));
  DrawOptions options;
  for (size_t i = 0; i < weights.size(); ++i)
    options.names.emplace_back("w" + std::to_string(i), weights[i]);
  const Picture p = make_picture(step, options);
  size_t writes = 0;
  for (const Picture::Box& b : p.boxes)
    writes += b.kind == Kind::write && b.lines[0].rfind("write w", 0) == 0;
  EXPECT_EQ(writes, 12u);
  EXPECT_EQ(count(p, Kind::write), 13u);  // and all momenta at once
  options.fold = false;
  EXPECT_GE(count(make_picture(step, options), Kind::write), 24u);
}

TEST(DrawGraph, EmptyGraphIsAnError) {
  EXPECT_NE(error_of([] { to_svg(Graph()); }).find("draw: the graph is empty"), std::string::npos);
}

TEST(DrawGraph, LargeConstantsAreNotWrittenOut) {
  const Tensor big = randn({100'000});
  Graph g;
  Node& c = append(g, kConstantOp, {}, ConstantAttrs{{big}});
  g.outputs.push_back({NodePtr(&c), 0});
  g.n_results = 1;
  EXPECT_LT(to_svg(g).size(), 10'000u);
}

}  // namespace
}  // namespace tandem::inspect
