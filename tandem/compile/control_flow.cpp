#include "tandem/compile/control_flow.h"

#include <algorithm>

#include "tandem/autograd/autograd.h"
#include "tandem/compile/control_flow_op.h"
#include "tandem/compile/recording.h"
#include "tandem/core/apply.h"
#include "tandem/ops/ops.h"

namespace tandem::control {
namespace {

// Who keeps a choice or loop over these tensors; null: it runs.
Recorder* keeper(ArrayRef<Tensor> tensors) {
  if (Recorder* r = t_mode.recorder) return r->keeps_branches() ? r : nullptr;
  for (const Tensor& t : tensors) {
    if (!t.defined() || !t.impl()->is_pending()) continue;
    Recorder* r = t.impl()->storage->pending.load(std::memory_order_acquire);
    if (r->follows()) return r;
  }
  return nullptr;
}

/// A recorded branch or body with the tensors that it takes from outside.
struct Branch {
  Recording recording;
  std::vector<Tensor> read, written;  // from outside
};

Branch record_branch(const char* what, const TensorFunction& fn, ArrayRef<Tensor> args) {
  Branch b;
  b.recording = record(fn, args, {.body = true});
  const Recording& r = b.recording;
  TANDEM_CHECK(r.grads.empty(), what,
               ": a branch or body must not leave gradients in tensors from outside (call "
               "backward() outside of it, or use autograd::grad)");
  for (size_t i = 0; i < r.result.size(); ++i)
    TANDEM_CHECK(r.result[i] >= 0, what, ": result ", i, " of a branch or body is undefined");
  std::vector<bool> is_written(r.graph.captured.size());
  for (const Graph::Write& w : r.graph.writes) {
    TANDEM_CHECK(w.input >= r.n_args, what,
                 ": a body must not write in place to its arguments: return the new values");
    is_written[w.input - r.n_args] = true;
  }
  for (size_t i = 0; i < is_written.size(); ++i)
    (is_written[i] ? b.written : b.read).push_back(r.graph.captured[i]);
  return b;
}

bool holds(const std::vector<Tensor>& list, const Tensor& t) {
  return std::any_of(list.begin(), list.end(), [&](const Tensor& o) { return o.is_same(t); });
}

// The branch as a graph of arguments, `written`, and what it reads; it gives its results and the
// new values of `written`, the same as before for those that it does not write.
SubGraph close(const Branch& b, const std::vector<Tensor>& written) {
  Graph g = with_detached(b.recording, b.recording.graph);
  const size_t n_args = b.recording.n_args;
  std::vector<NodePtr> inputs(g.inputs.begin(), g.inputs.begin() + static_cast<ptrdiff_t>(n_args));
  std::vector<Edge> outputs;
  for (const int64_t i : b.recording.result) outputs.push_back(g.outputs[static_cast<size_t>(i)]);
  for (const Tensor& w : written) {
    Edge value;
    NodePtr input;
    for (size_t i = 0; i < g.captured.size(); ++i)
      if (g.captured[i].is_same(w)) input = g.inputs[n_args + i];
    if (!input) input = NodePtr(&append(g, kInputOp, {}, InputAttrs{0, {}, w.impl()->type}));
    value = {input, 0};
    for (const Graph::Write& write : g.writes)
      if (g.inputs[write.input] == input) value = g.outputs[write.output];
    inputs.push_back(input);
    outputs.push_back(value);
  }
  for (size_t i = 0; i < g.captured.size(); ++i)
    if (!holds(written, g.captured[i])) inputs.push_back(g.inputs[n_args + i]);
  g.inputs = std::move(inputs);
  g.outputs = std::move(outputs);
  g.n_results = g.outputs.size();
  g.captured.clear();
  g.writes.clear();
  return SubGraph(std::move(g));
}

std::vector<Tensor> reads_of(const Branch& b, const std::vector<Tensor>& written) {
  std::vector<Tensor> list;
  for (const Tensor& t : b.recording.graph.captured)
    if (!holds(written, t)) list.push_back(t);
  return list;
}

void append_to(std::vector<Tensor>& list, const std::vector<Tensor>& more) {
  list.insert(list.end(), more.begin(), more.end());
}

std::vector<Tensor> apply_list(const OpDef& op, const std::vector<Tensor>& inputs, AttrRef attrs) {
  TANDEM_CHECK(inputs.size() < Saves::kMaxInputs, op.name, ": it reads ", inputs.size(),
               " tensors, more than the ", Saves::kMaxInputs - 1,
               " that a choice or loop may read. Stack some of them.");
  std::vector<Tensor> outputs(static_cast<size_t>(op.n_outputs(attrs)));
  std::vector<TensorArg> args(inputs.begin(), inputs.end());
  apply(op, args, attrs, outputs.data());
  return outputs;
}

// The last of the outputs are new values of what was written inside.
void write_back(std::vector<Tensor>& outputs, const std::vector<Tensor>& written) {
  const NoGradGuard no_grad;
  const size_t first = outputs.size() - written.size();
  for (size_t i = 0; i < written.size(); ++i) written[i].detach().copy_(outputs[first + i]);
  outputs.resize(first);
}

void check_same_types(const char* op, const char* what, const Graph& g, ArrayRef<Tensor> begin) {
  for (size_t i = 0; i < begin.size(); ++i) {
    const Edge& e = g.outputs[i];
    TANDEM_CHECK_TYPE(e.node->outputs()[e.index] == begin[i].type_of(), op, ": the body gives ",
                      what, " ", i, " as ", e.node->outputs()[e.index], ", but it began as ",
                      begin[i].type_of());
  }
}

}  // namespace

bool is_kept(ArrayRef<Tensor> tensors) { return keeper(tensors) != nullptr; }

std::vector<Tensor> cond_list(const Tensor& pred, const std::function<std::vector<Tensor>()>& yes,
                              const std::function<std::vector<Tensor>()>& no) {
  Recorder* r = keeper({pred});
  if (!r) return pred.item().toBool() ? yes() : no();
  const RecorderScope scope(r);
  const Branch a = record_branch("cond", [&](const variable_list&) { return yes(); }, {});
  const Branch b = record_branch("cond", [&](const variable_list&) { return no(); }, {});
  std::vector<Tensor> written = a.written;
  for (const Tensor& t : b.written)
    if (!holds(written, t)) written.push_back(t);
  const std::vector<Tensor> reads_a = reads_of(a, written), reads_b = reads_of(b, written);
  const CondAttrs attrs{close(a, written), close(b, written), static_cast<int64_t>(written.size()),
                        static_cast<int64_t>(reads_a.size())};
  std::vector<Tensor> inputs{pred};
  append_to(inputs, written);
  append_to(inputs, reads_a);
  append_to(inputs, reads_b);
  std::vector<Tensor> outputs = apply_list(kCond, inputs, attrs);
  write_back(outputs, written);
  return outputs;
}

std::vector<Tensor> while_list(const ListFunction& condition, const ListFunction& body,
                               const std::vector<Tensor>& state) {
  Recorder* r = keeper(state);
  if (!r) {
    std::vector<Tensor> s = state;
    while (condition(s)[0].item().toBool()) s = body(s);
    return s;
  }
  const RecorderScope scope(r);
  const Branch test = record_branch("while_loop", condition, state);
  TANDEM_CHECK(test.written.empty(),
               "while_loop: the condition must not write to tensors or draw random numbers");
  const Branch step = record_branch("while_loop", body, state);
  TANDEM_CHECK(step.recording.result.size() == state.size(), "while_loop: the body gives ",
               step.recording.result.size(), " tensors, the state has ", state.size());
  const std::vector<Tensor>& written = step.written;
  const std::vector<Tensor> reads = reads_of(step, written);
  // The condition sees what the body writes as it was before the loop: it must not read it.
  for (const Tensor& t : test.recording.graph.captured)
    TANDEM_CHECK(
        !holds(written, t),
        "while_loop: the condition reads a tensor from outside that the body writes. Make it "
        "part of the state.");
  WhileAttrs attrs{close(test, {}), close(step, written),
                   static_cast<int64_t>(state.size() + written.size()),
                   static_cast<int64_t>(state.size()),
                   static_cast<int64_t>(test.recording.graph.captured.size())};
  const Graph& g = attrs.body.graph();
  check_same_types("while_loop", "state", g, state);
  std::vector<Tensor> inputs = state;
  append_to(inputs, written);
  append_to(inputs, test.recording.graph.captured);
  append_to(inputs, reads);
  std::vector<Tensor> outputs = apply_list(kWhile, inputs, attrs);
  write_back(outputs, written);
  return outputs;
}

namespace {

std::pair<std::vector<Tensor>, std::vector<Tensor>> run_scan(const ListFunction& body,
                                                             std::vector<Tensor> carry,
                                                             const std::vector<Tensor>& xs,
                                                             bool reverse) {
  const size_t n_carry = carry.size();
  const int64_t length = xs[0].size(0);
  std::vector<std::vector<Tensor>> ys;
  for (int64_t k = 0; k < length; ++k) {
    std::vector<Tensor> in = carry;
    for (const Tensor& x : xs) in.push_back(x[reverse ? length - 1 - k : k]);
    std::vector<Tensor> out = body(in);
    if (ys.empty()) ys.resize(out.size() - n_carry);
    for (size_t i = 0; i < ys.size(); ++i) ys[i].push_back(out[n_carry + i]);
    for (size_t i = 0; i < n_carry; ++i)
      TANDEM_CHECK_TYPE(out[i].type_of() == carry[i].type_of(), "scan: the body gives carry ", i,
                        " as ", out[i].type_of(), ", but it began as ", carry[i].type_of());
    out.resize(n_carry);
    carry = std::move(out);
  }
  std::vector<Tensor> stacked;
  for (auto& y : ys) {
    if (reverse) std::reverse(y.begin(), y.end());
    stacked.push_back(stack(y));
  }
  return {std::move(carry), std::move(stacked)};
}

// No slices: the carry stays as it is, and the body is only asked what it would have given.
std::pair<std::vector<Tensor>, std::vector<Tensor>> scan_nothing(const ListFunction& body,
                                                                 const std::vector<Tensor>& carry,
                                                                 const std::vector<Tensor>& xs) {
  std::vector<Tensor> args = carry;
  for (const Tensor& x : xs) args.push_back(empty(x.sizes().slice(1), x.options()));
  const Branch step = record_branch("scan", body, args);
  const Graph& g = step.recording.graph;
  check_same_types("scan", "carry", g, carry);
  std::vector<Tensor> ys;
  for (size_t i = carry.size(); i < g.n_results; ++i) {
    const TensorType& y = g.outputs[i].node->outputs()[g.outputs[i].index];
    Dims sizes{0};
    sizes.append(y.sizes.begin(), y.sizes.end());
    ys.push_back(empty(sizes, TensorOptions(y.dtype).device(y.device)));
  }
  return {carry, std::move(ys)};
}

}  // namespace

std::pair<std::vector<Tensor>, std::vector<Tensor>> scan_list(const ListFunction& body,
                                                              const std::vector<Tensor>& carry,
                                                              const std::vector<Tensor>& xs,
                                                              bool reverse) {
  TANDEM_CHECK(!xs.empty(), "scan: there is nothing to go through");
  for (size_t i = 0; i < xs.size(); ++i)
    TANDEM_CHECK_SHAPE(xs[i].dim() > 0 && xs[i].size(0) == xs[0].size(0), "scan: xs ", i, " is ",
                       xs[i].type_of(), "; all must have the same extent ",
                       xs[0].dim() ? str(xs[0].size(0), " ") : "", "in dimension 0");
  if (xs[0].size(0) == 0) return scan_nothing(body, carry, xs);
  std::vector<Tensor> all = carry;
  append_to(all, xs);
  Recorder* r = keeper(all);
  if (!r) return run_scan(body, carry, xs, reverse);
  const RecorderScope scope(r);
  // One slice of each stands for all of them.
  std::vector<Tensor> args = carry;
  for (const Tensor& x : xs) args.push_back(x[0]);
  const Branch step = record_branch("scan", body, args);
  const std::vector<Tensor>& written = step.written;
  const size_t n_carry = carry.size(), n_ys = step.recording.result.size() - n_carry;
  // What is written inside is carried along with the rest.
  Graph g = close(step, written).graph().clone();
  std::rotate(g.inputs.begin() + static_cast<ptrdiff_t>(n_carry),
              g.inputs.begin() + static_cast<ptrdiff_t>(n_carry + xs.size()),
              g.inputs.begin() + static_cast<ptrdiff_t>(n_carry + xs.size() + written.size()));
  std::rotate(g.outputs.begin() + static_cast<ptrdiff_t>(n_carry),
              g.outputs.begin() + static_cast<ptrdiff_t>(n_carry + n_ys), g.outputs.end());
  check_same_types("scan", "carry", g, carry);
  const ScanAttrs attrs{SubGraph(std::move(g)), static_cast<int64_t>(n_carry + written.size()),
                        static_cast<int64_t>(xs.size()), static_cast<int64_t>(n_ys), reverse};
  std::vector<Tensor> inputs = carry;
  append_to(inputs, written);
  append_to(inputs, xs);
  append_to(inputs, reads_of(step, written));
  std::vector<Tensor> outputs = apply_list(kScan, inputs, attrs);
  std::rotate(outputs.begin() + static_cast<ptrdiff_t>(n_carry),
              outputs.begin() + static_cast<ptrdiff_t>(n_carry + written.size()), outputs.end());
  write_back(outputs, written);
  const auto split = outputs.begin() + static_cast<ptrdiff_t>(n_carry);
  return {{outputs.begin(), split}, {split, outputs.end()}};
}

}  // namespace tandem::control
