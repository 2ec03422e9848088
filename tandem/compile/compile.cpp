#include "tandem/compile/compile.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <sstream>

#include "tandem/autograd/autograd.h"
#include "tandem/base/memory.h"
#include "tandem/base/warning.h"
#include "tandem/compile/differentiate.h"
#include "tandem/compile/program.h"
#include "tandem/compile/recording.h"
#include "tandem/core/node_extra.h"
#include "tandem/ops/ops.h"
#include "tandem/runtime/executor.h"

namespace tandem::detail {
namespace {

using Args = CompiledFunction::Args;

/// What a call must have in common with the recorded one.
struct Signature {
  struct Arg {
    TensorType type;
    bool defined = false, wants_grad = false, leaf = false;
    Dims strides;            // where it does not lie in row-major order
    int64_t same_leaf = -1;  // as an earlier argument, or as a captured tensor behind all arguments
  };
  structure::Key key;
  std::vector<Arg> args;
  bool grad = true, inference = false;
  DType default_dtype = kFloat;

  static Arg describe(const Tensor& t) {
    if (!t.defined()) return {};
    const bool wants = t.impl()->wants_grad();
    return {t.impl()->type, true, wants, wants && t.impl()->is_leaf(),
            t.impl()->contiguous ? Dims() : t.impl()->strides};
  }
};

/// One graph of a compiled function, with everything that it needs to be run.
struct Variant : std::enable_shared_from_this<Variant> {
  Signature signature;
  Recording recording;  // its graph is that of the call alone
  struct Captured {
    TensorType type;
    bool wants_grad = false;
    bool outside = false;   // True iff something outside held it when it was recorded.
    uint32_t recorded = 0;  // how many references of this variant it counts as recorded_refs
  };
  std::vector<Captured> captured;  // as in the graph
  std::shared_ptr<const Program> program;
  // Where results can be differentiated:
  std::shared_ptr<const Program> backward;
  ForwardBackward parts;  // but for what has become the recording's graph
  bool reorders = false;  // True iff the graph takes an argument with its dimensions permuted.
  std::shared_ptr<const void> like;
  std::string reason;
  std::atomic<uint64_t> calls{0};
  double record_ms = 0;
  Variant* older = nullptr;

  Variant() = default;
  ~Variant();
  void note_captured();

  struct Mismatch {
    int rank;
    std::string words;
  };
  Mismatch mismatch(const Args& args, const structure::Key& key) const;
  bool fits(const Args& args, const structure::Key& key) const;
  int64_t same_leaf(const Args& args, size_t i) const;

  /// Backward where only some of the differentiated results have a gradient; made when it is first
  /// needed.
  struct Part {
    std::unique_ptr<const Program> program;  // null: nothing flows anywhere
    std::vector<bool> exists;                // as PartOfBackward
  };
  const Part& part_of_backward(const std::vector<bool>& given) const;
  /// Gives back the memory that its programs keep for their next runs; says how much it was.
  int64_t release_idle() const;

  /// The function op by op, for a gradient that is found by differentiating its ops; made when it
  /// is first needed.
  const Graph& replay() const;

 private:
  mutable std::mutex parts_mutex_;
  mutable std::map<std::vector<bool>, Part> parts_;
  mutable std::once_flag replay_made_;
  mutable Graph replay_;
};

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
  PartOfBackward part = part_of(parts, given);
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
    for (Tensor& t : replay_.captured) t = Tensor();  // every run is given its own
  });
  return replay_;
}

// Note: tensors from outside that are gone
// A function that takes a tensor from outside is recorded with that very tensor. A program may
// give its variable another one, which the recording does not see. But then nobody except
// recordings holds the old one, unless it is of use elsewhere too; and what nobody holds, the
// function cannot be reading. So such a variant fits no more, and the function is recorded again.
void Variant::note_captured() {
  for (const Tensor& t : recording.graph.captured) {
    Captured& c = captured.emplace_back();
    if (!t.defined()) continue;
    c.type = t.impl()->type;
    c.wants_grad = t.impl()->wants_grad();
    const auto& sources = recording.sources;
    const int64_t held = 1 + program->holds(t) + (backward ? backward->holds(t) : 0) +
                         std::count_if(sources.begin(), sources.end(),
                                       [&](const auto& s) { return s.captured.is_same(t); });
    c.recorded = static_cast<uint32_t>(held);
    t.impl()->recorded_refs.fetch_add(c.recorded, std::memory_order_relaxed);
    c.outside = !t.impl()->is_only_recorded();
    // An alias that the function made shares its memory with the tensor that it was made of.
    const Storage& s = *t.impl()->storage;
    const bool replaced =
        !c.outside && s.made_in == 0 && s.refs.load(std::memory_order_relaxed) == 1;
    TANDEM_CHECK(
        !replaced, "compile: the function reads a tensor from outside (", t.impl()->type,
        ") that nobody holds any more: it gave the variable another one, or got the tensor "
        "from somewhere, which later calls would not do. Pass it as an argument; return "
        "what is new and assign it after the call, or write it in place.");
  }
}

