#include "tandem/compile/vmap.h"

#include "tandem/core/node_extra.h"
#include "tandem/core/recorder.h"
#include "tandem/ops/batch.h"
#include "tandem/ops/ops.h"

// Note: vmap and gradients
// The function is recorded with tensors that stand for one sample, and the graph is run by the
// batching rules with ordinary ops, so that those build the history of the results. What the
// function cut off must stay so: detach(), NoGradGuard, or a gradient taken inside without
// create_graph leave no trace in a graph of values. Hence the recorder notes for each input of each
// op whether a gradient would have flowed from there to something outside of the function, and the
// values of all others are detached before they are used.

namespace tandem {
namespace {

// Where the history of an argument begins inside the function.
constinit const OpDef kSample = {
    .name = "sample",
    .infer = nullptr,
    .vjp = [](const VjpArgs&) -> Grads { return {}; },
};

// A value as an op, or the caller, reads it.
struct Use {
  Tensor outside;  // defined iff the function did not make it
  Edge value;      // otherwise
  bool differentiable = true;
};

struct Sampled {
  Tensor tensor;
  bool batched = false;
};

// -- what the function does with one sample -----------------------------------------------------

class SampleRecorder final : public Recorder {
 public:
  SampleRecorder() : outer_(t_mode.recorder) {}

  void note_flag(const std::shared_ptr<bool>& flag) override {
    if (outer_) outer_->note_flag(flag);
  }
  void write_flag(const std::shared_ptr<bool>& flag) override {
    if (outer_) outer_->write_flag(flag);
  }
  void note_list(const std::shared_ptr<const std::vector<Tensor>>& list) override {
    if (outer_) outer_->note_list(list);
  }

  void look(TensorImpl* t, const char* call) override {
    TANDEM_CHECK(
        is_outside(t), call,
        ": a value cannot be looked at inside a function that vmap runs (the tensor is ", t->type,
        "): there is one for each sample. Choose between values with where(), and print or "
        "compare after the call.");
    // What the function makes of plain numbers is there, whatever is recorded around it.
    if (t->storage->made_in == id()) return;
    const RecorderScope outside(outer_);
    t->need_values(call);
  }
  void look(const OpDef& op) override {
    if (outer_) outer_->look(op);
  }
  bool may_have_history(TensorImpl* t) const override { return t->wants_grad(); }
  void made_alias(const TensorImpl* alias, const Tensor& of) override { note_alias(alias, of); }
  Node& add(const OpDef& op, ArrayRef<TensorImpl*> inputs, AttrRef attrs) override;

  /// Calls fn with what stands for one sample. `dims` says where the samples lie in each argument.
  void record(const autograd::TensorFunction& fn, const variable_list& args, const InDims& dims);
  /// Runs what was recorded for all samples and gives the results of fn, samples in front.
  variable_list run(const variable_list& args, const InDims& dims, int64_t size);

 private:
  struct Slot {
    std::vector<Sampled> values;  // by output
    uint32_t readers = 0;
  };

  bool is_outside(TensorImpl* t);
  Use use_of(TensorImpl* t);
  bool leads_outside(TensorImpl* t);
  void check_side_effects();
  void check_own_gradients(const variable_list& results);

  void count_readers();
  void hand_on(const Tensor& t) const;
  Sampled read(const Use& use);
  void done_with(const Edge& e);
  void compute(Node& node, int64_t size);
  void apply_writes(const variable_list& args, const InDims& dims, int64_t size);

