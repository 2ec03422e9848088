#include "tandem/runtime/executor.h"

#include "tandem/ops/view_op.h"
#include "tests/runtime/graphs.h"

namespace tandem::runtime {
namespace {

TEST(Executor, RunsOpsInOrder) {
  Builder b;
  const Edge x = b.input({3, 4}), y = b.input({4});
  b.result(b.op("tanh", {b.op("mul", {b.op("exp", {x}), y})}));
  const Tensor a = randn({3, 4}), c = randn({4});
  const Executor executor(make_plan(b.g));
  EXPECT_TRUE(same_bits(executor.run({a, c})[0], tanh(exp(a) * c)));
  expect_same_as_graph(b.g, {a, c});
  // exp's memory serves mul and tanh: all of them write the result's.
  EXPECT_EQ(executor.plan().arena_bytes, 0);
  EXPECT_EQ(executor.plan().intermediate_bytes, 2 * 48);
}

}  // namespace
}  // namespace tandem::runtime