Variant::~Variant() {
  for (size_t i = 0; i < captured.size(); ++i)
    if (TensorImpl* t = recording.graph.captured[i].impl())
      t->recorded_refs.fetch_sub(captured[i].recorded, std::memory_order_relaxed);
}

/// The leaf that a part of the recording speaks of; null: none.
template <class G>
const Node* leaf_of(const G& g, const Args& args) {
  if (g.argument < 0) return g.leaf.get();
  return args[static_cast<size_t>(g.argument)].impl()->edge.node.get();
}

bool hooks_changed(const Recording::HookGuard& h, const Args& args) {
  const Node* leaf = leaf_of(h, args);
  const NodeExtra* extra = leaf ? leaf->extra : nullptr;
  const size_t count = extra ? extra->hooks.size() : 0;
  return count != h.count || (count > 0 && extra->next_hook != h.next);
}

/// Its gradient; null: none.
template <class G>
const Tensor* grad_of(const G& g, const Args& args) {
  const Node* leaf = leaf_of(g, args);
  if (!leaf || !leaf->extra || !leaf->extra->grads[0].defined()) return nullptr;
  return &leaf->extra->grads[0];
}

bool list_changed(const Recording::ListGuard& l) {
  return !std::equal(
      l.list->begin(), l.list->end(), l.tensors.begin(), l.tensors.end(),
      [](const Tensor& t, const TensorImpl* recorded) { return t.impl() == recorded; });
}

bool Variant::fits(const Args& args, const structure::Key& key) const {
  const Signature& s = signature;
  if (s.grad != t_mode.grad || s.inference != t_mode.inference || args.size() != s.args.size())
    return false;
  for (size_t i = 0; i < args.size(); ++i) {
    const Signature::Arg& want = s.args[i];
    TensorImpl* t = args[i].impl();
    if ((t != nullptr) != want.defined) return false;
    if (!t) continue;
    if (!(t->type == want.type)) return false;
    if (t->contiguous ? !want.strides.empty() : !(t->strides == want.strides)) return false;
    const bool wants = t->wants_grad();
    if (wants != want.wants_grad || (wants && t->is_leaf() != want.leaf)) return false;
    if (want.leaf && same_leaf(args, i) != want.same_leaf) return false;
  }
  if (!(key == s.key) || get_default_dtype() != s.default_dtype) return false;
  for (size_t i = 0; i < captured.size(); ++i) {
    TensorImpl* t = recording.graph.captured[i].impl();
    if (!t) continue;  // a gradient
    const Captured& want = captured[i];
    if (!(t->type == want.type) || t->wants_grad() != want.wants_grad) return false;
    if (want.outside && t->is_only_recorded()) return false;
  }
  for (const auto& g : recording.guards)
    if ((grad_of(g, args) != nullptr) != g.defined) return false;
  for (const auto& g : recording.grad_inputs)
    if (const Tensor* grad = grad_of(g, args))
      if (!(grad->impl()->type == g.type) || grad->impl()->wants_grad()) return false;
  for (const auto& h : recording.hooks)
    if (hooks_changed(h, args)) return false;
  for (const auto& f : recording.flags)
    if (*f.flag != f.value) return false;
  for (const auto& l : recording.lists)
    if (list_changed(l)) return false;
  return true;
}

