#include "tandem/core/graph.h"

#include "tests/autograd/helpers.h"

namespace tandem {
namespace {

using test::leaf;

TEST(Graph, ListsWhatAGradientWalksThrough) {
  Tensor x = leaf({2, 3}), w = leaf({3}, 2);
  Tensor h = x * w;
  Tensor y = h * (h * 2);
  const Graph g = Graph::of({y});
  ASSERT_EQ(g.outputs.size(), 1u);
  // Each node comes after those that it reads.
  for (size_t i = 0; i < g.nodes.size(); ++i)
    for (uint32_t k = 0; k < g.nodes[i]->n_inputs; ++k)
      if (const Node* from = g.nodes[i]->inputs()[k].node.get()) {
        bool found = false;
        for (size_t j = 0; j < i; ++j) found |= g.nodes[j].get() == from;
        EXPECT_TRUE(found);
      }
  EXPECT_EQ(str(g),
            "%0 = leaf() : float64 [2, 3]\n"
            "%1 = leaf() : float64 [3]\n"
            "%2 = mul(%0, %1) : float64 [2, 3]\n"
            "%3 = mul(%2, _) : float64 [2, 3]\n"
            "%4 = mul(%2, %3) : float64 [2, 3]\n"
            "return %4\n");
}

TEST(Graph, ShowsAttributesAndSeveralResults) {
  Tensor x = leaf({2, 3});
  const std::string text = str(Graph::of({x.t(), x[1]}));
  EXPECT_NE(text.find("permute(%0) {dims=[1, 0]} : float64 [3, 2]"), std::string::npos) << text;
  EXPECT_NE(text.find("select(%0) {dim=0, index=1} : float64 [3]"), std::string::npos) << text;
  EXPECT_NE(text.find("return %1, %2"), std::string::npos) << text;
}

TEST(Graph, IsEmptyWithoutHistory) {
  EXPECT_TRUE(Graph::of({ones({2})}).nodes.empty());
  EXPECT_TRUE(Graph::of({}).nodes.empty());
}

}  // namespace
}  // namespace tandem
