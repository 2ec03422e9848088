#include "tandem/graph/gate.h"

#include <gtest/gtest.h>

#include <map>

#include "tandem/autograd/autograd.h"
#include "tandem/compile/compile.h"
#include "tandem/compile/trace.h"
#include "tandem/core/graph.h"
#include "tandem/graph/pipeline.h"
#include "tandem/graph/verify.h"
#include "tandem/ops/norm_op.h"
#include "tandem/ops/ops.h"
#include "tandem/runtime/executor.h"

namespace tandem {
namespace {

using Tensors = std::vector<Tensor>;

/// What a norm with a ReLU behind it and its gradients look like when the pass has run, after the
/// results of the whole pipeline have been compared.
Graph gated(const std::function<Tensor(const Tensors&)>& fn, const Tensors& leaves) {
  const auto step = [&](const Tensors&) {
    const Tensor loss = fn(leaves).square().mean();
    return autograd::grad({loss}, leaves);
  };
  const Tensors expected = step({});
  const Graph recorded = trace_list(step, {});
  const Graph whole = optimise(recorded);
  verify(whole, "gate test");
  const runtime::Executor executor(runtime::make_plan(whole));
  const Tensors got = executor.run({});
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_TRUE(allclose(got[i], expected[i], 1e-5, 1e-6)) << i;
  return optimise(recorded, {.without = {"layout", "fuse"}});
}

int count(const Graph& g, const OpDef& op, uint32_t inputs) {
  int n = 0;
  for (const NodePtr& node : g.nodes) n += node->op == &op && node->n_inputs == inputs;
  return n;
}

Tensors leaves() {
  manual_seed(3);
  return {randn({4, 16, 5, 5}).set_requires_grad(true), randn({16}).set_requires_grad(true),
          randn({16}).set_requires_grad(true)};
}
Tensor norm(const Tensors& in) { return batch_norm(in[0], in[1], in[2], {}, {}, true, 0.1, 1e-5); }

TEST(Gate, SumsFindOutWhereTheReluWasOpen) {
  const Graph g = gated([](const Tensors& in) { return norm(in).relu(); }, leaves());
  EXPECT_EQ(count(g, kChannelSums, 6), 1);
  EXPECT_EQ(count(g, kChannelSums, 4), 0);
}

TEST(Gate, GradientsThatOthersReadAreMade) {
  // The gradient in front of the ReLU is also that of what was added to it.
  const Graph g = gated(
      [](const Tensors& in) {
        const Tensor y = norm(in).relu();
        return y * y.detach() + (norm({in[0] * 2, in[1], in[2]}) + in[0]).relu();
      },
      leaves());
  EXPECT_EQ(count(g, kChannelSums, 6), 1);
  EXPECT_EQ(count(g, kChannelSums, 4), 1);
}

}  // namespace
}  // namespace tandem