// Why the call is not that of this variant, in words; the more is alike, the higher the rank.
Variant::Mismatch Variant::mismatch(const Args& args, const structure::Key& key) const {
  const Signature& s = signature;
  if (args.size() != s.args.size())
    return {0, str(args.size(), " tensors were passed instead of ", s.args.size())};
  for (size_t i = 0; i < args.size(); ++i) {
    const Signature::Arg got = Signature::describe(args[i]), &want = s.args[i];
    if (got.defined != want.defined)
      return {1, str("argument ", i, got.defined ? " is a tensor now" : " is undefined now")};
    if (!got.defined) continue;
    if (!(got.type == want.type))
      return {2, str("argument ", i, " is ", got.type, ", not ", want.type)};
    if (!(got.strides == want.strides))
      return {2, str("argument ", i, " lies in memory ",
                     got.strides.empty() ? str("in row-major order")
                                         : str("with strides ", got.strides),
                     ", not ",
                     want.strides.empty() ? str("in row-major order")
                                          : str("with strides ", want.strides))};
    if (got.wants_grad != want.wants_grad)
      return {3, str("argument ", i, got.wants_grad ? " requires" : " does not require",
                     " a gradient")};
    if (got.leaf != want.leaf)
      return {4, str("argument ", i, got.leaf ? " is" : " is not", " a leaf")};
    if (want.leaf && same_leaf(args, i) != want.same_leaf)
      return {4, str("argument ", i, want.same_leaf < 0 ? " is" : " is not",
                     " the same tensor as another one")};
  }
  if (s.grad != t_mode.grad) return {5, t_mode.grad ? "grad mode is on" : "grad mode is off"};
  if (s.inference != t_mode.inference) return {6, "inference mode changed"};
  if (!(key == s.key)) return {7, "a plain argument has another value"};
  if (get_default_dtype() != s.default_dtype) return {8, "the default dtype changed"};
  for (size_t i = 0; i < captured.size(); ++i) {
    TensorImpl* t = recording.graph.captured[i].impl();
    if (!t) continue;
    if (captured[i].outside && t->is_only_recorded())
      return {9, str("a tensor from outside (", t->type,
                     ") is gone, another may be in its place. Pass what changes as an argument, or "
                     "write to it in place")};
    if (!(t->type == captured[i].type))
      return {9, str("a tensor from outside is ", t->type, ", not ", captured[i].type)};
    if (t->wants_grad() != captured[i].wants_grad)
      return {10, "a tensor from outside changed its requires_grad"};
  }
  for (const auto& g : recording.guards)
    if ((grad_of(g, args) != nullptr) != g.defined)
      return {11, str("a leaf ", g.defined ? "has no gradient any more" : "has a gradient now")};
  for (const auto& g : recording.grad_inputs) {
    const Tensor* grad = grad_of(g, args);
    if (grad && !(grad->impl()->type == g.type))
      return {11, str("a gradient is ", grad->impl()->type, ", not ", g.type)};
    if (grad && grad->impl()->wants_grad()) return {11, "a gradient has a history"};
  }
  for (const auto& h : recording.hooks)
    if (hooks_changed(h, args)) return {11, "a hook of a leaf was added or removed"};
  for (const auto& f : recording.flags)
    if (*f.flag != f.value)
      return {12,
              "something that the function reads changed: training mode, what a container holds, "
              "or an optimiser's groups"};
  for (const auto& l : recording.lists)
    if (list_changed(l)) return {12, "an optimiser has other parameters"};
  return {13, "nothing changed"};
}

