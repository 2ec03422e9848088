#include "tandem/compile/recording.h"

#include <algorithm>
#include <set>
#include <unordered_set>

#include "tandem/autograd/autograd.h"
#include "tandem/autograd/walk.h"
#include "tandem/core/node_extra.h"
#include "tandem/ops/batch.h"
#include "tandem/ops/copy_op.h"

namespace tandem {
namespace {

// Keeps everything that a function does until it returns.
class FunctionRecorder final : public Recorder {
 public:
  void look(TensorImpl* t, const char* call) override {
    const Storage& s = *t->storage;
    const auto found = bindings_.find(t->storage.get());
    const bool written = found != bindings_.end() && found->second.written;
    // What the function made itself out of plain numbers is the same in every run.
    if (s.made_in == id() && !s.pending.load(std::memory_order_relaxed) && !written) return;
    TANDEM_CHECK(
        false, call,
        ": a value cannot be looked at while a function is being recorded (the tensor ", "is ",
        t->type,
        "): the recorded program runs later, with other values. Choose between values with "
        "where() or cond(), loop with while_loop() or scan(), and print or compare after the "
        "call.");
  }
  void look(const OpDef& op) override {
    TANDEM_CHECK(
        false, op.name,
        ": the shape of the result depends on values, which a function that is being "
        "recorded does not have. Use where(), masked_fill() or a sum over a mask, or call ",
        op.name, " outside of the compiled function.");
  }

  void note_flag(const std::shared_ptr<const bool>& flag) override {
    if (outer_) outer_->note_flag(flag);
    auto& flags = recording_.flags;
    const auto known = [&](const auto& f) { return f.flag == flag; };
    if (std::none_of(flags.begin(), flags.end(), known)) flags.push_back({flag, *flag});
  }

  void touch_grad(Node& leaf) override {
    GradSlot& slot = grad_slot(leaf);
    if (slot.zeroed) make_zero(slot);
  }
  bool clear_grad(Node& leaf, bool forget) override;
  bool add_grad(Node& leaf, const Tensor& grad) override;
  Node& add(const OpDef& op, ArrayRef<TensorImpl*> inputs, AttrRef attrs) override;
  bool separates_histories() const override { return body_; }

  Recording run(const TensorFunction& fn, ArrayRef<Tensor> args, RecordOptions options);

 private:
  void capturing(Storage& s) override;
  void make_zero(GradSlot& slot);
  bool add_grad_input(const GradSlot& slot, int64_t argument);
  Tensor stand_in(const Tensor& arg);
  void add_grad_changes(ArrayRef<Tensor> args);
  void add_writes(ArrayRef<Tensor> args);
  void add_same_as(const Tensor& result);
  void add_hooks(ArrayRef<Tensor> args);
  void add_backward(const variable_list& results);
  void add_sources(variable_list& targets);
  variable_list walk_back(const variable_list& outputs, const variable_list& grads,
                          const variable_list& targets) const;
  void note_dependencies(size_t first_grad);
  using OutsideValues = std::unordered_map<const Storage*, std::pair<Edge, bool>>;
  OutsideValues values_outside() const;
  bool restore_values(const OutsideValues& before);
  int64_t add_result(const Tensor& t);
  int64_t argument_with(const Node* leaf, ArrayRef<Tensor> args) const;

