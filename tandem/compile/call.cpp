#include "tandem/compile/call.h"

#include <algorithm>

#include "tandem/autograd/autograd.h"
#include "tandem/core/node_extra.h"
#include "tandem/ops/ops.h"

namespace tandem::detail {
namespace {

/// True iff a tensor that the function writes is remembered as it was before: the counter of random
/// numbers is, so that the same can be drawn again.
bool is_kept(const Tensor& written) { return written.numel() <= 16 && !written.requires_grad(); }

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
    const EagerScope now;
    for (const uint32_t i : v_->overwritten())
      if (is_kept(inputs[i])) inputs_[i] = {inputs[i].clone(), 0};
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
    for (const auto& r : v_->halves.reads) switch (r.from) {
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
    for (const uint32_t i : v_->overwritten())
      TANDEM_CHECK(is_kept(tensor_of(i)),
                   "backward of a compiled function: its results depend on what a tensor (",
                   tensor_of(i).type_of(),
                   ") was before the function wrote to it, so their gradient cannot be ",
                   again ? "differentiated again" : "found after the call",
                   ". Take that gradient inside the function, or read a clone() of the tensor.");
    TANDEM_CHECK(!r.has_own_gradients,
                 "backward of a compiled function: it holds a hook or a custom Function, so its "
                 "gradient cannot be ",
                 again ? "differentiated again" : "found after the call",
                 ". Take that gradient inside the function.");
    // Values of their own: nothing flows from one input to another that it was computed from.
    std::vector<Tensor> in;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      in.push_back(!tensor_of(i).defined() ? Tensor() : is_written(i) ? tensor_of(i) : input(i));
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
      TANDEM_ASSERT(values[k].requires_grad(), "result ", r.differentiated[k],
                    " has lost its history");
      outputs.push_back(values[k]);
      given.push_back(grads[k]);
    }
    if (outputs.empty()) return std::vector<Tensor>(targets.size());
    return autograd::grad(outputs, targets, given, again, again, /*allow_unused=*/true);
  }

  bool is_written(size_t i) const {
    const auto& writes = v_->recording.graph.writes;
    return std::any_of(writes.begin(), writes.end(), [&](const auto& w) { return w.input == i; });
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
  const auto check = [](bool apart) { TANDEM_CHECK(apart, kReachedTwice); };
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

}  // namespace

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
  custom->keep({all.end() - static_cast<ptrdiff_t>(v.halves.n_kept), all.end()});
  const NodePtr node = backward_node(v, args, std::move(custom));
  for (size_t k = 0; k < r.differentiated.size(); ++k) {
    TensorImpl* t = results[static_cast<size_t>(r.differentiated[k])].impl();
    node->outputs()[k] = t->type;
    t->edge = {node, static_cast<uint32_t>(k)};
  }
  return results;
}

}  // namespace tandem::detail
