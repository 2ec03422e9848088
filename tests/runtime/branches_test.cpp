#include "tandem/runtime/branches.h"

#include <algorithm>
#include <set>

#include "tandem/base/parallel.h"
#include "tandem/compile/trace.h"
#include "tandem/graph/pipeline.h"
#include "tandem/jit/kernel_cache.h"
#include "tandem/runtime/explain.h"
#include "tests/runtime/graphs.h"

namespace tandem::runtime {
namespace {

using Reads = std::vector<std::vector<int32_t>>;

TEST(Branches, IndependentPartsShareTheWork) {
  // Two chains of two steps each, interleaved.
  const std::vector<Branches> b = find_branches({30e3, 30e3, 30e3, 30e3}, {{}, {}, {0}, {1}});
  ASSERT_EQ(b.size(), 1u);
  EXPECT_EQ(b[0].first, 0);
  EXPECT_EQ(b[0].last, 3);
  EXPECT_EQ(b[0].lanes, (Reads{{0, 2}, {1, 3}}));
}

TEST(Branches, NothingThatDoesNotPay) {
  EXPECT_TRUE(find_branches({}, {}).empty());
  EXPECT_TRUE(find_branches({1e3, 1e3, 1e3}, {{}, {}, {}}).empty()) << "too short";
  EXPECT_TRUE(find_branches({50e3, 50e3, 50e3}, {{}, {0}, {1}}).empty()) << "a chain";
  EXPECT_TRUE(find_branches({90e3, 1e3}, {{}, {}}).empty()) << "one long part";
  EXPECT_TRUE(find_branches({90e3, 0, 90e3}, {{}, {}, {}}).empty()) << "not side by side";
}

TEST(Branches, LanesHoldEveryStepOnceAndInOrder) {
  std::vector<double> ns;
  Reads reads;
  for (int32_t i = 0; i < 60; ++i) {
    ns.push_back(i % 20 == 7 ? 0 : 5e3 + 100 * i);
    reads.push_back(i >= 9 ? std::vector<int32_t>{i - 9} : std::vector<int32_t>());
  }
  const std::vector<Branches> all = find_branches(ns, reads);
  ASSERT_FALSE(all.empty());
  for (const Branches& b : all) {
    std::set<int32_t> seen;
    std::vector<int> lane_of(60, -1);
    for (size_t l = 0; l < b.lanes.size(); ++l) {
      EXPECT_FALSE(b.lanes[l].empty());
      for (const int32_t s : b.lanes[l]) {
        EXPECT_TRUE(seen.insert(s).second);
        lane_of[s] = static_cast<int>(l);
        for (const int32_t from : reads[s]) {
          if (from < b.first) continue;
          EXPECT_EQ(lane_of[from], static_cast<int>(l)) << "what a step reads comes before it";
        }
      }
    }
    EXPECT_EQ(static_cast<int32_t>(seen.size()), b.last - b.first + 1);
    EXPECT_EQ(*seen.begin(), b.first);
  }
}

TEST(Branches, UpdatesOfManyParametersRunSideBySide) {
  std::vector<Tensor> inputs;
  for (int i = 0; i < 12; ++i) {
    inputs.push_back(randn({60, 60 + i}));
    inputs.push_back(randn({60, 60 + i}));
  }
  const Graph g = trace(
      [](std::vector<Tensor> in) -> std::vector<Tensor> {
        std::vector<Tensor> norms;
        for (size_t i = 0; i < in.size(); i += 2) {
          in[i].sub_((in[i + 1].tanh() * 3).sin().exp() / (in[i + 1].pow(2).sqrt() + 1), 0.1);
          norms.push_back(in[i].amax());
        }
        return norms;
      },
      inputs);
  const Executor executor(make_plan(optimise(g)));
  EXPECT_FALSE(executor.plan().branches.empty()) << explain(executor);
  std::vector<Tensor> want_inputs, want;
  for (const Tensor& t : inputs) want_inputs.push_back(t.clone());
  want = g.run(want_inputs);
  const int threads = get_num_threads();
  for (const int n : {1, 2, 4}) {
    set_num_threads(n);
    for (int round = 0; round < 2; ++round) {
      std::vector<Tensor> mine;
      for (const Tensor& t : inputs) mine.push_back(t.clone());
      const std::vector<Tensor> got = executor.run(mine);
      for (size_t k = 0; k < want.size(); ++k) EXPECT_TRUE(same_bits(want[k], got[k]));
      for (size_t i = 0; i < mine.size(); ++i) EXPECT_TRUE(same_bits(want_inputs[i], mine[i]));
      jit::wait_idle();
    }
  }
  set_num_threads(threads);
}

}  // namespace
}  // namespace tandem::runtime
