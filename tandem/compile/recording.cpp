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

  void note_flag(const std::shared_ptr<bool>& flag) override {
    if (outer_) outer_->note_flag(flag);
    if (!knows(recording_.flags, flag) && !knows(flags_before_, flag))
      recording_.flags.push_back({flag, *flag});
  }
  void write_flag(const std::shared_ptr<bool>& flag) override {
    if (outer_) outer_->write_flag(flag);
    if (!knows(flags_before_, flag)) flags_before_.push_back({flag, *flag});
  }
  void note_list(const std::shared_ptr<const std::vector<Tensor>>& list) override {
    if (outer_) outer_->note_list(list);
    const auto same = [&](const auto& l) { return l.list == list; };
    if (std::any_of(recording_.lists.begin(), recording_.lists.end(), same)) return;
    Recording::ListGuard guard{list, {}};
    for (const Tensor& t : *list) guard.tensors.push_back(t.impl());
    recording_.lists.push_back(std::move(guard));
  }

  void note_seen(TensorImpl* t) override {
    if (outer_) outer_->note_seen(t);
    const Storage* s = t->storage.get();
    if (!layouts_ || !s || s->made_in == id()) return;
    const bool own = s->pending.load(std::memory_order_relaxed) == this || has_made_view(t) ||
                     alias_of(t) || originals_.contains(t);
    if (!own && is_seen_.insert(t).second)
      recording_.seen.push_back(Tensor(intrusive_ptr<TensorImpl>(t)));
  }
  void touch_grad(Node& leaf) override {
    GradSlot& slot = grad_slot(leaf);
    if (slot.zeroed) make_zero(slot);
  }
  bool clear_grad(Node& leaf, bool forget) override;
  bool add_grad(Node& leaf, const Tensor& grad) override;
  Node& add(const OpDef& op, ArrayRef<TensorImpl*> inputs, AttrRef attrs) override;
  bool separates_histories() const override { return body_; }
  bool may_have_history(TensorImpl* t) const override {
    return recording_.any_input ? is_floating(t->type.dtype) : t->wants_grad();
  }
  void made_alias(const TensorImpl* alias, const Tensor& of) override {
    note_alias(alias, of);
    const Storage& s = *of.impl()->storage;
    if (s.pending.load(std::memory_order_relaxed) != this && s.made_in != id())
      originals_[alias] = Tensor(intrusive_ptr<TensorImpl>(original_of(of.impl())));
  }

  Recording run(const TensorFunction& fn, ArrayRef<Tensor> args, RecordOptions options);

 private:
  using Flags = std::vector<Recording::FlagGuard>;
  static bool knows(const Flags& flags, const std::shared_ptr<bool>& flag) {
    return std::any_of(flags.begin(), flags.end(), [&](const auto& f) { return f.flag == flag; });
  }

  bool is_detached(const TensorImpl* t) {
    const Alias* a = alias_of(t);
    return a && a->cuts;
  }
  void capturing(Storage& s) override;
  TensorImpl* original_of(TensorImpl* t) override {
    const auto found = originals_.find(t);
    const bool known = found != originals_.end() && found->second.impl()->storage == t->storage;
    return known ? found->second.impl() : t;
  }
  void make_zero(GradSlot& slot);
  bool add_grad_input(const GradSlot& slot, int64_t argument);
  Tensor stand_in(const Tensor& arg);
  Tensor lie_as(const TensorImpl* a);
  void add_grad_changes(ArrayRef<Tensor> args);
  void add_writes(ArrayRef<Tensor> args);
  void add_same_as(const Tensor& result);
  void add_results(const variable_list& results);
  void add_hooks(ArrayRef<Tensor> args);
  void forget_seen();
  void add_backward(const variable_list& results);
  void add_sources(variable_list& targets);
  variable_list walk_back(const variable_list& outputs, const variable_list& grads,
                          const variable_list& targets);
  class Origins;
  using OutsideValues = std::unordered_map<const Storage*, std::pair<Edge, bool>>;
  OutsideValues values_outside() const;
  bool restore_values(const OutsideValues& before);
  int64_t add_result(const Tensor& t);
  int64_t argument_with(const Node* leaf, ArrayRef<Tensor> args) const;

  Recorder* const outer_ = t_mode.recorder;
  Recording recording_;
  Flags flags_before_;                             // what those that the function has set were
  std::unordered_set<const TensorImpl*> is_seen_;  // Recording::seen
  /// What aliases that the function made of tensors from outside show, by their addresses.
  std::unordered_map<const TensorImpl*, Tensor> originals_;
  variable_list arguments_in_;  // what the function sees
  bool later_grads_ = false, layouts_ = false;
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