/// What the results of a call remember.
class CompiledBackward final : public CustomBackward {
 public:
  CompiledBackward(std::shared_ptr<const Variant> variant, ArrayRef<Tensor> inputs)
      : v_(std::move(variant)) {
    const Recording& r = v_->recording;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Tensor& t = inputs[i];
      const bool held = i >= r.n_args && r.graph.captured[i - r.n_args].defined();
      inputs_.push_back({held ? Tensor() : t, t.defined() ? t.impl()->version() : 0});
    }
  }
  void keep(std::vector<Tensor> values) { kept_ = std::move(values); }
  std::string name() const override { return "CompiledBackward"; }
  void release() override {
    kept_.clear();
    inputs_.clear();
    released_ = true;
  }
  std::vector<Tensor> run(const Node&, std::vector<Tensor> grads, const bool*) override {
    TANDEM_CHECK(
        !released_,
        "backward of a compiled function: Trying to backward through the graph a second time (or "
        "directly access saved tensors after they have already been freed). Specify "
        "retain_graph=true if you need to backward through the graph a second time.");
    const bool again = t_mode.grad || t_mode.recorder || v_->recording.by_hand;
    return again ? run_again(grads) : run_program(grads);
  }

 private:
  struct Input {
    Tensor tensor;  // undefined where the variant holds it
    uint32_t version;
  };

  /// Undefined where the function was called without it.
  const Tensor& tensor_of(size_t i) const {
    const Recording& r = v_->recording;
    const bool held = !inputs_[i].tensor.defined() && i >= r.n_args;
    return held ? r.graph.captured[i - r.n_args] : inputs_[i].tensor;
  }

  const Tensor& input(size_t i) const {
    const Tensor& tensor = tensor_of(i);
    const TensorImpl* t = tensor.impl();
    const uint32_t version = inputs_[i].version;
    if (t->version() != version) {
      const char* writer = t->storage->last_writer.load(std::memory_order_relaxed);
      TANDEM_CHECK(false,
                   "backward of a compiled function: one of the variables needed for gradient "
                   "computation has been modified by an inplace operation: input ",
                   i, " (", t->type, ") was read at version ", version, ", and ",
                   writer ? writer : "something", "_ has overwritten it since (version ",
                   t->version(), " now). Use the out-of-place form, or clone() first.");
    }
    return tensor;
  }

  std::vector<Tensor> run_program(const std::vector<Tensor>& grads) const {
    std::vector<bool> given;
    for (const Tensor& g : grads) given.push_back(g.defined());
    const bool all = std::find(given.begin(), given.end(), false) == given.end();
    const Variant::Part* part = all ? nullptr : &v_->part_of_backward(given);
    std::vector<Tensor> in;
    for (const auto& r : v_->parts.reads) switch (r.from) {
        case ForwardBackward::Read::From::kept:
          in.push_back(kept_[r.index]);
          break;
        case ForwardBackward::Read::From::input:
          in.push_back(laid_out(v_->recording, r.index, input(r.index)));
          break;
        case ForwardBackward::Read::From::grad:
          in.push_back(grads[r.index]);
          break;
      }
    const Program* program = part ? part->program.get() : v_->backward.get();
    std::vector<Tensor> gradients = program ? program->run(in) : std::vector<Tensor>();
    std::vector<Tensor> by_source;
    size_t next = 0, k = 0;
    for (const auto& s : v_->recording.sources) {
      const bool exists = s.gradient >= 0 && (!part || part->exists[k]);
      k += s.gradient >= 0;
      by_source.push_back(exists ? std::move(gradients[next++]) : Tensor());
    }
    return by_source;
  }

  // A gradient that is to be differentiated again: the call once more, op by op, with its record.
  std::vector<Tensor> run_again(const std::vector<Tensor>& grads) const {
    const bool again = t_mode.grad;
    const AutoGradMode with_grad(true);
    const Recording& r = v_->recording;
    TANDEM_CHECK(
        r.graph.writes.empty(),
        "backward of a compiled function: it writes to tensors from outside, so its "
        "gradient cannot be differentiated again. Take that gradient inside the function.");
    TANDEM_CHECK(!r.has_own_gradients,
                 "backward of a compiled function: it holds a hook or a custom Function, so its "
                 "gradient cannot be ",
                 again ? "differentiated again" : "found after the call",
                 ". Take that gradient inside the function.");
    // Values of their own: nothing flows from one input to another that it was computed from.
    std::vector<Tensor> in;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      in.push_back(tensor_of(i).defined() ? input(i) : Tensor());
      if (in[i].defined() && in[i].requires_grad())
        in[i] = again ? in[i].alias() : in[i].detach().set_requires_grad(true);
    }
    variable_list outputs, targets;
    for (const auto& s : r.sources)
      targets.push_back(in[s.argument >= 0 ? static_cast<size_t>(s.argument)
                                           : r.n_args + captured_number(s.captured)]);
    for (size_t i = 0; i < r.order.size(); ++i)
      if (in[i].defined() && !r.order[i].empty()) in[i] = in[i].permute(r.order[i]);
    const std::vector<Tensor> values = v_->replay().run(in);
    variable_list given;
    for (size_t k = 0; k < grads.size(); ++k) {
      if (!grads[k].defined()) continue;
      const auto result = static_cast<size_t>(r.differentiated[k]);
      const Tensor& value = values[static_cast<size_t>(r.result[result])];
      if (!value.requires_grad()) continue;
      outputs.push_back(value);
      given.push_back(grads[k]);
    }
    if (outputs.empty()) return std::vector<Tensor>(targets.size());
    return autograd::grad(outputs, targets, given, again, again, /*allow_unused=*/true);
  }

  // Which captured tensor a source is.
  size_t captured_number(const Tensor& source) const {
    const auto& captured = v_->recording.graph.captured;
    for (size_t i = 0; i < captured.size(); ++i)
      if (captured[i].is_same(source)) return i;
    TANDEM_CHECK(
        false,
        "backward of a compiled function: it reads a view of a tensor from outside, so its "
        "gradient cannot be differentiated again. Take the view inside the function.");
    return 0;
  }

  std::shared_ptr<const Variant> v_;
  std::vector<Input> inputs_;
  std::vector<Tensor> kept_;
  bool released_ = false;
};

template <class G>
void set_grad(const G& g, const Args& args, Tensor grad) {
  Node* leaf = g.leaf.get();
  if (g.argument >= 0) leaf = &args[static_cast<size_t>(g.argument)].impl()->leaf_node();
  NodeExtra& extra = leaf->need_extra();
  std::lock_guard lock(extra.mutex);
  extra.grads[0] = std::move(grad);
}

