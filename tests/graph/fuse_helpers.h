#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <vector>

#include "tandem/autograd/autograd.h"
#include "tandem/core/apply.h"
#include "tandem/core/fused.h"
#include "tandem/core/graph.h"
#include "tandem/graph/fuse.h"
#include "tandem/jit/kernel_cache.h"
#include "tandem/ops/ops.h"
#include "tests/graph/nest_interpreter.h"

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

/// The group's product, computed into the memory of a result.
inline void run_product(const FusedGroup& group, const Array* inputs, Array out) {
  const FusedGroup::Product& p = group.product;
  std::vector<Array> factors;
  const auto seen_as = [](Array a, const Dims& sizes, const Dims& strides) {
    a.sizes = sizes.data();
    a.strides = strides.data();
    a.ndim = static_cast<int32_t>(sizes.size());
    a.numel = numel_of(sizes);
    a.contiguous = is_contiguous(sizes, strides);
    return a;
  };
  for (const auto& f : p.factors) {
    Array a = seen_as(inputs[f.input], f.sizes, f.strides);
    a.data = a.ptr<char>() + f.offset * static_cast<int64_t>(size_of(a.dtype));
    factors.push_back(a);
  }
  const Dims strides = contiguous_strides(p.sizes);
  out = seen_as(out, p.sizes, strides);
  p.op->kernel({*p.op, factors.data(), static_cast<int>(factors.size()), &out, 1, p.attrs.ref()});
}

/// Calls run(call) with the arguments of the group's kernel, after what comes before it.
template <class F>
void call_kernel(const FusedGroup& group, const std::vector<Tensor>& inputs,
                 std::vector<Tensor>& outputs, void* scratch, const F& run) {
  std::vector<Array> in;
  for (const Tensor& t : inputs) in.push_back(t.impl()->array());
  check_indices(group, in.data());
  Tensor product;
  if (group.product.op) {
    product = outputs[static_cast<size_t>(group.product.output)];
    run_product(group, in.data(), product.impl()->array());
  }
  std::vector<void*> data;
  std::vector<int64_t> strides;
  const size_t first_result = group.source.size();
  std::vector<Tensor> stored(outputs.begin(), outputs.begin() + group.n_stored);
  while (first_result + stored.size() < group.nest.operands.size())
    stored.push_back(empty({group.sums.rows, group.sums.columns}, group.sums.dtype));
  for (size_t k = 0; k < group.nest.operands.size(); ++k) {
    const Tensor& t = k >= first_result     ? stored[k - first_result]
                      : group.source[k] < 0 ? product
                                            : inputs[static_cast<size_t>(group.source[k])];
    data.push_back(static_cast<char*>(t.data_ptr()) +
                   group.offsets[k] * static_cast<int64_t>(size_of(t.dtype())));
    strides.insert(strides.end(), group.strides[k].begin(), group.strides[k].end());
  }
  run(LoopCall{data.data(), group.extents.data(), strides.data(), scratch});
  for (const FusedGroup::RowSum& s : group.sums.each) {
    using Fn = ReductionInfo::Fn;
    const auto k = static_cast<size_t>(s.operand);
    const Tensor rows = (k >= first_result ? stored[k - first_result]
                                           : inputs[static_cast<size_t>(group.source[k])])
                            .reshape({group.sums.rows, group.sums.columns});
    Tensor& out = outputs[static_cast<size_t>(s.output)];
    out.copy_((s.fn == Fn::sum    ? rows.sum(0)
               : s.fn == Fn::mean ? rows.mean(0)
               : s.fn == Fn::prod ? rows.prod(0)
               : s.fn == Fn::max  ? rows.amax(0)
               : s.fn == Fn::min  ? rows.amin(0)
                                  : rows.norm(2, 0))
                  .reshape(out.sizes()));
  }
}

/// The nest, instruction by instruction.
inline void run_nest(const FusedGroup& group, const std::vector<Tensor>& inputs,
                     std::vector<Tensor>& outputs) {
  call_kernel(group, inputs, outputs, nullptr,
              [&](const LoopCall& call) { NestInterpreter(group.nest, call).run(); });
}

/// The nest as machine code, in two parts as two threads would run it; where there is no code
/// generator, the body.
inline void run_kernel(const FusedGroup& group, const std::vector<Tensor>& inputs,
                       std::vector<Tensor>& outputs) {
  const auto kernel = jit::request(group.nest);
  jit::wait_idle();
  const LoopFunction function = kernel->function.load();
  if (!function) return run_body(group, inputs, outputs);
  const size_t bytes = kernel->scratch_bytes(group.columns());
  std::vector<char> scratch(bytes + 64);
  void* start = scratch.data() + (64 - reinterpret_cast<uintptr_t>(scratch.data()) % 64) % 64;
  const bool elements = group.nest.outer_dims == 0 && !group.nest.by_rows();
  const int64_t n = elements ? group.columns() : group.rows(), half = n / 2;
  call_kernel(group, inputs, outputs, start, [&](const LoopCall& call) {
    if (half > 0) function(&call, 0, half);
    function(&call, half, n);
  });
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