// Note: arguments in another order
// Whether contiguous() or reshape() copies depends on how a tensor lies in memory, and a write to
// what they gave reaches the argument or does not. So the function sees an argument that lies as
// the real one does. The graph takes its dimensions in the order of memory, in which every view
// that the argument has is one of the graph's value too. If gaps are left then, or elements that
// are shown twice, the strides are for show: the executor makes a dense copy of such an argument.
Tensor FunctionRecorder::lie_as(const TensorImpl* a) {
  const size_t n = a->strides.size();
  Dims& order = recording_.order.back();
  for (size_t d = 0; d < n; ++d) order.push_back(static_cast<int64_t>(d));
  std::stable_sort(order.begin(), order.end(), [&](int64_t x, int64_t y) {
    return a->strides[static_cast<size_t>(x)] > a->strides[static_cast<size_t>(y)];
  });
  TensorType type = a->type;
  Dims strides, back(n, 0);
  for (size_t d = 0; d < n; ++d) {
    const auto from = static_cast<size_t>(order[d]);
    type.sizes[d] = a->type.sizes[from];
    strides.push_back(a->strides[from]);
    back[from] = static_cast<int64_t>(d);
  }
  const Tensor base = placeholder(type);
  if (!is_contiguous(type.sizes, strides)) {
    base.impl()->strides = strides;
    base.impl()->contiguous = false;
    bindings_.at(base.impl()->storage.get()).strides = strides;
  }
  if (std::is_sorted(order.begin(), order.end())) {
    order.clear();
    return base;
  }
  return base.permute(back);
}

