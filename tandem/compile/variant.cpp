#include "tandem/compile/variant.h"

#include <algorithm>

#include "tandem/core/recorder.h"
#include "tandem/graph/dce.h"

namespace tandem::detail {

Signature Signature::of(const Args& args, const structure::Key& key) {
  Signature s;
  s.key = key;
  for (const Tensor& t : args) {
    Arg& a = s.args.emplace_back();
    if (!t.defined()) continue;
    a.type = t.impl()->type;
    a.defined = true;
    a.wants_grad = t.impl()->wants_grad();
    a.leaf = a.wants_grad && t.impl()->is_leaf();
    if (!t.impl()->contiguous) a.strides = t.impl()->strides;
  }
  s.grad = t_mode.grad;
  s.inference = t_mode.inference;
  s.default_dtype = get_default_dtype();
  return s;
}

bool is_declared(const Tensor& t) {
  if (!t.defined() || !t.impl()->is_pending()) return false;
  const Recorder* r = t.impl()->storage->pending.load(std::memory_order_acquire);
  return r && r->follows();
}

std::shared_ptr<Variant> Variant::make(const Args& args, const structure::Key& key,
                                       const CompiledFunction::Body& body) {
  auto v = std::make_shared<Variant>();
  v->signature = Signature::of(args, key);
  const TensorFunction function = [&](const variable_list& in) { return body(in, &v->like); };
  v->recording = record(function, {args.data(), args.size()},
                        {.backward = true, .later_grads = true, .layouts = true});
  const Recording& r = v->recording;
  for (const Tensor& t : r.graph.captured)
    TANDEM_CHECK(!is_declared(t), "compile: the function takes a declared tensor (", t.impl()->type,
                 ") from outside, which has no values of its own. Pass it as an "
                 "argument: then what the function does becomes a part of the declared graph.");
  v->reorders =
      std::any_of(r.order.begin(), r.order.end(), [](const Dims& o) { return !o.empty(); });
  v->make_programs();
  v->note_overwritten();
  for (size_t i = 0; i < args.size(); ++i)
    if (auto& a = v->signature.args[i]; a.leaf) a.same_leaf = v->same_leaf(args, i);
  v->note_outside();
  return v;
}

void Variant::make_programs() {
  Recording& r = recording;
  if (r.sources.empty() || r.differentiated.empty() || r.by_hand) {
    // Where nothing is written and no gradient is left, weights stay as they are for many calls.
    const bool inference = !r.by_hand && r.grads.empty() && r.graph.writes.empty();
    program = std::make_shared<Program>(r.graph, inference);
    return;
  }
  halves = cut(r);
  program = std::make_shared<Program>(halves.forward);
  backward = std::make_shared<Program>(halves.backward);
  r.graph = std::move(halves.forward);
}

/// Which leaf of those before argument i is this argument's too.
int64_t Variant::same_leaf(const Args& args, size_t i) const {
  const Node* leaf = args[i].impl()->edge.node.get();
  if (!leaf) return -1;
  for (size_t k = 0; k < i; ++k)
    if (args[k].defined() && args[k].impl()->edge.node.get() == leaf)
      return static_cast<int64_t>(k);
  const auto& captured_tensors = recording.graph.captured;
  for (size_t k = 0; k < captured_tensors.size(); ++k)
    if (captured_tensors[k].defined() && captured_tensors[k].impl()->edge.node.get() == leaf)
      return static_cast<int64_t>(args.size() + k);
  return -1;
}

const Variant::Part& Variant::part_of_backward(const std::vector<bool>& given) const {
  const std::lock_guard lock(parts_mutex_);
  if (const auto found = parts_.find(given); found != parts_.end()) return found->second;
  PartOfBackward part = part_of(halves, given);
  auto program = part.graph.n_results > 0 ? std::make_unique<Program>(part.graph) : nullptr;
  return parts_.emplace(given, Part{std::move(program), std::move(part.exists)}).first->second;
}

int64_t Variant::release_idle() const {
  int64_t bytes = program->release_idle();
  if (backward) bytes += backward->release_idle();
  const std::lock_guard lock(parts_mutex_);
  for (const auto& [given, part] : parts_)
    if (part.program) bytes += part.program->release_idle();
  return bytes;
}

const Graph& Variant::replay() const {
  std::call_once(replay_made_, [this] {
    replay_ = with_detached(recording, recording.graph);
    std::vector<Edge> results;
    for (const int64_t i : recording.differentiated)
      results.push_back(replay_.outputs[static_cast<size_t>(recording.result[i])]);
    replay_.outputs = std::move(results);
    replay_.n_results = replay_.outputs.size();
    replay_.writes.clear();
    replay_ = dce(std::move(replay_));
    for (Tensor& t : replay_.captured) t = Tensor();  // every run is given its own
  });
  return replay_;
}

void Variant::note_overwritten() {
  const Graph& g = recording.graph;
  if (g.writes.empty() || recording.differentiated.empty()) return;
  g.number();
  std::vector<bool> read(g.nodes.size(), false);
  for (const int64_t i : recording.differentiated)
    read[g.outputs[static_cast<size_t>(recording.result[i])].node->walk_slot] = true;
  for (size_t k = g.nodes.size(); k-- > 0;)
    for (uint32_t i = 0; read[k] && i < g.nodes[k]->n_inputs; ++i)
      read[g.nodes[k]->inputs()[i].node->walk_slot] = true;
  for (const Graph::Write& w : g.writes)
    if (read[g.inputs[w.input]->walk_slot]) overwritten_.push_back(w.input);
}

// Note: tensors from outside that are gone
// A function that takes a tensor from outside is recorded with that very tensor. A program may
// give its variable another one, which the recording does not see. But then nobody except
// recordings holds the old one, unless it is of use elsewhere too; and what nobody holds, the
// function cannot be reading. So such a variant fits no more, and the function is recorded again.
void Variant::note_outside() {
  const size_t n_captured = recording.graph.captured.size();
  for (size_t i = 0; i < n_captured + recording.seen.size(); ++i) {
    const Tensor& t = outside(i);
    Outside& o = outside_.emplace_back();
    if (!t.defined()) continue;
    o.type = t.impl()->type;
    o.wants_grad = t.impl()->wants_grad();
    const auto& sources = recording.sources;
    const int64_t held = 1 + program->holds(t) + (backward ? backward->holds(t) : 0) +
                         std::count_if(sources.begin(), sources.end(),
                                       [&](const auto& s) { return s.captured.is_same(t); });
    o.recorded = static_cast<uint32_t>(held);
    t.impl()->recorded_refs.fetch_add(o.recorded, std::memory_order_relaxed);
    o.held = !t.impl()->is_only_recorded();
    // An alias that the function made shares its memory with the tensor that it was made of.
    const Storage& s = *t.impl()->storage;
    const bool replaced =
        i < n_captured && !o.held && s.made_in == 0 && s.refs.load(std::memory_order_relaxed) == 1;
    TANDEM_CHECK(
        !replaced, "compile: the function reads a tensor from outside (", t.impl()->type,
        ") that nobody holds any more: it gave the variable another one, or got the tensor "
        "from somewhere, which later calls would not do. Pass it as an argument; return "
        "what is new and assign it after the call, or write it in place.");
  }
}

Variant::~Variant() {
  for (size_t i = 0; i < outside_.size(); ++i)
    if (TensorImpl* t = outside(i).impl())
      t->recorded_refs.fetch_sub(outside_[i].recorded, std::memory_order_relaxed);
}

// -- whether a call is that of the graph ---------------------------------------------------------

namespace {

bool hooks_changed(const Recording::HookGuard& h, const Args& args) {
  const Node* leaf = leaf_of(h, args);
  const NodeExtra* extra = leaf ? leaf->extra : nullptr;
  const size_t count = extra ? extra->hooks.size() : 0;
  return count != h.count || (count > 0 && extra->next_hook != h.next);
}

bool list_changed(const Recording::ListGuard& l) {
  return !std::equal(
      l.list->begin(), l.list->end(), l.tensors.begin(), l.tensors.end(),
      [](const Tensor& t, const TensorImpl* recorded) { return t.impl() == recorded; });
}

std::string words_for(const Dims& strides) {
  return strides.empty() ? "in row-major order" : str("with strides ", strides);
}

}  // namespace

bool Variant::fits(const Args& args, const structure::Key& key, Mismatch* why) const {
  const auto differs = [why](int rank, const auto&... words) {
    if (why) *why = {rank, str(words...)};
    return false;
  };
  const Signature& s = signature;
  if (args.size() != s.args.size())
    return differs(0, args.size(), " tensors were passed instead of ", s.args.size());
  for (size_t i = 0; i < args.size(); ++i) {
    const Signature::Arg& want = s.args[i];
    TensorImpl* t = args[i].impl();
    if ((t != nullptr) != want.defined)
      return differs(1, "argument ", i, t ? " is a tensor now" : " is undefined now");
    if (!t) continue;
    if (!(t->type == want.type))
      return differs(2, "argument ", i, " is ", t->type, ", not ", want.type);
    if (t->contiguous ? !want.strides.empty() : !(t->strides == want.strides))
      return why && differs(2, "argument ", i, " lies in memory ",
                            words_for(t->contiguous ? Dims() : t->strides), ", not ",
                            words_for(want.strides));
    const bool wants = t->wants_grad(), leaf = wants && t->is_leaf();
    if (wants != want.wants_grad)
      return differs(3, "argument ", i, wants ? " requires" : " does not require", " a gradient");
    if (leaf != want.leaf) return differs(4, "argument ", i, leaf ? " is" : " is not", " a leaf");
    if (leaf && same_leaf(args, i) != want.same_leaf)
      return differs(4, "argument ", i, want.same_leaf < 0 ? " is" : " is not",
                     " the same tensor as another one");
  }
  if (s.grad != t_mode.grad) return differs(5, "grad mode is ", t_mode.grad ? "on" : "off");
  if (s.inference != t_mode.inference) return differs(6, "inference mode changed");
  if (!(key == s.key)) return differs(7, "a plain argument has another value");
  if (get_default_dtype() != s.default_dtype) return differs(8, "the default dtype changed");
  for (size_t i = 0; i < outside_.size(); ++i) {
    TensorImpl* t = outside(i).impl();
    if (!t) continue;  // a gradient
    const Outside& want = outside_[i];
    if (want.held && t->is_only_recorded())
      return differs(9, "a tensor from outside (", t->type,
                     ") is gone, another may be in its place. Pass what changes as an argument, or "
                     "write to it in place");
    if (!(t->type == want.type))
      return differs(9, "a tensor from outside is ", t->type, ", not ", want.type);
    if (t->wants_grad() != want.wants_grad)
      return differs(10, "a tensor from outside changed its requires_grad");
  }
  for (const auto& g : recording.guards)
    if ((grad_of(g, args) != nullptr) != g.defined)
      return differs(11, "a leaf ", g.defined ? "has no gradient any more" : "has a gradient now");
  for (const auto& g : recording.grad_inputs) {
    const Tensor* grad = grad_of(g, args);
    if (grad && !(grad->impl()->type == g.type))
      return differs(11, "a gradient is ", grad->impl()->type, ", not ", g.type);
    if (grad && grad->impl()->wants_grad()) return differs(11, "a gradient has a history");
  }
  for (const auto& h : recording.hooks)
    if (hooks_changed(h, args)) return differs(11, "a hook of a leaf was added or removed");
  for (const auto& f : recording.flags)
    if (*f.flag != f.value)
      return differs(12,
                     "something that the function reads changed: training mode, what a container "
                     "holds, or an optimiser's groups");
  for (const auto& l : recording.lists)
    if (list_changed(l)) return differs(12, "an optimiser has other parameters");
  return true;
}

}  // namespace tandem::detail