/// What the program is called with: arguments, captured tensors and, among them, gradients that
/// leaves have now or are to have.
using Values = SmallVector<Tensor, 8>;

Values inputs_of(const Recording& r, const Args& args) {
  Values inputs;
  inputs.reserve(args.size() + r.graph.captured.size());
  for (const Tensor& t : args) inputs.push_back(t);
  for (const Tensor& t : r.graph.captured) inputs.push_back(t);
  for (const auto& g : r.grad_inputs) {
    const Tensor* grad = grad_of(g, args);
    inputs[args.size() + g.captured] = grad ? *grad : Tensor(TensorImpl::make(g.type));
  }
  return inputs;
}

void leave_gradients(const Recording& r, const Args& args, const Values& inputs,
                     const Values& results) {
  for (const auto& g : r.grad_inputs)
    if (!grad_of(g, args)) set_grad(g, args, inputs[args.size() + g.captured]);
  for (const auto& c : r.grads)
    set_grad(c, args, c.result >= 0 ? results[static_cast<size_t>(c.result)] : Tensor());
}

NodePtr backward_node(const Variant& v, const Args& args,
                      std::unique_ptr<CompiledBackward> custom) {
  const Recording& r = v.recording;
  NodePtr node = Node::make(kCustom, r.sources.size(), r.differentiated.size(), 0, {});
  for (size_t i = 0; i < r.sources.size(); ++i) {
    const Tensor& t = r.sources[i].argument >= 0 ? args[static_cast<size_t>(r.sources[i].argument)]
                                                 : r.sources[i].captured;
    if (t.impl()->wants_grad()) node->inputs()[i] = t.impl()->grad_edge();
  }
  node->need_extra().custom = std::move(custom);
  return node;
}

/// What the recorder refuses, with the tensors of a later call: memory that is written and reached
/// in two ways, or by several elements at once. Values of the plan are those of before the writes.
void check_writes(const Recording& r, const Args& args) {
  const auto storage_of = [&](size_t input) -> const Storage* {
    const Tensor& t = input < args.size() ? args[input] : r.graph.captured[input - args.size()];
    return t.defined() ? t.impl()->storage.get() : nullptr;
  };
  const auto check = [](bool apart) {
    TANDEM_CHECK(apart,
                 "compile: the function writes in place to memory that it reaches in two ways, as "
                 "an argument and as another argument or a tensor from outside. Pass it only once, "
                 "or clone() one of them.");
  };
  for (const Graph::Write& w : r.graph.writes) {
    const Storage* written = storage_of(w.input);
    if (!written) continue;
    for (size_t i = 0; i < args.size(); ++i) check(i == w.input || storage_of(i) != written);
    if (w.input >= args.size()) continue;
    for (size_t i = args.size(); i < args.size() + r.graph.captured.size(); ++i)
      check(storage_of(i) != written);
    const TensorImpl* t = args[w.input].impl();
    for (size_t d = 0; d < t->strides.size() && !t->contiguous && t->numel > 0; ++d)
      TANDEM_CHECK(t->strides[d] != 0 || t->type.sizes[d] <= 1,
                   "compile: the function writes to argument ", w.input,
                   ", of which more than one element refers to a single memory location. "
                   "Please clone() it before.");
  }
}

/// What the function returned as its result k.
Tensor result_of(const Recording& r, size_t k, const Args& args, ArrayRef<Tensor> arguments,
                 ArrayRef<Tensor> captured, const Values& all) {
  if (r.result[k] < 0) return {};
  const auto& view = r.view_of[k];
  const auto shown = [&](const Tensor& base) {
    return view.chain.last ? view.chain.apply_to(base) : Tensor(base.impl()->alias());
  };
  if (view.base >= 0) return shown(all[static_cast<size_t>(view.base)]);
  if (view.input >= 0) {
    const auto input = static_cast<size_t>(view.input);
    const Tensor& base = input < args.size() ? arguments[input] : captured[input - args.size()];
    if (base.defined() && !base.impl()->wants_grad()) return shown(base);
  }
  if (const int64_t i = r.same_as[k]; i >= 0) {
    const auto input = static_cast<size_t>(i);
    const Tensor& same = input < args.size() ? args[input] : captured[input - args.size()];
    if (same.defined()) return same;
  }
  return all[static_cast<size_t>(r.result[k])];
}

