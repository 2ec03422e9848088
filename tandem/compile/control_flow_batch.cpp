// Choices and loops for many samples at once.
#include "tandem/compile/control_flow.h"
#include "tandem/compile/control_flow_op.h"
#include "tandem/ops/batch.h"
#include "tandem/ops/batch_detail.h"
#include "tandem/ops/ops.h"

namespace tandem {
namespace {

// Flags are by input or output: true where there is a value for each sample.
using Flags = std::vector<bool>;

// Which outputs differ between samples if those inputs do.
Flags flags_after(const Graph& g, const Flags& inputs) {
  g.number();
  Flags by_node(g.nodes.size());
  for (size_t i = 0; i < g.inputs.size(); ++i) by_node[g.inputs[i]->walk_slot] = inputs[i];
  for (const NodePtr& n : g.nodes) {
    if (n->op == &kInputOp) continue;
    bool any = false;
    for (uint32_t i = 0; i < n->n_inputs; ++i) any = any || by_node[n->inputs()[i].node->walk_slot];
    by_node[n->walk_slot] = any || (n->op->random && n->op != &kRandomAdvance);
  }
  Flags outputs;
  for (const Edge& e : g.outputs) outputs.push_back(by_node[e.node->walk_slot]);
  return outputs;
}

// Values with the samples in front where they differ.
struct Values {
  std::vector<Tensor> tensors;
  Flags batched;

