#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <vector>

#include "tandem/core/apply.h"
#include "tandem/core/fused.h"
#include "tandem/graph/fuse.h"
#include "tandem/tandem.h"

namespace tandem::test {

/// Nodes that need a kernel: no inputs, constants and views.
inline std::vector<const Node*> steps(const Graph& g) {
  std::vector<const Node*> out;
  for (const NodePtr& n : g.nodes)
    if (n->op != &kInputOp && n->op != &kConstantOp && !n->op->is_view()) out.push_back(n.get());
  return out;
}

inline std::vector<const FusedGroup*> groups(const Graph& g) {
  std::vector<const FusedGroup*> out;
  for (const NodePtr& n : g.nodes)
    if (const FusedGroup* group = fused_group(*n)) out.push_back(group);
  return out;
}

inline bool same_bits(const Tensor& a, const Tensor& b) {
  if (a.sizes() != b.sizes() || a.dtype() != b.dtype()) return false;
  const Tensor x = a.contiguous(), y = b.contiguous();
  const size_t bytes = static_cast<size_t>(x.numel()) * size_of(x.dtype());
  return bytes == 0 || std::memcmp(x.data_ptr(), y.data_ptr(), bytes) == 0;
}

/// Runs a fused node on row-major inputs.
using RunFused = std::function<void(const FusedGroup& group, const std::vector<Tensor>& inputs,
                                    std::vector<Tensor>& outputs)>;

/// The fused op's own kernel: the body op by op.
inline void run_body(const FusedGroup& group, const std::vector<Tensor>& inputs,
                     std::vector<Tensor>& outputs) {
  std::vector<Array> in, out;
  for (const Tensor& t : inputs) in.push_back(t.impl()->array());
  for (const Tensor& t : outputs) out.push_back(t.impl()->array());
  const FusedAttrs attrs{std::shared_ptr<const FusedGroup>(&group, [](auto*) {})};
  kFused.kernel({kFused, in.data(), static_cast<int>(in.size()), out.data(),
                 static_cast<int>(out.size()), attrs});
}

/// Runs a fused graph whose captured tensors are in g.captured.
inline std::vector<Tensor> run_steps(const Graph& g, const std::vector<Tensor>& arguments,
                                     const RunFused& run_fused = run_body) {
  g.number();
  std::vector<std::vector<Tensor>> values(g.nodes.size());
  std::vector<Tensor> given = arguments;
  for (size_t i = given.size(); i < g.inputs.size(); ++i)
    given.push_back(g.captured[i - g.n_args()]);
  for (size_t i = 0; i < g.inputs.size(); ++i)
    values[g.inputs[i]->walk_slot] = {given[i].contiguous()};
  for (const NodePtr& n : g.nodes) {
    std::vector<Tensor>& out = values[n->walk_slot];
    if (n->op == &kInputOp) continue;
    if (n->op == &kConstantOp) {
      out = {n->attrs().as<ConstantAttrs>().value.tensor};
      continue;
    }
    std::vector<Tensor> in;
    for (uint32_t k = 0; k < n->n_inputs; ++k)
      in.push_back(values[n->inputs()[k].node->walk_slot][n->inputs()[k].index]);
    out.resize(n->n_outputs);
    if (const FusedGroup* group = fused_group(*n)) {
      for (uint32_t k = 0; k < n->n_outputs; ++k)
        out[k] = empty(n->outputs()[k].sizes, n->outputs()[k].dtype);
      run_fused(*group, in, out);
    } else {
      std::vector<TensorArg> args(in.begin(), in.end());
      apply(*n->op, args, n->attrs(), out.data());
    }
  }
  std::vector<Tensor> results;
  for (size_t i = 0; i < g.n_results; ++i)
    results.push_back(values[g.outputs[i].node->walk_slot][g.outputs[i].index]);
  return results;
}

}  // namespace tandem::test