  Recorder* const outer_;
  NewNodes* made_ = nullptr;
  std::unordered_map<const Node*, std::vector<Use>> uses_;
  std::unordered_map<const Node*, std::pair<NodePtr, bool>> leads_;  // see leads_outside
  std::vector<int64_t> argument_of_;                                 // by placeholder
  std::vector<Use> results_;                                         // of fn; undefined: no value
  std::vector<Slot> slots_;                                          // by node
};

bool SampleRecorder::is_outside(TensorImpl* t) {
  if (t->storage->pending.load(std::memory_order_relaxed) == this) return false;
  return !binding(t).written;
}

// A history that leaves the nodes made inside the function, which begins at the stand-ins of
// arguments, leads to something outside.
bool SampleRecorder::leads_outside(TensorImpl* t) {
  if (!t_mode.grad || t_mode.inference || !t->wants_grad()) return false;
  const NodePtr start = t->grad_edge().node;
  if (!start) return false;
  std::vector<NodePtr> open{start}, seen;
  bool found = false;
  while (!open.empty() && !found) {
    const NodePtr n = std::move(open.back());
    open.pop_back();
    if (const auto known = leads_.find(n.get()); known != leads_.end()) {
      found = known->second.second;
      continue;
    }
    found = !made_->has(n.get());
    seen.push_back(n);
    leads_.emplace(n.get(), std::pair{n, false});
    for (uint32_t i = 0; i < n->n_inputs; ++i)
      if (n->inputs()[i].node) open.push_back(n->inputs()[i].node);
  }
  // Of those on the way to something found nothing is known yet.
  if (found)
    for (const NodePtr& n : seen) leads_.erase(n.get());
  leads_[start.get()] = {start, found};
  return found;
}

Use SampleRecorder::use_of(TensorImpl* t) {
  Use use;
  use.value = value_of(t);
  if (is_outside(t)) use.outside = Tensor(intrusive_ptr<TensorImpl>(t));
  use.differentiable = leads_outside(t);
  return use;
}

Node& SampleRecorder::add(const OpDef& op, ArrayRef<TensorImpl*> inputs, AttrRef attrs) {
  std::vector<Use> uses;
  for (TensorImpl* t : inputs) uses.push_back(use_of(t));
  Node& node = Recorder::add(op, inputs, attrs);
  uses_.emplace(&node, std::move(uses));
  return node;
}

void SampleRecorder::check_side_effects() {
  for (const GradSlot& slot : grad_slots_) {
    if (made_->has(slot.leaf.get())) continue;
    const Tensor after = slot.leaf->need_extra().grads[0];
    TANDEM_CHECK(after.is_same(slot.before),
                 "vmap: backward() inside the function changes the gradient of a tensor from "
                 "outside (",
                 slot.leaf->outputs()[0],
                 "), which cannot hold one for each sample. Use autograd::grad and return the "
                 "gradients.");
  }
  for (const auto& [t, edge] : written_outside_)
    TANDEM_CHECK(t.impl()->edge.node == edge.node,
                 "vmap: the function writes in place to a tensor from outside (", t.impl()->type,
                 ") something that needs a gradient. Return the new value instead.");
}

// The samples' gradients are those of the ops that are recorded, which a Function or hook of the
// user's is none of.
void SampleRecorder::check_own_gradients(const variable_list& results) {
  std::vector<const Node*> open;
  std::unordered_set<const Node*> seen;
  const auto from = [&](const std::vector<const Node*>& starts, const auto& meet) {
    open = starts;
    seen.clear();
    while (!open.empty()) {
      const Node* n = open.back();
      open.pop_back();
      if (!n || !seen.insert(n).second) continue;
      meet(n);
      if (!made_->has(n)) continue;
      for (uint32_t i = 0; i < n->n_inputs; ++i) open.push_back(n->inputs()[i].node.get());
    }
  };
  std::vector<const Node*> starts, own;
  for (const Tensor& t : results)
    if (t.defined() && t.requires_grad()) starts.push_back(t.impl()->grad_edge().node.get());
  from(starts, [&](const Node* n) {
    if (made_->has(n) && n->extra && (n->extra->custom || !n->extra->hooks.empty()))
      own.push_back(n);
  });
  if (own.empty()) return;
  from(own, [&](const Node* n) {
    TANDEM_CHECK(
        made_->has(n),
        "vmap: the result depends, through a custom Function or a hook, on something that needs a "
        "gradient, which vmap could not find for each sample. Write the function with ops, take "
        "the gradient inside the function that vmap is given, or detach() what goes into it.");
  });
}

void SampleRecorder::record(const autograd::TensorFunction& fn, const variable_list& args,
                            const InDims& dims) {
  variable_list samples;
  for (size_t i = 0; i < args.size(); ++i) {
    if (!dims[i]) {
      samples.push_back(args[i]);
      continue;
    }
    TensorImpl* a = args[i].impl();
    TensorType type = a->type;
    type.sizes.erase(type.sizes.begin() + *dims[i]);
    type.weak = false;
    Tensor t = placeholder(type);
    argument_of_.push_back(static_cast<int64_t>(i));
    if (is_floating(type.dtype) && a->wants_grad()) {
      NodePtr node = Node::make(kSample, 0, 1, 0, {});
      node->outputs()[0] = type;
      t.impl()->edge = {std::move(node), 0};
    }
    samples.push_back(std::move(t));
  }
  struct Restore {
    SampleRecorder* r;
    ~Restore() {
      r->restore_outside();
      r->made_ = nullptr;
    }
  } restore{this};
  NewNodes made;
  made_ = &made;
  const RecorderScope scope(this);
  const variable_list results = fn(samples);
  check_own_gradients(results);
  for (const Tensor& t : results) results_.push_back(t.defined() ? use_of(t.impl()) : Use());
  check_side_effects();
  leads_.clear();
}

// -- the same for all samples -------------------------------------------------------------------

// How often each value is read, by what leads to results and writes; all else has no readers.
void SampleRecorder::count_readers() {
  graph_.number();
  slots_.resize(graph_.nodes.size());
  const auto count = [&](const Use& use) {
    if (!use.outside.defined() && use.value.node) ++slots_[use.value.node->walk_slot].readers;
  };
  for (const Use& r : results_) count(r);
  for (Storage* s : order_)
    if (const Binding& b = bindings_.at(s); b.written && (b.captured >= 0 || b.argument >= 0))
      ++slots_[b.value.node->walk_slot].readers;
  for (size_t k = graph_.nodes.size(); k-- > 0;) {
    const Node& n = *graph_.nodes[k];
    if (slots_[k].readers == 0) continue;
    if (const auto found = uses_.find(&n); found != uses_.end()) {
      for (const Use& u : found->second) count(u);
    } else {
      for (uint32_t i = 0; i < n.n_inputs; ++i) ++slots_[n.inputs()[i].node->walk_slot].readers;
    }
  }
}

// A constant of the function is one of what is recorded around it.
void SampleRecorder::hand_on(const Tensor& t) const {
  Storage* s = t.impl()->storage.get();
  if (s && s->made_in == id()) s->made_in = t_mode.made_in;
}

Sampled SampleRecorder::read(const Use& use) {
  Sampled v;
  if (use.outside.defined())
    hand_on(v.tensor = use.outside);
  else
    v = slots_[use.value.node->walk_slot].values[use.value.index];
  if (!use.differentiable && v.tensor.requires_grad()) v.tensor = v.tensor.detach();
  return v;
}

void SampleRecorder::done_with(const Edge& e) {
  Slot& s = slots_[e.node->walk_slot];
  if (--s.readers == 0) s.values.clear();
}

// Results for no samples at all, of which batching rules need not know. Gradients reach all inputs.
void compute_none(const Node& node, ArrayRef<Tensor> inputs, Tensor* outputs) {
  for (uint32_t k = 0; k < node.n_outputs; ++k) {
    const TensorType& type = node.outputs()[k];
    Dims sizes{0};
    sizes.append(type.sizes.begin(), type.sizes.end());
    outputs[k] = zeros(sizes, TensorOptions(type.dtype).device(type.device));
    if (!is_floating(type.dtype)) continue;
    for (const Tensor& in : inputs)
      if (in.requires_grad()) outputs[k] = outputs[k] + in.sum().to(type.dtype);
  }
}

void SampleRecorder::compute(Node& node, int64_t size) {
  std::vector<Use> uses;
  if (const auto found = uses_.find(&node); found != uses_.end())
    uses = std::move(found->second);
  else
    for (uint32_t i = 0; i < node.n_inputs; ++i) uses.push_back({{}, node.inputs()[i], true});

  SmallVector<Tensor, 4> inputs;
  SmallVector<bool, 8> batched;
  bool any = node.op->random, any_batched = false;
  for (const Use& u : uses) {
    Sampled v = read(u);
    any |= v.batched;
    any_batched |= v.batched;
    batched.push_back(v.batched);
    inputs.push_back(std::move(v.tensor));
  }
  SmallVector<Tensor, 2> outputs(node.n_outputs);
  if (any_batched && size == 0) {
    compute_none(node, {inputs.data(), inputs.size()}, outputs.data());
  } else if (any) {
    apply_batched(*node.op, inputs, batched.data(), size, node.attrs(), outputs.data());
  } else {
    SmallVector<TensorArg, 4> args;
    for (const Tensor& t : inputs) args.push_back(t);
    apply(*node.op, args.ref(), node.attrs(), outputs.data());
  }
  Slot& slot = slots_[node.walk_slot];
  for (uint32_t k = 0; k < node.n_outputs; ++k) {
    // The counter of random numbers moves on for all samples together.
    const bool one_each = outputs[k].dim() == node.outputs()[k].dim() + 1;
    TANDEM_ASSERT(
        one_each ? any && outputs[k].size(0) == size : outputs[k].dim() == node.outputs()[k].dim(),
        "vmap: ", node.op->name, " gave ", outputs[k].type_of(), " for ", size, " samples of ",
        node.outputs()[k]);
    slot.values.push_back({std::move(outputs[k]), one_each});
  }
  for (const Use& u : uses)
    if (!u.outside.defined()) done_with(u.value);
}

variable_list SampleRecorder::run(const variable_list& args, const InDims& dims, int64_t size) {
  count_readers();
  for (size_t k = 0; k < arguments_.size(); ++k) {
    const size_t i = static_cast<size_t>(argument_of_[k]);
    slots_[arguments_[k]->walk_slot].values.push_back({args[i].movedim(*dims[i], 0), true});
  }
  for (size_t k = 0; k < captured_inputs_.size(); ++k)
    slots_[captured_inputs_[k]->walk_slot].values.push_back({captured_[k], false});
  for (const NodePtr& n : graph_.nodes) {
    if (slots_[n->walk_slot].readers == 0 || n->op == &kInputOp) continue;
    if (n->op == &kConstantOp) {
      const Tensor& value = n->attrs().as<ConstantAttrs>().value.tensor;
      hand_on(value);
      slots_[n->walk_slot].values.push_back({value, false});
    } else {
      compute(*n, size);
    }
  }
  variable_list results;
  for (const Use& r : results_) {
    if (!r.outside.defined() && !r.value.node) {
      results.push_back(Tensor());
      continue;
    }
    Sampled v = read(r);
    if (!v.batched) {
      Dims sizes{size};
      sizes.append(v.tensor.sizes().begin(), v.tensor.sizes().end());
      v.tensor = v.tensor.expand(sizes);
    }
    results.push_back(std::move(v.tensor));
  }
  apply_writes(args, dims, size);
  return results;
}

void SampleRecorder::apply_writes(const variable_list& args, const InDims& dims, int64_t size) {
  // All are looked at before the first is written.
  std::vector<std::pair<Tensor, Tensor>> writes;
  for (Storage* s : order_) {
    const Binding& b = bindings_.at(s);
    if (!b.written || (b.captured < 0 && b.argument < 0)) continue;
    const Sampled v = slots_[b.value.node->walk_slot].values[b.value.index];
    if (b.argument >= 0) {
      const size_t i = static_cast<size_t>(argument_of_[static_cast<size_t>(b.argument)]);
      writes.emplace_back(args[i].movedim(*dims[i], 0), v.tensor);
      continue;
    }
    const Tensor& target = captured_[static_cast<size_t>(b.captured)];
    TANDEM_CHECK(!v.batched, "vmap: the function writes in place to a tensor from outside (",
                 target.type_of(), "), or to an argument that is the same for all ", size,
                 " samples, something that differs between them. Return the new values instead, or "
                 "make it an argument with one value for each sample.");
    writes.emplace_back(target.detach(), v.tensor.detach());
  }
  for (auto& [target, value] : writes) target.copy_(value);
}

}  // namespace

variable_list detail::vmap_list(const autograd::TensorFunction& fn, const variable_list& args,
                                const InDims& in_dims, int64_t out_dim) {
  TANDEM_CHECK(in_dims.empty() || in_dims.size() == args.size(), "vmap: got ", in_dims.size(),
               " in_dims for ", args.size(), " arguments");
  InDims dims = in_dims;
  if (dims.empty()) dims.resize(args.size(), 0);
  int64_t size = -1;
  size_t first = 0;
  for (size_t i = 0; i < args.size(); ++i) {
    if (!args[i].defined()) dims[i] = none;
    if (!dims[i]) continue;
    TANDEM_CHECK_SHAPE(args[i].dim() > 0, "vmap: argument ", i,
                       " has no dimension along which samples could lie (give `none` as its in_dim "
                       "if it is the same for all)");
    dims[i] = wrap_dim("vmap", *dims[i], args[i].dim());
    const int64_t n = args[i].size(*dims[i]);
    if (size < 0) first = i;
    TANDEM_CHECK_SHAPE(size < 0 || n == size, "vmap: argument ", first, " has ", size,
                       " samples and argument ", i, " has ", n, " (shapes ", args[first].sizes(),
                       " and ", args[i].sizes(), ")");
    size = n;
  }
  TANDEM_CHECK(size >= 0, "vmap: none of the ", args.size(), " arguments has samples");
  SampleRecorder recorder;
  recorder.record(fn, args, dims);
  variable_list results = recorder.run(args, dims, size);
  for (Tensor& t : results) {
    if (!t.defined()) continue;
    const int64_t d = wrap_dim("vmap", out_dim, t.dim());
    if (d != 0) t = t.movedim(0, d);
  }
  return results;
}

std::vector<std::string> vmap_fallbacks() { return batch_fallbacks(); }

}  // namespace tandem