Args run(const Variant& v, const Args& args) {
  const Recording& r = v.recording;
  ArrayRef<Tensor> arguments(args.data(), args.size()), captured(r.graph.captured);
  std::unique_ptr<CompiledBackward> custom;
  const bool differentiable = v.backward || r.by_hand;
  if (!args.empty() && !r.graph.writes.empty()) check_writes(r, args);
  Values inputs;  // empty where they are taken as they are
  if (differentiable || !r.grad_inputs.empty()) {
    inputs = inputs_of(r, args);
    const ArrayRef<Tensor> all_inputs(inputs.data(), inputs.size());
    arguments = all_inputs.slice(0, args.size());
    captured = all_inputs.slice(args.size(), inputs.size() - args.size());
    if (differentiable)
      custom = std::make_unique<CompiledBackward>(v.shared_from_this(), all_inputs);
  }
  // As in eager, gradients that the function throws away make room for new ones.
  for (const auto& c : r.grads)
    if (c.discards && grad_of(c, args)) set_grad(c, args, Tensor());
  Values laid;
  if (v.reorders) {
    for (size_t i = 0; i < args.size(); ++i) laid.push_back(laid_out(r, i, args[i]));
    arguments = {laid.data(), laid.size()};
  }
  Values all;
  all.resize(v.program->n_results());
  v.program->run(arguments, captured, all.data());
  leave_gradients(r, args, inputs, all);
  for (const auto& f : r.flags_set) *f.flag = f.value;
  Args results;
  for (size_t k = 0; k < r.result.size(); ++k)
    results.push_back(result_of(r, k, args, arguments, captured, all));
  if (!differentiable) return results;
  custom->keep({all.end() - static_cast<ptrdiff_t>(v.parts.n_kept), all.end()});
  const NodePtr node = backward_node(v, args, std::move(custom));
  for (size_t k = 0; k < r.differentiated.size(); ++k) {
    TensorImpl* t = results[static_cast<size_t>(r.differentiated[k])].impl();
    node->outputs()[k] = t->type;
    t->edge = {node, static_cast<uint32_t>(k)};
  }
  return results;
}

}  // namespace

struct CompiledFunction::Impl {
  explicit Impl(CompileOptions o) : options(o) {}

  CompileOptions options;
  std::mutex recording;  // held while a new graph is made
  // Found without a lock: variants are only ever added, and live until the function does.
  std::atomic<Variant*> newest{nullptr}, latest{nullptr};
  std::vector<std::shared_ptr<Variant>> all;
  size_t forgotten = 0;  // variants of before the last reset(), at the front of `all`
  bool warned = false;   // that no more graphs are made

  Variant* find(const Args& args, const structure::Key& key) const {
    Variant* v = latest.load(std::memory_order_acquire);
    if (v && v->fits(args, key)) return v;
    for (v = newest.load(std::memory_order_acquire); v; v = v->older)
      if (v->fits(args, key)) return v;
    return nullptr;
  }

  Variant* add(const Args& args, const structure::Key& key, const Body& body);
  void release_others();
};