  Recorder* const outer_ = t_mode.recorder;
  Recording recording_;
  variable_list arguments_in_;  // what the function sees
  bool later_grads_ = false;
  bool body_ = false;                                 // RecordOptions::body
  bool in_backward_ = false;                          // True iff the function has returned.
  std::unordered_map<const Storage*, Node*> zeroed_;  // gradients that are zero, and whose they are
};

// -- gradients of leaves -----------------------------------------------------------------------

void set_grad(Node& leaf, Tensor grad) {
  NodeExtra& extra = leaf.need_extra();
  std::lock_guard lock(extra.mutex);
  extra.grads[0] = std::move(grad);
}

// Note: gradients that are replaced
// A step begins with zero_grad(), then backward adds to the gradients. Done as it says, it would be
// another program where there is no gradient yet, and would add to zeros. So a gradient that is to
// be zero is noted as such, and the leaf shows none. If the next thing is that backward adds to it,
// nobody has seen the old one: the new one is written over it, and there need not be one at all. If
// somebody looks first, it is made zero then. (Zeros added to -0.0 would be 0.0: the sign of zeros
// is that of a first step.)

bool FunctionRecorder::clear_grad(Node& leaf, bool forget) {
  if (!later_grads_) return false;
  bool fresh = false;
  GradSlot& slot = grad_slot(leaf, &fresh);
  if (!fresh && !slot.zeroed) return false;
  if (!fresh && !forget) return true;
  const Tensor& before = slot.before;
  if (!forget && before.defined()) {
    TensorImpl* t = before.impl();
    const bool whole = !t->view && t->offset == 0 && t->contiguous &&
                       before.nbytes() == static_cast<size_t>(t->storage->nbytes);
    if (!whole || t->wants_grad() || owns(t->storage.get())) return false;
    zeroed_[t->storage.get()] = &leaf;
  }
  slot.seen = false;
  slot.zeroed = !forget;
  set_grad(leaf, {});
  return true;
}

bool FunctionRecorder::add_grad(Node& leaf, const Tensor& grad) {
  GradSlot& slot = grad_slot(leaf);
  if (!slot.zeroed) return false;
  const bool fits = !slot.before.defined() || slot.before.impl()->type == grad.impl()->type;
  if (t_mode.grad || !fits) {
    make_zero(slot);
    return false;
  }
  slot.zeroed = false;
  slot.overwritten = slot.before;
  if (!slot.before.defined()) {
    const RecorderScope eager(nullptr);
    slot.overwritten = Tensor(TensorImpl::make(grad.impl()->type));
  } else {
    zeroed_.erase(slot.before.impl()->storage.get());
  }
  set_grad(leaf, slot.overwritten);
  const Edge value = value_of(grad.impl());
  write(slot.overwritten.impl(), value);
  return true;
}

void FunctionRecorder::make_zero(GradSlot& slot) {
  slot.zeroed = false;
  slot.seen = true;
  if (!slot.before.defined()) return;
  const Tensor grad = slot.before;
  zeroed_.erase(grad.impl()->storage.get());
  set_grad(*slot.leaf, grad);
  grad.zero_();
}

// A gradient that somebody holds.
void FunctionRecorder::capturing(Storage& s) {
  if (const auto found = zeroed_.find(&s); found != zeroed_.end())
    make_zero(grad_slot(*found->second));
}

// Calls find the gradient in the leaf, where it is all of what was captured. True iff it is read.
bool FunctionRecorder::add_grad_input(const GradSlot& slot, int64_t argument) {
  const Tensor& grad = slot.overwritten.defined() ? slot.overwritten : slot.before;
  if (!later_grads_ || !grad.defined()) return false;
  const auto found = bindings_.find(grad.impl()->storage.get());
  if (found == bindings_.end() || found->second.captured < 0) return false;
  const auto captured = static_cast<size_t>(found->second.captured);
  if (!captured_[captured].is_same(grad)) return false;
  recording_.grad_inputs.push_back({captured, slot.leaf, argument, grad.impl()->type});
  return true;
}

// A leaf's gradient goes where that of the argument would.
Tensor FunctionRecorder::stand_in(const Tensor& arg) {
  if (!arg.defined()) return {};
  TensorImpl* a = arg.impl();
  Tensor t = placeholder(a->type);
  if (!is_floating(a->type.dtype) || !(a->wants_grad() || body_)) return t;
  if (body_) {
    // Something that has a history, whichever it will be.
    t.impl()->edge = {Node::make(kCopy, 0, 1, 0, {}), 0};
    t.impl()->edge.node->outputs()[0] = a->type;
    return t;
  }
  t.impl()->requires_grad = true;
  if (a->is_leaf())
    t.impl()->edge = {NodePtr(&a->leaf_node()), 0};
  else
    t.impl()->leaf_node();
  return t;
}

int64_t FunctionRecorder::add_result(const Tensor& t) {
  graph_.outputs.push_back(value_of(t.impl()));
  return static_cast<int64_t>(graph_.outputs.size()) - 1;
}

int64_t FunctionRecorder::argument_with(const Node* leaf, ArrayRef<Tensor> args) const {
  for (size_t i = 0; i < args.size(); ++i)
    if (args[i].defined() && args[i].impl()->edge.node.get() == leaf)
      return static_cast<int64_t>(i);
  return -1;
}

void FunctionRecorder::add_grad_changes(ArrayRef<Tensor> args) {
  for (GradSlot& slot : grad_slots_) {
    if (slot.zeroed) make_zero(slot);
    const int64_t argument = argument_with(slot.leaf.get(), args);
    for (size_t i = 0; i < args.size() && argument < 0; ++i)
      TANDEM_CHECK(
          !arguments_in_[i].defined() ||
              arguments_in_[i].impl()->edge.node.get() != slot.leaf.get(),
          "compile: backward inside the function reaches argument ", i,
          ", which was itself computed from something that needs a gradient. Compute it inside the "
          "function, or pass its detach().");
    if (slot.seen) recording_.guards.push_back({slot.leaf, argument, slot.before.defined()});
    const bool read = add_grad_input(slot, argument);
    const Tensor after = slot.leaf->need_extra().grads[0];
    // A gradient that was forgotten may be another one at another call.
    if (after.is_same(slot.before) && slot.seen) continue;
    if (after.defined() && after.is_same(slot.overwritten)) continue;
    // Gradients are kept without history, as backward leaves them.
    recording_.grads.push_back(
        {slot.leaf, argument, after.defined() ? add_result(after) : -1, !read});
  }
}

void FunctionRecorder::add_writes(ArrayRef<Tensor> args) {
  std::unordered_map<const Storage*, int> ways;
  for (const Tensor& a : args)
    if (a.defined()) ++ways[a.impl()->storage.get()];
  for (const Tensor& c : captured_) ++ways[c.impl()->storage.get()];
  for (Storage* s : order_) {
    const Binding& b = bindings_.at(s);
    if (!b.written || (b.captured < 0 && b.argument < 0)) continue;
    const int64_t input =
        b.argument >= 0 ? b.argument : static_cast<int64_t>(arguments_.size()) + b.captured;
    // Two ways to one memory, of which one was written: the other would not have seen it.
    const Storage* memory = b.argument >= 0 ? args[b.argument].impl()->storage.get() : s;
    TANDEM_CHECK(ways[memory] == 1,
                 "compile: the function writes in place to memory that it reaches in two ways, as "
                 "an argument and as another argument or a tensor from outside. Pass it only once, "
                 "or clone() one of them.");
    graph_.writes.push_back(
        {static_cast<uint32_t>(graph_.outputs.size()), static_cast<uint32_t>(input)});
    graph_.outputs.push_back(b.value);
  }
  for (const auto& [t, edge] : written_outside_)
    TANDEM_CHECK(
        t.impl()->edge.node == edge.node,
        "compile: the function writes in place to a tensor from outside (", t.impl()->type,
        ") something that needs a gradient. Return the new value instead, or write it under "
        "NoGradGuard.");
}

Node& FunctionRecorder::add(const OpDef& op, ArrayRef<TensorImpl*> inputs, AttrRef attrs) {
  Node& node = Recorder::add(op, inputs, attrs);
  if (!in_backward_)
    for (size_t i = 0; i < inputs.size(); ++i)
      if (!t_mode.grad || !inputs[i]->wants_grad())
        recording_.cut_off.push_back({&node, static_cast<uint32_t>(i), !t_mode.grad});
  return node;
}

void FunctionRecorder::add_same_as(const Tensor& result) {
  int64_t same = -1;
  for (size_t i = 0; i < arguments_in_.size() && same < 0; ++i)
    if (result.defined() && result.is_same(arguments_in_[i])) same = static_cast<int64_t>(i);
  for (size_t i = 0; i < captured_.size() && same < 0; ++i)
    if (result.defined() && result.is_same(captured_[i]))
      same = static_cast<int64_t>(arguments_in_.size() + i);
  recording_.same_as.push_back(same);
}

// Leaves whose gradients the function changes, with what their hooks did to them.
void FunctionRecorder::add_hooks(ArrayRef<Tensor> args) {
  for (const GradSlot& slot : grad_slots_) {
    const NodeExtra& extra = slot.leaf->need_extra();
    recording_.hooks.push_back(
        {slot.leaf, argument_with(slot.leaf.get(), args), extra.hooks.size(), extra.next_hook});
  }
}

/// What was found on the way from a tensor to what it was made from.
struct History {
  bool passed = false;         // backward went through a part of it and freed it
  bool own_gradients = false;  // there is a hook or a Function of the user's
};

History history_of(const Tensor& t) {
  History h;
  std::vector<const Node*> stack{t.impl()->edge.node.get()};
  std::unordered_set<const Node*> seen;
  while (!stack.empty()) {
    const Node* n = stack.back();
    stack.pop_back();
    if (!n || !seen.insert(n).second) continue;
    h.passed |= n->released;
    // Hooks of leaves are called where the gradient arrives.
    if (const NodeExtra* extra = n->extra; extra && !n->is_leaf())
      h.own_gradients |=
          !extra->hooks.empty() || (extra->custom && !extra->custom->repeats_forward());
    for (uint32_t i = 0; i < n->n_inputs; ++i) stack.push_back(n->inputs()[i].node.get());
  }
  return h;
}

// What results can be differentiated by: each history once, however many tensors show it.
void FunctionRecorder::add_sources(variable_list& targets) {
  std::set<std::pair<const Node*, uint32_t>> known;
  const auto is_new = [&](const Tensor& t) {
    const Edge& e = t.impl()->grad_edge();
    return known.emplace(e.node.get(), e.index).second;
  };
  for (size_t i = 0; i < arguments_in_.size(); ++i) {
    const Tensor& t = arguments_in_[i];
    if (!t.defined() || !t.requires_grad() || !is_new(t)) continue;
    recording_.sources.push_back({static_cast<int64_t>(i), {}, -1});
    targets.push_back(t);
  }
  for (const Tensor& t : differentiable_) {
    if (!is_new(t)) continue;
    recording_.sources.push_back({-1, t, -1});
    targets.push_back(t);
  }
}

// Up to the targets and no further: hooks there, and what lies below, are the business of whoever
// differentiates the call.
variable_list FunctionRecorder::walk_back(const variable_list& outputs, const variable_list& grads,
                                          const variable_list& targets) const {
  autograd::Walk walk(
      {.keep = true, .accumulate = false, .only_targets = true, .stop_at_targets = true});
  for (const Tensor& t : targets) {
    const Edge& e = t.impl()->grad_edge();
    walk.targets.push_back({e.node.get(), e.index, {}});
  }
  for (size_t i = 0; i < outputs.size(); ++i)
    walk.add_root(outputs[i].impl()->grad_edge(), grads[i]);
  walk.run();
  variable_list result;
  for (auto& t : walk.targets) result.push_back(std::move(t.grad));
  return result;
}

// Which of the results' gradients each source's depends on. The former are arguments of the graph.
void FunctionRecorder::note_dependencies(size_t first_grad) {
  const size_t n = arguments_.size() - first_grad;
  if (n > 64) return;
  std::unordered_map<const Node*, uint64_t> by;
  for (size_t k = 0; k < n; ++k) by[arguments_[first_grad + k].get()] = uint64_t{1} << k;
  for (size_t i = recording_.forward_nodes; i < graph_.nodes.size(); ++i) {
    const Node& node = *graph_.nodes[i];
    uint64_t bits = 0;
    for (uint32_t k = 0; k < node.n_inputs; ++k)
      if (const auto found = by.find(node.inputs()[k].node.get()); found != by.end())
        bits |= found->second;
    if (bits != 0) by[&node] |= bits;
  }
  for (auto& s : recording_.sources)
    if (s.gradient >= 0) {
      const auto found = by.find(graph_.outputs[static_cast<size_t>(s.gradient)].node.get());
      if (found != by.end()) s.by = found->second;
    }
}

FunctionRecorder::OutsideValues FunctionRecorder::values_outside() const {
  OutsideValues values;
  for (const auto& [storage, b] : bindings_)
    if (b.captured >= 0 || b.argument >= 0) values[storage] = {b.value, b.written};
  return values;
}

// True iff something had to be restored.
bool FunctionRecorder::restore_values(const OutsideValues& before) {
  bool changed = false;
  for (auto& [storage, b] : bindings_) {
    if (b.captured < 0 && b.argument < 0) continue;
    const auto found = before.find(storage);
    const Edge value =
        found != before.end()
            ? found->second.first
            : Edge{b.captured >= 0 ? captured_inputs_[static_cast<size_t>(b.captured)]
                                   : arguments_[static_cast<size_t>(b.argument)],
                   0};
    if (b.value.node == value.node && b.value.index == value.index) continue;
    changed = true;
    b.value = value;
    b.written = found != before.end() && found->second.second;
    if (!b.written && b.captured >= 0) storage->version.store(b.version, std::memory_order_relaxed);
  }
  return changed;
}

void FunctionRecorder::add_backward(const variable_list& results) {
  Recording& r = recording_;
  variable_list outputs, targets, grads_in;
  for (size_t i = 0; i < results.size(); ++i) {
    if (!r.requires_grad[i] || r.same_as[i] >= 0) continue;
    const History history = history_of(results[i]);
    if (history.passed) continue;
    r.has_own_gradients |= history.own_gradients;
    r.differentiated.push_back(static_cast<int64_t>(i));
    outputs.push_back(results[i]);
  }
  if (outputs.empty()) return;
  add_sources(targets);
  if (targets.empty()) {
    r.differentiated.clear();
    return;
  }
  r.forward_nodes = graph_.nodes.size();
  const size_t n_arguments = arguments_.size();
  const OutsideValues before = values_outside();
  in_backward_ = true;
  for (const Tensor& t : outputs) grads_in.push_back(placeholder(t.type_of()));
  variable_list grads;
  try {
    grads = walk_back(outputs, grads_in, targets);
  } catch (const Error&) {
    r.by_hand = true;  // Some gradients look at values.
  }
  // Others write to tensors from outside, which is not to happen before the gradient is wanted.
  r.by_hand |= restore_values(before);
  if (!r.by_hand) {
    for (size_t i = 0; i < grads.size(); ++i)
      if (grads[i].defined()) r.sources[i].gradient = add_result(grads[i]);
    note_dependencies(n_arguments);
    return;
  }
  // The call itself can be compiled all the same.
  arguments_.resize(n_arguments);
  std::vector<NodePtr> kept(graph_.nodes.begin(),
                            graph_.nodes.begin() + static_cast<ptrdiff_t>(r.forward_nodes));
  for (const NodePtr& n : captured_inputs_)
    if (std::find(kept.begin(), kept.end(), n) == kept.end()) kept.push_back(n);
  graph_.nodes = std::move(kept);
}

Recording FunctionRecorder::run(const TensorFunction& fn, ArrayRef<Tensor> args,
                                RecordOptions options) {
  struct Restore {
    FunctionRecorder* r;
    ~Restore() { r->restore_outside(); }
  } restore{this};
  recording_.n_args = args.size();
  later_grads_ = options.later_grads;
  body_ = options.body;
  for (const Tensor& a : args) {
    arguments_in_.push_back(stand_in(a));
    // Arguments that are not there still have a place.
    if (!a.defined()) arguments_.push_back(nullptr);
  }
  const RecorderScope scope(this);
  const BatchFallbacks fallbacks;
  const variable_list results = fn(arguments_in_);
  recording_.one_by_one.assign(fallbacks.names.begin(), fallbacks.names.end());
  for (const Tensor& t : results) {
    recording_.result.push_back(t.defined() ? add_result(t) : -1);
    recording_.requires_grad.push_back(t.defined() && t.requires_grad());
    add_same_as(t);
  }
  add_grad_changes(args);
  add_hooks(args);
  if (options.backward && t_mode.grad) add_backward(results);
  graph_.n_results = graph_.outputs.size();
  add_writes(args);
  for (NodePtr& n : arguments_)
    if (!n) n = NodePtr(&append(graph_, kInputOp, {}, InputAttrs{}));
  graph_.inputs = arguments_;
  graph_.inputs.insert(graph_.inputs.end(), captured_inputs_.begin(), captured_inputs_.end());
  graph_.captured = captured_;
  for (const Tensor& t : arguments_in_)
    recording_.input_wants_grad.push_back(t.defined() && t.requires_grad());
  for (const Tensor& t : captured_) recording_.input_wants_grad.push_back(t.impl()->wants_grad());
  for (const auto& g : recording_.grad_inputs) graph_.captured[g.captured] = Tensor();
  if (recording_.forward_nodes == 0) recording_.forward_nodes = graph_.nodes.size();
  recording_.graph = std::move(graph_);
  return std::move(recording_);
}

}  // namespace

Recording record(const TensorFunction& fn, ArrayRef<Tensor> args, RecordOptions options) {
  FunctionRecorder recorder;
  return recorder.run(fn, args, options);
}

Graph with_detached(const Recording& r, const Graph& graph, bool ignore_mode) {
  graph.number();
  std::set<std::pair<const Node*, uint32_t>> cut;
  for (const Recording::Cut& c : r.cut_off)
    if (!ignore_mode || !c.no_grad_mode) cut.emplace(c.node, c.input);
  Graph g;
  std::vector<NodePtr> copies(graph.nodes.size());
  std::vector<bool> flows(graph.nodes.size(), false);  // by node: its values have a history
  for (size_t i = 0; i < graph.inputs.size() && i < r.input_wants_grad.size(); ++i)
    flows[graph.inputs[i]->walk_slot] = r.input_wants_grad[i];
  const auto moved = [&](const Edge& e) { return Edge{copies[e.node->walk_slot], e.index}; };
  for (const NodePtr& n : graph.nodes) {
    SmallVector<Edge, 4> inputs;
    for (uint32_t i = 0; i < n->n_inputs; ++i) {
      const uint32_t from = n->inputs()[i].node->walk_slot;
      inputs.push_back(moved(n->inputs()[i]));
      if (!flows[from]) continue;
      if (cut.contains({n.get(), i}))
        inputs.back() = {NodePtr(&append(g, kDetach, {inputs.back()}, {})), 0};
      else
        flows[n->walk_slot] = true;
    }
    copies[n->walk_slot] = NodePtr(&append(g, *n->op, {inputs.data(), inputs.size()}, n->attrs()));
  }
  for (const NodePtr& n : graph.inputs) g.inputs.push_back(copies[n->walk_slot]);
  for (const Edge& e : graph.outputs) g.outputs.push_back(moved(e));
  g.n_results = graph.n_results;
  g.captured = graph.captured;
  g.writes = graph.writes;
  return g;
}

}  // namespace tandem
