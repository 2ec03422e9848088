#include "tandem/graph/schedule.h"

#include <gtest/gtest.h>

#include <random>

#include "tandem/compile/trace.h"
#include "tandem/graph/lives.h"
#include "tandem/ops/ops.h"

namespace tandem {
namespace {

/// Values of many sizes that are read by one or several others, and a list that reads many.
Graph random_graph(uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  const auto fn = [&](const variable_list& in) {
    variable_list values = in;
    for (int i = 0; i < 60; ++i) {
      const Tensor& x = values[below(values.size())];
      const Tensor& y = values[below(values.size())];
      switch (below(5)) {
        case 0:
          values.push_back(x + y);
          break;
        case 1:
          values.push_back(x.sum(0, /*keepdim=*/true));
          break;
        case 2:
          values.push_back(cat({x + y, x * y}, 0).narrow(0, 0, 1));
          break;
        case 3:
          values.push_back(x.tanh());
          break;
        default:
          values.push_back((x * y).relu().t().contiguous().t());
      }
    }
    return variable_list{stack({values[40].sum(), values[50].sum(), values.back().sum()})};
  };
  return trace_list(fn, {randn({1, 8}), randn({16, 1}), randn({16, 8})});
}

/// The rule itself, without regard to time: of all that is ready what lets memory grow least, and
/// of these what came first.
std::vector<NodePtr> by_the_rule(const Graph& g) {
  const Lives lives(g);
  const size_t n = g.nodes.size();
  std::vector<size_t> order, left;
  std::vector<bool> done(n, false);
  for (size_t i = 0; i < n; ++i) left.push_back(lives.readers(i).size());
  while (order.size() < n) {
    size_t best = n;
    int64_t least = 0;
    for (size_t i = 0; i < n; ++i) {
      bool ready = !done[i];
      for (uint32_t k = 0; k < g.nodes[i]->n_inputs; ++k)
        ready = ready && done[g.nodes[i]->inputs()[k].node->walk_slot];
      if (!ready) continue;
      int64_t growth = lives.bytes(i);
      for (const size_t value : lives.reads(i))
        if (left[value] == 1) growth -= lives.bytes(value);
      if (best == n || growth < least) {
        best = i;
        least = growth;
      }
    }
    done[best] = true;
    order.push_back(best);
    for (const size_t value : lives.reads(best)) --left[value];
  }
  if (lives.peak_of(order).bytes >= lives.peak().bytes) return g.nodes;
  std::vector<NodePtr> nodes;
  for (const size_t i : order) nodes.push_back(g.nodes[i]);
  return nodes;
}

TEST(Schedule, TakesWhatLetsMemoryGrowLeast) {
  int changed = 0;
  for (uint32_t seed = 0; seed < 40; ++seed) {
    const Graph g = random_graph(seed);
    const std::vector<NodePtr> expected = by_the_rule(g);
    const Graph s = schedule(g);
    ASSERT_EQ(s.nodes.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i)
      ASSERT_EQ(s.nodes[i], expected[i]) << "seed " << seed << ", node " << i;
    changed += s.nodes != g.nodes;
  }
  EXPECT_GT(changed, 5);
}

}  // namespace
}  // namespace tandem