namespace {

void copy_values(const Tensor& from, const Tensor& to) {
  const NoGradGuard no_grad;
  to.detach().copy_(from.detach());
}

// What a call changes beside its results: the tensors that it writes and the gradients that it
// leaves. Values are copies.
struct State {
  std::vector<Tensor> written;  // by Graph::writes, then by Recording::grad_inputs
  std::vector<Tensor> places;   // by Recording::grad_inputs: the gradients themselves
  std::vector<Tensor> grads;    // by Recording::grads
  std::vector<bool> flags;      // by Recording::flags_set
};

/// The tensor that is written; undefined for gradients, which are looked at by leaf.
Tensor written_tensor(const Recording& r, const Graph::Write& w, const Args& args) {
  return w.input < r.n_args ? args[w.input] : r.graph.captured[w.input - r.n_args];
}

State state_of(const Recording& r, const Args& args) {
  const auto copy = [](const Tensor& t) { return t.defined() ? t.detach().clone() : Tensor(); };
  State s;
  for (const auto& w : r.graph.writes) s.written.push_back(copy(written_tensor(r, w, args)));
  for (const auto& g : r.grad_inputs) {
    const Tensor* grad = grad_of(g, args);
    s.places.push_back(grad ? *grad : Tensor());
    s.written.push_back(copy(s.places.back()));
  }
  for (const auto& c : r.grads) {
    const Tensor* grad = grad_of(c, args);
    s.grads.push_back(grad ? *grad : Tensor());
  }
  for (const auto& f : r.flags_set) s.flags.push_back(*f.flag);
  return s;
}

void restore(const State& s, const Recording& r, const Args& args) {
  const size_t n = r.graph.writes.size();
  for (size_t i = 0; i < n; ++i)
    if (s.written[i].defined())
      copy_values(s.written[i], written_tensor(r, r.graph.writes[i], args));
  for (size_t i = 0; i < s.places.size(); ++i) {
    if (s.places[i].defined()) copy_values(s.written[n + i], s.places[i]);
    set_grad(r.grad_inputs[i], args, s.places[i]);
  }
  for (size_t i = 0; i < s.grads.size(); ++i) set_grad(r.grads[i], args, s.grads[i]);
  for (size_t i = 0; i < s.flags.size(); ++i) *r.flags_set[i].flag = s.flags[i];
}

void compare(const Tensor& compiled, const Tensor& eager, const char* what, size_t i,
             const CompileOptions& o) {
  TANDEM_CHECK(compiled.defined() == eager.defined(), "compile (verify): ", what, " ", i, " is ",
               compiled.defined() ? "defined" : "undefined", " compiled but not so eager");
  if (!compiled.defined()) return;
  const NoGradGuard no_grad;
  const Tensor a = compiled.detach(), b = eager.detach();
  TANDEM_CHECK(a.type_of() == b.type_of(), "compile (verify): ", what, " ", i, " is ", a.type_of(),
               " compiled and ", b.type_of(), " eager");
  if (allclose(a.to(kDouble), b.to(kDouble), o.verify_rtol, o.verify_atol, /*equal_nan=*/true))
    return;
  const Tensor difference = (a.to(kDouble) - b.to(kDouble)).abs();
  TANDEM_CHECK(false, "compile (verify): ", what, " ", i, " (", a.type_of(),
               ") differs between compiled and eager by up to ", difference.max().item<double>(),
               " where eager has values up to ", b.to(kDouble).abs().max().item<double>());
}

// The compiled call, everything put back, the eager call, and a comparison of both.
Args verified(const Variant& v, const Args& args, const CompiledFunction::Body& body,
              std::shared_ptr<const void>* like, const CompileOptions& options) {
  const Recording& r = v.recording;
  const State before = state_of(r, args);
  const Args compiled = run(v, args);
  const State after = state_of(r, args);
  restore(before, r, args);
  const std::vector<Tensor> eager = body({args.data(), args.size()}, like);
  const State wanted = state_of(r, args);
  for (size_t i = 0; i < eager.size(); ++i) compare(compiled[i], eager[i], "result", i, options);
  for (size_t i = 0; i < after.written.size(); ++i)
    compare(after.written[i], wanted.written[i], "written tensor", i, options);
  for (size_t i = 0; i < after.grads.size(); ++i)
    compare(after.grads[i], wanted.grads[i], "gradient", i, options);
  return {eager.begin(), eager.end()};
}

bool is_declared(const Tensor& t) {
  if (!t.defined() || !t.impl()->is_pending()) return false;
  const Recorder* r = t.impl()->storage->pending.load(std::memory_order_acquire);
  return r && r->follows();
}

}  // namespace

/// A first step, which finds no gradients yet, is seldom run again, and its plan's memory is as
/// large as that of all later ones: a function that gets another graph gives back what its others
/// keep.
void CompiledFunction::Impl::release_others() {
  constexpr int64_t kMuch = 16 << 20;
  int64_t bytes = 0;
  for (const auto& v : all) bytes += v->release_idle();
  if (bytes > kMuch) memory::trim();
}

Variant* CompiledFunction::Impl::add(const Args& args, const structure::Key& key,
                                     const Body& body) {
  const std::lock_guard lock(recording);
  if (Variant* v = find(args, key)) return v;  // another thread was faster
  if (all.size() - forgotten >= options.max_graphs) {
    if (!std::exchange(warned, true))
      TANDEM_WARN(
          "compile: ", options.max_graphs,
          " graphs were made for one function (CompileOptions::max_graphs). Calls that need "
          "another one run eager. explain() says why each was made.");
    return nullptr;
  }
  release_others();
  auto v = std::make_shared<Variant>();
  // Told by what the graph that is most alike has otherwise.
  Variant::Mismatch why{-1, "the first call"};
  for (size_t i = forgotten; i < all.size(); ++i)
    if (Variant::Mismatch m = all[i]->mismatch(args, key); m.rank > why.rank) why = std::move(m);
  v->reason = std::move(why.words);
  v->signature.key = key;
  for (const Tensor& a : args) v->signature.args.push_back(Signature::describe(a));
  v->signature.grad = t_mode.grad;
  v->signature.inference = t_mode.inference;
  v->signature.default_dtype = get_default_dtype();
  const TensorFunction function = [&](const variable_list& in) { return body(in, &v->like); };
  v->recording = record(function, {args.data(), args.size()},
                        {.backward = true, .later_grads = true, .layouts = true});
  Recording& r = v->recording;
  for (const Tensor& t : r.graph.captured)
    TANDEM_CHECK(!is_declared(t), "compile: the function takes a declared tensor (", t.impl()->type,
                 ") from outside, which has no values of its own. Pass it as an "
                 "argument: then what the function does becomes a part of the declared graph.");
  v->reorders =
      std::any_of(r.order.begin(), r.order.end(), [](const Dims& o) { return !o.empty(); });
  if (r.sources.empty() || r.differentiated.empty() || r.by_hand) {
    // Where nothing is written and no gradient is left, weights stay as they are for many calls.
    const bool inference = !r.by_hand && r.grads.empty() && r.graph.writes.empty();
    v->program = std::make_shared<Program>(r.graph, inference);
  } else {
    v->parts = cut(r);
    v->program = std::make_shared<Program>(v->parts.forward);
    v->backward = std::make_shared<Program>(v->parts.backward);
    r.graph = std::move(v->parts.forward);
  }
  for (size_t i = 0; i < args.size(); ++i)
    if (v->signature.args[i].leaf) v->signature.args[i].same_leaf = v->same_leaf(args, i);
  v->note_captured();
  v->older = newest.load(std::memory_order_relaxed);
  all.push_back(v);
  newest.store(v.get(), std::memory_order_release);
  return v.get();
}

