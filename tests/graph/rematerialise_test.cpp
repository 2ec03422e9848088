#include "tandem/graph/rematerialise.h"

#include <gtest/gtest.h>

#include "tandem/autograd/autograd.h"
#include "tandem/core/graph.h"
#include "tandem/graph/schedule.h"
#include "tandem/graph/verify.h"
#include "tandem/ops/ops.h"

namespace tandem {
namespace {

// %2 and %3 wait for the end while %5 to %7 are made; %3 is a function of %2.
const std::string kHead =
    "graph(%0, %1)\n"
    "%0 = input : float32 [1024, 1024]\n"
    "%1 = input : float32 [1024, 1024]\n"
    "%2 = mm(%0, %1) {trans_a=false, trans_b=false} : float32 [1024, 1024]\n"
    "%3 = relu(%2) : float32 [1024, 1024]\n"
    "%4 = mm(%3, %1) {trans_a=false, trans_b=false} : float32 [1024, 1024]\n";
const std::string kMiddle =
    "%5 = exp(%4) : float32 [1024, 1024]\n"
    "%6 = tanh(%4) : float32 [1024, 1024]\n"
    "%7 = cat(%5, %6, %4) {dim=0, lengths=[1024, 1024, 1024]} : float32 [3072, 1024]\n"
    "%8 = sum(%7) {dims=[0, 1], keepdim=false, dtype=undefined} : float32 []\n";

size_t count_of(const Graph& g, const char* op) {
  size_t n = 0;
  for (const NodePtr& node : g.nodes) n += std::string_view(node->op->name) == op;
  return n;
}

Graph parsed(const std::string& text) {
  Graph g = Graph::parse(text);
  verify(g, "test");
  return g;
}

TEST(Rematerialise, MakesAgainWhatWaitsBesideWhatItIsMadeOf) {
  const Graph before =
      parsed(kHead + kMiddle +
             "%9 = mm(%0, %3) {trans_a=false, trans_b=false} : float32 [1024, 1024]\n"
             "%10 = mul(%9, %2) : float32 [1024, 1024]\n"
             "%11 = mul(%10, %8) : float32 [1024, 1024]\n"
             "return %11\n");
  const Graph after = rematerialise(before.clone());
  verify(after, "test");
  EXPECT_EQ(count_of(before, "relu"), 1u);
  EXPECT_EQ(count_of(after, "relu"), 2u);
  EXPECT_EQ(after.nodes.size(), before.nodes.size() + 1);
  EXPECT_LE(peak_bytes(after), peak_bytes(before) - (4 << 20));
  manual_seed(1);
  const Tensor x = randn({1024, 1024}) * 0.01, y = randn({1024, 1024}) * 0.01;
  EXPECT_TRUE(equal(before.run({x, y})[0], after.run({x, y})[0]));
}

TEST(Rematerialise, KeepsWhatWouldNeedSomethingElseToBeKept) {
  // %2 is not needed after %3, and as large.
  const Graph g = parsed(kHead + kMiddle +
                         "%9 = mm(%0, %3) {trans_a=false, trans_b=false} : float32 [1024, 1024]\n"
                         "%10 = mul(%9, %8) : float32 [1024, 1024]\n"
                         "return %10\n");
  EXPECT_EQ(rematerialise(g.clone()).str(), g.str());
}

TEST(Rematerialise, KeepsResultsAndWhatIsReadThroughViews) {
  const Graph result = parsed(kHead + kMiddle +
                              "%9 = mul(%2, %8) : float32 [1024, 1024]\n"
                              "return %9, %3\n");
  EXPECT_EQ(rematerialise(result.clone()).str(), result.str());
  const Graph view =
      parsed(kHead + kMiddle +
             "%9 = view(%3) {sizes=[1048576]} : float32 [1048576]\n"
             "%10 = sum(%9) {dims=[0], keepdim=false, dtype=undefined} : float32 []\n"
             "%11 = add(%10, %8) {a=1, b=0, c=0} : float32 []\n"
             "%12 = mul(%2, %11) : float32 [1024, 1024]\n"
             "return %12\n");
  EXPECT_EQ(rematerialise(view.clone()).str(), view.str());
}

TEST(Rematerialise, LeavesSmallGraphsAlone) {
  std::string text = kHead + kMiddle +
                     "%9 = mm(%0, %3) {trans_a=false, trans_b=false} : float32 [1024, 1024]\n"
                     "%10 = mul(%9, %2) : float32 [1024, 1024]\n"
                     "%11 = mul(%10, %8) : float32 [1024, 1024]\n"
                     "return %11\n";
  for (size_t at; (at = text.find("1024")) != std::string::npos;) text.replace(at, 4, "16");
  for (size_t at; (at = text.find("3072")) != std::string::npos;) text.replace(at, 4, "48");
  const Graph g = parsed(text);
  EXPECT_EQ(rematerialise(g.clone()).str(), g.str());
}

// A copy reads another copy: each comes before its reader.
TEST(Rematerialise, ChainsAreMadeAgainInOrder) {
  const Graph before =
      parsed(kHead +
             "%5 = add(%3, %2) {a=1, b=0, c=0} : float32 [1024, 1024]\n"
             "%6 = mm(%5, %4) {trans_a=false, trans_b=false} : float32 [1024, 1024]\n"
             "%7 = exp(%6) : float32 [1024, 1024]\n"
             "%8 = tanh(%6) : float32 [1024, 1024]\n"
             "%9 = cat(%7, %8, %6) {dim=0, lengths=[1024, 1024, 1024]} : "
             "float32 [3072, 1024]\n"
             "%10 = sum(%9) {dims=[0, 1], keepdim=false, dtype=undefined} : float32 []\n"
             "%11 = mm(%0, %5) {trans_a=false, trans_b=false} : float32 [1024, 1024]\n"
             "%12 = mm(%11, %3) {trans_a=false, trans_b=false} : float32 [1024, 1024]\n"
             "%13 = mul(%12, %2) : float32 [1024, 1024]\n"
             "%14 = mul(%13, %10) : float32 [1024, 1024]\n"
             "return %14\n");
  const Graph after = rematerialise(before.clone());
  verify(after, "test");
  EXPECT_EQ(count_of(after, "relu"), 2u);
  EXPECT_EQ(count_of(after, "add"), 2u);
  EXPECT_LE(peak_bytes(after), peak_bytes(before) - (8 << 20));
  manual_seed(2);
  const Tensor x = randn({1024, 1024}) * 0.01, y = randn({1024, 1024}) * 0.01;
  EXPECT_TRUE(equal(before.run({x, y})[0], after.run({x, y})[0]));
}

}  // namespace
}  // namespace tandem