  void add(const Tensor& t, bool one_each) {
    tensors.push_back(t);
    batched.push_back(one_each);
  }
  // Value k with the samples in front in any case.
  Tensor repeated(size_t k, int64_t size) const {
    if (batched[k]) return tensors[k];
    Dims sizes{size};
    sizes.append(tensors[k].sizes().begin(), tensors[k].sizes().end());
    return tensors[k].expand(sizes);
  }
};

// Runs the graph of a branch or body for all samples.
Values run(const Graph& g, const Values& inputs, int64_t size) {
  g.number();
  std::vector<std::vector<Tensor>> values(g.nodes.size());
  for (size_t i = 0; i < g.inputs.size(); ++i) values[g.inputs[i]->walk_slot] = {inputs.tensors[i]};
  const auto read = [&](const Edge& e, Values& list) {
    const Tensor& t = values[e.node->walk_slot][e.index];
    list.add(t, t.dim() > e.node->outputs()[e.index].dim());
  };
  for (const NodePtr& n : g.nodes) {
    if (n->op == &kInputOp) continue;
    std::vector<Tensor>& out = values[n->walk_slot];
    if (n->op == &kConstantOp) {
      out = {n->attrs().as<ConstantAttrs>().value.tensor};
      continue;
    }
    Values in;
    SmallVector<bool, 8> batched;
    bool any = n->op->random;
    for (uint32_t i = 0; i < n->n_inputs; ++i) {
      read(n->inputs()[i], in);
      batched.push_back(in.batched.back());
      any |= batched.back();
    }
    out.resize(n->n_outputs);
    if (any)
      apply_batched(*n->op, in.tensors, batched.data(), size, n->attrs(), out.data());
    else
      apply_to(*n->op, in.tensors, n->attrs(), out.data());
  }
  Values results;
  for (const Edge& e : g.outputs) read(e, results);
  return results;
}

// The condition of each sample, so that it can choose between values of `dim` dimensions a sample.
Tensor chooser(const Tensor& condition, int64_t size, int64_t dim) {
  Dims sizes{size};
  sizes.resize(static_cast<size_t>(1 + dim), 1);
  return condition.to(kBool).reshape(sizes);
}

Values inputs_of(const BatchArgs& a, std::initializer_list<std::pair<int64_t, int64_t>> ranges) {
  Values v;
  for (const auto& [first, last] : ranges)
    for (int64_t i = first; i < last; ++i)
      v.add(a.in(static_cast<int>(i)), a.batched[static_cast<size_t>(i)]);
  return v;
}

}  // namespace

// Where the condition differs between samples both branches run, and each sample takes the results
// of its own.
void batch_cond(const BatchArgs& a) {
  const auto& c = a.attrs<CondAttrs>();
  const int64_t reads = 1 + c.n_written, others = reads + c.n_yes_reads;
  const Values yes_in = inputs_of(a, {{1, others}});
  const Values no_in = inputs_of(a, {{1, reads}, {others, a.n_inputs}});
  const auto branch = [&](const SubGraph& s, const Values& in) {
    const Values v = run(s.graph(), in, a.size);
    std::vector<Tensor> all;
    for (size_t k = 0; k < v.tensors.size(); ++k) all.push_back(v.repeated(k, a.size));
    return all;
  };
  const auto yes = [&] { return branch(c.yes, yes_in); };
  const auto no = [&] { return branch(c.no, no_in); };
  std::vector<Tensor> results;
  if (!a.batched[0]) {
    results = control::cond_list(a.in(), yes, no);
  } else {
    const std::vector<Tensor> first = yes(), second = no();
    for (size_t k = 0; k < first.size(); ++k)
      results.push_back(where(chooser(a.in(), a.size, first[k].dim() - 1), first[k], second[k]));
  }
  std::move(results.begin(), results.end(), a.outputs);
}

// The carry of a sample differs from that of another as soon as something differs that it is made
// of.
void batch_scan(const BatchArgs& a) {
  const auto& s = a.attrs<ScanAttrs>();
  const auto n_carry = static_cast<size_t>(s.n_carry), n_xs = static_cast<size_t>(s.n_xs);
  const Graph& g = s.body.graph();
  Flags flags(a.batched, a.batched + a.n_inputs);
  for (bool changed = true; changed;) {
    changed = false;
    const Flags after = flags_after(g, flags);
    for (size_t k = 0; k < n_carry; ++k)
      if (after[k] && !flags[k]) changed = flags[k] = true;
  }
  std::vector<Tensor> carry, xs;
  for (size_t k = 0; k < n_carry; ++k) {
    const int i = static_cast<int>(k);
    carry.push_back(flags[k] ? a.sample(i) : a.in(i));
  }
  for (size_t k = 0; k < n_xs; ++k) {
    const int i = static_cast<int>(n_carry + k);
    xs.push_back(a.batched[i] ? a.in(i).transpose(0, 1) : a.in(i));
  }
  const auto body = [&](const std::vector<Tensor>& now) {
    Values in;
    for (size_t i = 0; i < now.size(); ++i) in.add(now[i], flags[i]);
    for (int i = static_cast<int>(now.size()); i < a.n_inputs; ++i) in.add(a.in(i), a.batched[i]);
    const Values out = run(g, in, a.size);
    std::vector<Tensor> next;
    for (size_t k = 0; k < out.tensors.size(); ++k)
      next.push_back(k < n_carry && !flags[k] ? out.tensors[k] : out.repeated(k, a.size));
    return next;
  };
  auto [last, ys] = control::scan_list(body, carry, xs, s.reverse);
  std::move(last.begin(), last.end(), a.outputs);
  for (size_t k = 0; k < ys.size(); ++k) a.outputs[n_carry + k] = ys[k].transpose(0, 1);
}

// Goes on until the last sample is done; those that are done keep their state.
void batch_while(const BatchArgs& a) {
  const auto& w = a.attrs<WhileAttrs>();
  const auto n = static_cast<size_t>(w.n_state), seen = static_cast<size_t>(w.n_seen);
  const auto tested = static_cast<size_t>(w.n_condition_reads);
  const Graph &condition = w.condition.graph(), &body = w.body.graph();
  const Flags given(a.batched, a.batched + a.n_inputs);
  Flags flags(given.begin(), given.begin() + static_cast<ptrdiff_t>(n));
  const auto all_flags = [&](size_t n_state, size_t first, size_t last) {
    Flags all(flags.begin(), flags.begin() + static_cast<ptrdiff_t>(n_state));
    all.insert(all.end(), given.begin() + static_cast<ptrdiff_t>(first),
               given.begin() + static_cast<ptrdiff_t>(last));
    return all;
  };
  bool lengths_differ = false;
  for (bool changed = true; changed;) {
    changed = false;
    lengths_differ = flags_after(condition, all_flags(seen, n, n + tested))[0];
    const Flags after = flags_after(body, all_flags(n, n + tested, given.size()));
    for (size_t k = 0; k < n; ++k)
      if ((after[k] || lengths_differ) && !flags[k]) changed = flags[k] = true;
  }
  const auto values = [&](const std::vector<Tensor>& state, size_t n_state, size_t first,
                          size_t last) {
    Values v;
    for (size_t k = 0; k < n_state; ++k) v.add(state[k], flags[k]);
    for (size_t i = first; i < last; ++i) v.add(a.in(static_cast<int>(i)), given[i]);
    return v;
  };
  const auto goes_on = [&](const std::vector<Tensor>& state) {
    return run(condition, values(state, seen, n, n + tested), a.size).tensors[0];
  };
  const auto any_goes_on = [&](const std::vector<Tensor>& state) {
    const Tensor c = goes_on(state);
    return std::vector<Tensor>{lengths_differ ? c.to(kBool).any() : c};
  };
  const auto next = [&](const std::vector<Tensor>& state) {
    const Values out = run(body, values(state, n, n + tested, given.size()), a.size);
    const Tensor active = lengths_differ ? goes_on(state) : Tensor();
    std::vector<Tensor> all;
    for (size_t k = 0; k < n; ++k) {
      Tensor t = flags[k] ? out.repeated(k, a.size) : out.tensors[k];
      if (lengths_differ) t = where(chooser(active, a.size, t.dim() - 1), t, state[k]);
      all.push_back(std::move(t));
    }
    return all;
  };
  std::vector<Tensor> state;
  for (size_t k = 0; k < n; ++k) {
    const int i = static_cast<int>(k);
    state.push_back(flags[k] ? a.sample(i) : a.in(i));
  }
  state = control::while_list(any_goes_on, next, state);
  std::move(state.begin(), state.end(), a.outputs);
}

}  // namespace tandem