CompiledFunction::CompiledFunction(CompileOptions options)
    : impl_(std::make_unique<Impl>(options)) {
  runtime::prepare();
}
CompiledFunction::~CompiledFunction() = default;

bool CompiledFunction::is_inlined() { return t_mode.recorder != nullptr; }

Args CompiledFunction::call(const Args& args, const structure::Key& key, const Body& body,
                            std::shared_ptr<const void>* like) {
  Variant* v = impl_->find(args, key);
  const bool as_it_is = !v && std::any_of(args.begin(), args.end(), is_declared);
  std::optional<runtime::Pause> first_call;
  if (!v && !as_it_is) {
    first_call.emplace();
    v = impl_->add(args, key, body);
  }
  if (!v) {  // or too many graphs
    const std::vector<Tensor> results = body({args.data(), args.size()}, like);
    return {results.begin(), results.end()};
  }
  impl_->latest.store(v, std::memory_order_release);
  v->calls.fetch_add(1, std::memory_order_relaxed);
  if (like) *like = v->like;
  if (impl_->options.verify) return verified(*v, args, body, like, impl_->options);
  return run(*v, args);
}

void CompiledFunction::explain(std::ostream& out) const {
  const std::lock_guard lock(impl_->recording);
  const size_t n = impl_->all.size() - impl_->forgotten;
  out << "compiled function: " << n << (n == 1 ? " graph" : " graphs") << '\n';
  for (size_t i = 0; i < n; ++i) {
    const Variant& v = *impl_->all[impl_->forgotten + i];
    const Recording& r = v.recording;
    out << "graph " << i << ", made because: " << v.reason << '\n' << "  arguments:";
    for (const auto& a : v.signature.args) out << "  " << a.type;
    out << "\n  tensors from outside: " << r.graph.captured.size() << " read, "
        << r.graph.writes.size() << " written; gradients left: " << r.grads.size()
        << "; recorded ops: " << r.graph.nodes.size() << "; calls: " << v.calls << '\n';
    for (const std::string& op : r.one_by_one)
      out << "  vmap runs " << op << " one sample after the other: it has no batching rule\n";
    v.program->explain(out);
    if (v.backward) {
      out << "  gradient of graph " << i << ": keeps " << v.parts.n_kept << " values of the call\n";
      v.backward->explain(out);
    }
  }
  if (n >= impl_->options.max_graphs)
    out << "no more graphs are made (CompileOptions::max_graphs): other calls run eager\n";
}

const Graph& CompiledFunction::graph() const {
  const Variant* v = impl_->latest.load(std::memory_order_acquire);
  TANDEM_CHECK(v, "graph: the compiled function has not been called yet");
  return v->recording.graph;
}

const Graph& CompiledFunction::optimised_graph() const {
  const Variant* v = impl_->latest.load(std::memory_order_acquire);
  TANDEM_CHECK(v, "optimised_graph: the compiled function has not been called yet");
  return v->program->graph();
}

size_t CompiledFunction::graph_count() const {
  const std::lock_guard lock(impl_->recording);
  return impl_->all.size() - impl_->forgotten;
}

void CompiledFunction::reset() {
  const std::lock_guard lock(impl_->recording);
  impl_->newest.store(nullptr, std::memory_order_release);
  impl_->latest.store(nullptr, std::memory_order_release);
  // Other threads may be looking at them: they stay until the function goes.
  impl_->forgotten = impl_->all.size();
}

}  // namespace tandem::detail