// A leaf's gradient goes where that of the argument would.
Tensor FunctionRecorder::stand_in(const Tensor& arg) {
  recording_.order.emplace_back();
  if (!arg.defined()) {
    arguments_.push_back(nullptr);  // it still has a place
    return {};
  }
  TensorImpl* a = arg.impl();
  Tensor t = layouts_ && !a->contiguous ? lie_as(a) : placeholder(a->type);
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
    TANDEM_CHECK(ways[memory] == 1, kReachedTwice);
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
  if (in_backward_) return node;
  for (size_t i = 0; i < inputs.size(); ++i) {
    TensorImpl* t = inputs[i];
    if (t_mode.grad && t->wants_grad()) continue;
    recording_.cut_off.push_back({&node, static_cast<uint32_t>(i), !t_mode.grad, is_detached(t)});
  }
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

// Results of the function as results of the graph. What shares memory does so after each call.
void FunctionRecorder::add_results(const variable_list& results) {
  Recording& r = recording_;
  std::unordered_map<const Storage*, int> uses;
  std::unordered_map<const Storage*, int64_t> bases;
  for (const Tensor& t : results)
    if (t.defined()) ++uses[t.impl()->storage.get()];
  for (const Tensor& t : results) {
    r.requires_grad.push_back(t.defined() && t.requires_grad());
    r.detached.push_back(t.defined() && !r.requires_grad.back() && is_detached(t.impl()));
    add_same_as(t);
    Recording::ResultView& view = r.view_of.emplace_back();
    r.result.push_back(-1);
    if (!t.defined()) continue;
    const auto found = bindings_.find(t.impl()->storage.get());
    const Binding* b = found != bindings_.end() ? &found->second : nullptr;
    const bool shared = layouts_ && b && !r.requires_grad.back() && r.same_as.back() < 0 &&
                        (uses[b->storage.get()] > 1 || b->written || !b->strides.empty());
    if (!shared || b->value.node->op == &kConstantOp) {
      r.result.back() = add_result(t);
      continue;
    }
    if (!shows_all(t.impl(), *b)) view.chain = chain_of(t.impl(), *b);
    if (b->argument >= 0 || b->captured >= 0) {
      view.input =
          b->argument >= 0 ? b->argument : static_cast<int64_t>(arguments_in_.size()) + b->captured;
      r.result.back() = add_result(t);
      continue;
    }
    const auto [base, fresh] = bases.try_emplace(b->storage.get(), graph_.outputs.size());
    if (fresh) graph_.outputs.push_back(b->value);
    view.base = r.result.back() = base->second;
  }
}

// Leaves whose gradients the function changes, with what their hooks did to them.
void FunctionRecorder::add_hooks(ArrayRef<Tensor> args) {
  for (const GradSlot& slot : grad_slots_) {
    const NodeExtra& extra = slot.leaf->need_extra();
    recording_.hooks.push_back(
        {slot.leaf, argument_with(slot.leaf.get(), args), extra.hooks.size(), extra.next_hook});
  }
}

// Of what was seen, the graph's own inputs and leaves' gradients have guards that say more.
void FunctionRecorder::forget_seen() {
  std::unordered_set<const TensorImpl*> known;
  for (const Tensor& t : captured_) known.insert(t.impl());
  for (const GradSlot& slot : grad_slots_)
    for (const Tensor& t : {slot.before, slot.overwritten, slot.leaf->need_extra().grads[0]})
      known.insert(t.impl());
  std::erase_if(recording_.seen, [&](const Tensor& t) { return known.contains(t.impl()); });
}

/// What was found on the way from a tensor to what it was made from.
struct History {
  bool passed = false;         // backward went through a part of it and freed it
  bool own_gradients = false;  // there is a hook or a Function of the user's
};

// Up to the nodes that `ends` has, which belong to whoever differentiates the call.
History history_of(const Tensor& t, const std::unordered_set<const Node*>& ends) {
  History h;
  std::vector<const Node*> stack{t.impl()->edge.node.get()};
  std::unordered_set<const Node*> seen;
  while (!stack.empty()) {
    const Node* n = stack.back();
    stack.pop_back();
    if (!n || ends.contains(n) || !seen.insert(n).second) continue;
    h.passed |= n->released;
    if (const NodeExtra* extra = n->extra)
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
    // A view that was made without grad mode, of something that was written since: no gradient
    // could flow from what was made of it.
    const ViewInfo* view = t.impl()->view;
    if (view && view->creation != CreationMeta::DEFAULT && t.impl()->view_is_stale()) continue;
    if (!is_new(t)) continue;
    recording_.sources.push_back({-1, t, -1});
    targets.push_back(t);
  }
}

// Notes which results the nodes are on the way from that are recorded for a node of the history.
class FunctionRecorder::Origins final : public autograd::Walk::Visitor {
 public:
  Origins(const variable_list& outputs, const Graph& g, Recording& r)
      : g_(g), first_(r.forward_nodes), results_of_(r.results_of) {
    if (outputs.size() > 64) return;  // each belongs to all
    std::vector<const Node*> stack;
    for (size_t k = 0; k < outputs.size(); ++k) {
      const uint64_t bit = uint64_t{1} << k;
      stack.push_back(outputs[k].impl()->grad_edge().node.get());
      while (!stack.empty()) {
        const Node* n = stack.back();
        stack.pop_back();
        if (!n || (of_[n] & bit) != 0) continue;
        of_[n] |= bit;
        for (uint32_t i = 0; i < n->n_inputs; ++i) stack.push_back(n->inputs()[i].node.get());
      }
    }
  }
  void visits(const Node& node) override {
    note();
    const auto found = of_.find(&node);
    now_ = found != of_.end() ? found->second : kAll;
  }
  /// What has been recorded since the last time belongs to the node that was visited then.
  void note() { results_of_.resize(g_.nodes.size() - first_, now_); }

 private:
  static constexpr uint64_t kAll = ~uint64_t{0};
  const Graph& g_;
  const size_t first_;
  std::vector<uint64_t>& results_of_;
  std::unordered_map<const Node*, uint64_t> of_;
  uint64_t now_ = kAll;
};

// Up to the targets and no further: hooks there, and what lies below, are the business of whoever
// differentiates the call.
variable_list FunctionRecorder::walk_back(const variable_list& outputs, const variable_list& grads,
                                          const variable_list& targets) {
  Origins origins(outputs, graph_, recording_);
  autograd::Walk walk({.keep = true,
                       .accumulate = false,
                       .only_targets = true,
                       .stop_at_targets = true,
                       .visitor = &origins});
  for (const Tensor& t : targets) {
    const Edge& e = t.impl()->grad_edge();
    walk.targets.push_back({e.node.get(), e.index, {}});
  }
  for (size_t i = 0; i < outputs.size(); ++i)
    walk.add_root(outputs[i].impl()->grad_edge(), grads[i]);
  walk.run();
  origins.note();
  variable_list result;
  for (auto& t : walk.targets) result.push_back(std::move(t.grad));
  return result;
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
  add_sources(targets);
  if (targets.empty()) return;
  std::unordered_set<const Node*> ends;
  for (const Tensor& t : targets) ends.insert(t.impl()->grad_edge().node.get());
  for (size_t i = 0; i < results.size(); ++i) {
    if (!r.requires_grad[i] || r.same_as[i] >= 0) continue;
    const History history = history_of(results[i], ends);
    if (history.passed) continue;
    r.has_own_gradients |= history.own_gradients;
    r.differentiated.push_back(static_cast<int64_t>(i));
    outputs.push_back(results[i]);
  }
  if (outputs.empty()) return;
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
    ~Restore() {
      r->restore_outside();
      // A body is a part of a function, which goes on with them.
      if (!r->body_)
        for (const auto& f : r->flags_before_) *f.flag = f.value;
    }
  } restore{this};
  recording_.n_args = args.size();
  later_grads_ = options.later_grads;
  layouts_ = options.layouts;
  body_ = options.body;
  recording_.any_input = options.any_input;
  const RecorderScope scope(this);
  for (const Tensor& a : args) arguments_in_.push_back(stand_in(a));
  const BatchFallbacks fallbacks;
  const variable_list results = fn(arguments_in_);
  recording_.one_by_one.assign(fallbacks.names.begin(), fallbacks.names.end());
  add_results(results);
  for (const auto& f : flags_before_) recording_.flags_set.push_back({f.flag, *f.flag});
  // Lists that the function itself has changed since it read them are its own.
  std::erase_if(recording_.flags,
                [&](const auto& f) { return *f.flag != f.value && !knows(flags_before_, f.flag); });
  add_grad_changes(args);
  add_hooks(args);
  if (options.backward && t_mode.grad) add_backward(results);
  forget_seen();
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

Tensor laid_out(const Recording& r, size_t i, const Tensor& argument) {
  if (i >= r.order.size() || r.order[i].empty() || !argument.defined()) return argument;
  auto t = argument.impl()->alias();
  for (size_t d = 0; d < r.order[i].size(); ++d) {
    const auto from = static_cast<size_t>(r.order[i][d]);
    t->type.sizes[d] = argument.impl()->type.sizes[from];
    t->strides[d] = argument.impl()->strides[from];
  }
  t->contiguous = is_contiguous(t->type.sizes, t->strides);
  return Tensor(std::move(t));
}

Graph with_detached(const Recording& r, const Graph& graph) {
  graph.number();
  using Use = std::pair<const Node*, uint32_t>;
  std::set<Use> cut, detached;
  for (const Recording::Cut& c : r.cut_off) {
    if (!r.any_input || !c.no_grad_mode) cut.emplace(c.node, c.input);
    if (r.any_input && c.detached && !c.no_grad_mode) detached.emplace(c.node, c.input);
  }
  Graph g;
  std::vector<NodePtr> copies(graph.nodes.size());
  // By node: its values had a history when it was recorded, and may have one when it is run.
  std::vector<bool> flowed(graph.nodes.size(), false), may_flow(graph.nodes.size(), false);
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const uint32_t slot = graph.inputs[i]->walk_slot;
    flowed[slot] = i < r.input_wants_grad.size() && r.input_wants_grad[i];
    may_flow[slot] = r.any_input || flowed[slot];
  }
  const auto moved = [&](const Edge& e) { return Edge{copies[e.node->walk_slot], e.index}; };
  for (const NodePtr& n : graph.nodes) {
    SmallVector<Edge, 4> inputs;
    for (uint32_t i = 0; i < n->n_inputs; ++i) {
      const uint32_t from = n->inputs()[i].node->walk_slot;
      const Use use{n.get(), i};
      const bool is_cut = flowed[from] && cut.contains(use);
      inputs.push_back(moved(n->inputs()[i]));
      if (n->op == &kDetach) continue;
      flowed[n->walk_slot] = flowed[n->walk_slot] || (flowed[from] && !is_cut);
      if (!may_flow[from]) continue;
      if (is_cut || detached.contains(use))
        inputs.back() = {NodePtr(&append(g, kDetach, {inputs.back()}, {})), 0};
      else
        may_flow[n->walk_slot] = true;
    }
    copies[n->walk_slot] = NodePtr(&append(g, *n->op, {inputs.data(), inputs.size()}, n->attrs()));
  }
  for (const NodePtr& n : graph.inputs) g.inputs.push_back(copies[n->walk_slot]);
  for (const Edge& e : graph.outputs) g.outputs.push_back(moved(e));
  for (size_t k = 0; r.any_input && k < r.result.size(); ++k) {
    if (r.result[k] < 0 || !r.detached[k]) continue;
    Edge& e = g.outputs[static_cast<size_t>(r.result[k])];
    e = {NodePtr(&append(g, kDetach, {e}, {})), 0};
  }
  g.n_results = graph.n_results;
  g.captured = graph.captured;
  g.writes = graph.writes;
  return g;
}

}  // namespace tandem
