// Every row of the op table as a graph: recorded, printed, read back and run, with and without the
// passes, forward and backward.
#include <gtest/gtest.h>

#include <cctype>
#include <set>

#include "tandem/autograd/autograd.h"
#include "tandem/compile/trace.h"
#include "tandem/graph/pipeline.h"
#include "tandem/graph/verify.h"
#include "tests/ops/row_param.h"

namespace tandem::table {
namespace {

class OpGraph : public testing::TestWithParam<const Row*> {
 protected:
  const Row& row() const { return *GetParam(); }
};

INSTANTIATE_TEST_SUITE_P(All, OpGraph, testing::ValuesIn(row_pointers()), test_name);

// Recording refuses, by name, what decides on values. Nothing else may be refused.
bool looks_at_values(const std::string& message) {
  return message.find("cannot be looked at while") != std::string::npos ||
         message.find("cannot be differentiated again") != std::string::npos ||
         message.find("depends on values") != std::string::npos;
}

// The function as a graph; without nodes if it cannot be recorded.
Graph recorded(const autograd::TensorFunction& fn, const List& inputs) {
  try {
    return trace_list(fn, inputs);
  } catch (const Error& e) {
    if (!looks_at_values(e.what())) throw;
    return {};
  }
}

// Products of matrices add up in an order that depends on how the factors lie in memory, which
// passes may change.
bool multiplies_matrices(const Graph& g) {
  for (const NodePtr& n : g.nodes)
    for (const char* op : {"mm", "bmm", "addmm", "dot"})
      if (n->op->name == std::string_view(op)) return true;
  return false;
}

// What adding up the few products of a sample in another order may change.
double rounding_of(DType t) {
  return t == kDouble ? 1e-13 : t == kFloat ? 4e-6 : t == kHalf ? 2e-3 : 0;
}

void check_graph(const Graph& g, const List& inputs, const List& wanted, bool comparable) {
  verify(g, "trace");
  const std::string text = g.str();
  const Graph again = Graph::parse(text);
  ASSERT_TRUE(same(g, again)) << g << again;
  ASSERT_EQ(again.str(), text);
  EXPECT_EQ(structural_hash(g), structural_hash(again));
  const Graph clean = optimise(g, {.without = {"fuse", "schedule"}});
  verify(clean, "optimise");
  EXPECT_TRUE(same(clean, Graph::parse(clean.str()))) << clean;
  if (!comparable) return;
  List all = inputs;
  all.insert(all.end(), g.captured.begin(), g.captured.end());
  const Graph* graphs[] = {&g, &again, &clean};
  for (const Graph* graph : graphs) {
    const List got = graph->run(all);
    ASSERT_EQ(got.size(), wanted.size());
    for (size_t k = 0; k < got.size(); ++k) {
      if (graph == &clean && multiplies_matrices(g))
        EXPECT_EQ(compare(got[k], read(wanted[k]), rounding_of(got[k].dtype())), "")
            << "result " << k << "\n"
            << *graph;
      else
        EXPECT_EQ(bytes_of(got[k]), bytes_of(wanted[k]))
            << "result " << k << ": " << got[k] << "\nwanted " << wanted[k] << "\n"
            << *graph;
    }
  }
}

TEST_P(OpGraph, IsPrintedAndParsed) {
  for (const Sample& s : row().samples) {
    if (s.big) continue;
    for (DType t : {kDouble, kFloat, kHalf, kLong, kByte, kBool}) {
      if (!supports(row(), s, t)) continue;
      if (row().unwritten && t == kBool)
        continue;  // what nobody wrote may be neither true nor false
      SCOPED_TRACE(str(row().name, ", sample '", s.label, "', ", tandem::name_of(t)));
      try {
        const List inputs = make_inputs(row(), s, t);
        const Graph g = recorded(fn_of(row(), s), inputs);
        if (!g.n_results) continue;
        check_graph(g, inputs, run(row(), s, inputs), !row().random && !row().unwritten);
      } catch (const std::exception& e) {
        ADD_FAILURE() << "threw: " << e.what();
      }
      if (HasFailure()) return;
    }
  }
}

TEST_P(OpGraph, GradientIsPrintedAndParsed) {
  if (row().grad == Grad::kNo || row().random || row().dynamic) return;
  // Records refuse the third derivative of a loop whose number of rounds they do not know.
  if (row().name == "while_loop_gradient_gradient") return;
  for (const Sample& s : row().samples) {
    if (s.big || !s.grad || s.inputs.empty() || !supports(row(), s, kFloat)) continue;
    SCOPED_TRACE(str(row().name, ", sample '", s.label, "'"));
    const auto gradients = [&](const List& in) -> List {
      List args, sources, results;
      for (size_t i = 0; i < in.size(); ++i) {
        args.push_back(in[i].detach());
        if (s.inputs[i].kind != Input::kReal || !is_floating(in[i].dtype())) continue;
        args.back().requires_grad_();
        sources.push_back(args.back());
      }
      for (const Tensor& r : fn_of(row(), s)(args))
        if (r.defined() && r.requires_grad()) results.push_back(r.sum());
      List defined;
      if (results.empty() || sources.empty()) return defined;
      for (const Tensor& g : autograd::grad(results, sources, {}, std::nullopt, false, true))
        if (g.defined()) defined.push_back(g);
      return defined;
    };
    try {
      const List inputs = make_inputs(row(), s, kFloat);
      const Graph g = recorded(gradients, inputs);
      if (g.n_results) check_graph(g, inputs, gradients(inputs), !row().unwritten);
    } catch (const std::exception& e) {
      ADD_FAILURE() << "threw: " << e.what();
    }
    if (HasFailure()) return;
  }
}

// All but those whose results have a shape that depends on values.
TEST(OpGraphAsAWhole, NearlyAllRowsCanBeRecorded) {
  std::set<std::string> refused;
  for (const Row& row : all_rows())
    for (const Sample& s : row.samples) {
      if (s.big || !supports(row, s, kFloat)) continue;
      if (!recorded(fn_of(row, s), make_inputs(row, s, kFloat)).n_results)
        if (!run(row, s, make_inputs(row, s, kFloat)).empty()) refused.insert(row.name);
    }
  std::string names;
  for (const std::string& n : refused) names += n + " ";
  EXPECT_LE(refused.size(), 40u) << names;
}

}  // namespace
}  // namespace tandem::table
