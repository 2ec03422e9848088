#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "tandem/core/graph.h"
#include "tandem/core/tensor_impl.h"
#include "tandem/ops/ops.h"
#include "tandem/runtime/executor.h"

/// Graphs written by hand, for the tests of plans.
namespace tandem::runtime {

struct Builder {
  Graph g;

  Edge input(IntArrayRef sizes, DType dtype = kFloat, std::string name = {}) {
    TensorType type;
    type.sizes = sizes;
    type.dtype = dtype;
    Node& n = append(g, kInputOp, {},
                     InputAttrs{static_cast<int64_t>(g.inputs.size()), std::move(name), type});
    g.inputs.push_back(NodePtr(&n));
    return {NodePtr(&n), 0};
  }
  /// Comes after all arguments.
  Edge capture(const Tensor& t) {
    const Edge e = input(t.sizes(), t.scalar_type());
    g.captured.push_back(t);
    return e;
  }
  Edge constant(const Tensor& t) {
    return {NodePtr(&append(g, kConstantOp, {}, ConstantAttrs{{t}})), 0};
  }
  Edge op(const char* name, ArrayRef<Edge> inputs, AttrRef attrs = {}) {
    const OpDef* def = find_op(name);
    EXPECT_NE(def, nullptr) << name;
    return {NodePtr(&append(g, *def, inputs, attrs)), 0};
  }
  /// All results before all writes.
  void result(const Edge& e) {
    g.outputs.push_back(e);
    ++g.n_results;
  }
  void write(const Edge& input, const Edge& value) {
    size_t at = 0;
    while (g.inputs[at] != input.node) ++at;
    g.writes.push_back({static_cast<uint32_t>(g.outputs.size()), static_cast<uint32_t>(at)});
    g.outputs.push_back(value);
  }
};

inline ::testing::AssertionResult same_bits(const Tensor& a, const Tensor& b) {
  if (!(a.impl()->type == b.impl()->type))
    return ::testing::AssertionFailure() << a.impl()->type << " and " << b.impl()->type;
  const Tensor x = a.contiguous(), y = b.contiguous();
  if (x.nbytes() == 0 || std::memcmp(x.const_data_ptr(), y.const_data_ptr(), x.nbytes()) == 0)
    return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << a << "\nand\n" << b;
}

/// Runs the graph and its plan with copies of the same inputs, twice, and compares results and what
/// was written.
inline void expect_same_as_graph(const Graph& g, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> a, b;
  for (const Tensor& t : inputs) a.push_back(t.clone()), b.push_back(t.clone());
  const Executor executor(make_plan(g));
  for (int round = 0; round < 2; ++round) {
    const std::vector<Tensor> want = g.run(a), got = executor.run(b);
    ASSERT_EQ(want.size(), got.size());
    for (size_t k = 0; k < want.size(); ++k)
      EXPECT_TRUE(same_bits(want[k], got[k])) << "result " << k << " of round " << round << "\n"
                                              << g;
    for (size_t i = 0; i < a.size(); ++i)
      EXPECT_TRUE(same_bits(a[i], b[i])) << "input " << i << " after round " << round << "\n" << g;
  }
}

}  // namespace tandem::runtime
