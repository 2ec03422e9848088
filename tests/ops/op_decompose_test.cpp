// What the fuser sees in place of an op with a kernel of its own must have the kernel's results,
// bit for bit, for every sample of the op table.
#include <gtest/gtest.h>

#include <set>

#include "tandem/compile/trace.h"
#include "tandem/core/apply.h"
#include "tests/ops/op_table.h"

namespace tandem::table {
namespace {

// Runs a graph one node after the other and compares where there is something to compare.
int check_nodes(const Graph& g, const List& args) {
  g.number();
  std::vector<List> values(g.nodes.size());
  for (size_t i = 0; i < g.inputs.size(); ++i)
    values[g.inputs[i]->walk_slot] = {i < args.size() ? args[i] : g.captured[i - args.size()]};
  int compared = 0;
  for (const NodePtr& n : g.nodes) {
    if (n->op == &kInputOp) continue;
    List& out = values[n->walk_slot];
    if (n->op == &kConstantOp) {
      out = {n->attrs().as<ConstantAttrs>().value.tensor};
      continue;
    }
    List in;
    std::vector<TensorArg> in_args;
    for (uint32_t i = 0; i < n->n_inputs; ++i)
      in.push_back(values[n->inputs()[i].node->walk_slot][n->inputs()[i].index]);
    for (const Tensor& t : in) in_args.push_back(t);
    out.resize(n->n_outputs);
    apply(*n->op, in_args, n->attrs(), out.data());
    if (!n->op->decompose) continue;
    List composite(n->n_outputs);
    n->op->decompose(
        {*n->op, in.data(), static_cast<int>(in.size()), n->attrs(), composite.data()});
    for (size_t k = 0; k < out.size(); ++k) {
      EXPECT_EQ(composite[k].sizes(), out[k].sizes());
      EXPECT_EQ(composite[k].dtype(), out[k].dtype());
      EXPECT_TRUE(bytes_of(composite[k]) == bytes_of(out[k]))
          << n->op->name << ": " << describe({composite[k]}) << " instead of" << describe({out[k]})
          << " for" << describe(in);
    }
    ++compared;
  }
  return compared;
}

TEST(Decompositions, EqualTheKernels) {
  std::set<std::string> wanted, met;
  for (const OpDef* op : all_ops())
    if (op->decompose) wanted.insert(op->name);
  for (const Row& row : all_rows()) {
    bool any = false;
    for (const std::string& op : row.ops) any |= wanted.contains(op);
    if (!any) continue;
    for (const Sample& s : row.samples)
      for (DType t : {kDouble, kFloat, kHalf, kBFloat16, kLong, kBool}) {
        if (!supports(row, s, t)) continue;
        SCOPED_TRACE(str(row.name, ", sample '", s.label, "', ", tandem::name_of(t)));
        const List inputs = make_inputs(row, s, t);
        if (check_nodes(tandem::trace(fn_of(row, s), inputs), inputs) > 0)
          for (const std::string& op : row.ops)
            if (wanted.contains(op)) met.insert(op);
        if (testing::Test::HasFailure()) return;
      }
  }
  EXPECT_EQ(met, wanted);
}

// Long rows, and dimensions other than the last, where sums have an order of their own.
TEST(Decompositions, EqualTheKernelsOnLargerTensors) {
  manual_seed(5);
  const auto check = [](const Tensor& x, const Fn& fn, const std::string& what) {
    SCOPED_TRACE(str(what, " of ", x.type_of()));
    EXPECT_GT(check_nodes(tandem::trace(fn, {x}), {x}), 0);
  };
  for (DType t : {kFloat, kDouble, kBFloat16})
    for (const Sizes& sizes : {Sizes{3, 1000, 7}, Sizes{2, 20000}, Sizes{9000, 1}, Sizes{70000}}) {
      const Tensor x = (randn(sizes, kFloat) * 5).to(t);
      for (int64_t d = 0; d < x.dim(); ++d) {
        check(
            x,
            [d](const List& a) -> List {
              return {softmax(a[0], d), log_softmax(a[0], d)};
            },
            str("softmax along ", d));
        check(
            x, [d](const List& a) -> List { return {logsumexp(a[0], d)}; },
            str("logsumexp along ", d));
      }
      if (x.dim() == 3) check(x, FN(logsumexp(a[0], {0, 2})), "logsumexp along 0 and 2");
    }
}

}  // namespace
}  // namespace tandem::table
