#include "tandem/autograd/function.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>

#include "tandem/base/warning.h"
#include "tandem/core/apply.h"
#include "tandem/core/saved.h"
#include "tandem/ops/ops.h"

namespace tandem {

// -- IValue -----------------------------------------------------------------------------------

IValue::IValue(const Scalar& v) {
  if (v.isBoolean())
    value_ = v.toBool();
  else if (v.isFloatingPoint())
    value_ = v.toDouble();
  else
    value_ = v.toLong();
}

Scalar IValue::toScalar() const {
  if (isBool()) return toBool();
  if (isInt()) return toInt();
  return toDouble();
}

const char* IValue::kind(const Value& v) {
  static constexpr const char* kNames[] = {"None",   "Bool",    "Int",        "Double",    "String",
                                           "Tensor", "IntList", "DoubleList", "TensorList"};
  return kNames[v.index()];
}

const char* IValue::tagKind() const { return kind(value_); }

namespace autograd {
namespace {

// The last part of a type's name: "MyReLU" of "user::(anonymous namespace)::MyReLU".
std::string short_name(const std::type_info& type) {
  int status = 0;
  char* text = abi::__cxa_demangle(type.name(), nullptr, nullptr, &status);
  std::string name = status == 0 ? text : type.name();
  std::free(text);
  int depth = 0;
  for (size_t i = name.size(); i-- > 1;) {
    if (name[i] == '>' || name[i] == ')') ++depth;
    if (name[i] == '<' || name[i] == '(') --depth;
    if (depth == 0 && name[i] == ':') return name.substr(i + 1);
  }
  return name;
}

// Storages refer to the name of their last writer for ever.
const char* interned(const std::string& name) {
  static std::mutex mutex;
  static auto* names = new std::unordered_set<std::string>;
  std::lock_guard lock(mutex);
  return names->insert(name).first->c_str();
}

Tensor zeros_of(const TensorType& type) {
  return zeros(type.sizes, TensorOptions(type.dtype).device(type.device));
}

}  // namespace

// -- AutogradContext --------------------------------------------------------------------------

void AutogradContext::save_for_backward(variable_list to_save) { to_save_ = std::move(to_save); }

void AutogradContext::mark_dirty(const variable_list& inputs) {
  dirty_.clear();
  for (const Tensor& t : inputs) dirty_.insert(t.impl());
}

void AutogradContext::mark_non_differentiable(const variable_list& outputs) {
  non_differentiable_.clear();
  for (const Tensor& t : outputs) non_differentiable_.insert(t.impl());
}

bool AutogradContext::needs_input_grad(size_t i) const {
  return needed_ && i < n_needed_ && needed_[i];
}

bool AutogradContext::needs_input_grad(std::initializer_list<IndexRange> ranges) const {
  for (const IndexRange& range : ranges)
    for (size_t i = range.first; i < range.second; ++i)
      if (needs_input_grad(i)) return true;
  return false;
}

void AutogradContext::keep(const Node& node) {
  node_ = &node;
  for (const Tensor& t : to_save_) {
    SavedVariable& s = saved_.emplace_back();
    if (!t.defined()) continue;
    TANDEM_CHECK(!t.is_inference(), node.name(),
                 ": Inference tensors cannot be saved for backward. To work around you can make a "
                 "clone to get a normal tensor and use it in autograd.");
    s.version = t.impl()->version();
    s.values = values_of(t.impl());
    const Edge& e = t.impl()->edge;
    // An output owns the node; the node must not own the output.
    if (e.node.get() == &node)
      s.output = static_cast<int>(e.index);
    else if (t.impl()->wants_grad())
      s.history = t.impl()->grad_edge();
  }
  to_save_.clear();
}

variable_list AutogradContext::get_saved_variables() const {
  TANDEM_CHECK(
      !released_, node_->name(),
      ": Trying to backward through the graph a second time (or directly access saved tensors "
      "after they have already been freed). Specify retain_graph=true if you need to backward "
      "through the graph a second time.");
  variable_list list;
  for (size_t i = 0; i < saved_.size(); ++i) {
    const SavedVariable& s = saved_[i];
    if (!s.values) {
      list.emplace_back();
      continue;
    }
    if (s.values->version() != s.version) {
      const char* writer = s.values->storage->last_writer.load(std::memory_order_relaxed);
      TANDEM_CHECK(false, node_->name(),
                   ": one of the variables needed for gradient computation has been modified by an "
                   "inplace operation: saved variable ",
                   i, " (", s.values->type, ") was saved at version ", s.version, ", and ",
                   writer ? writer : "something", "_ has overwritten it since (version ",
                   s.values->version(), " now). Use the out-of-place form, or clone() first.");
    }
    Edge history = s.history;
    if (s.output >= 0 && t_mode.grad)
      history = {NodePtr(const_cast<Node*>(node_)), static_cast<uint32_t>(s.output)};
    list.push_back(with_history(s.values.get(), history));
  }
  return list;
}

namespace detail {

// -- backward ---------------------------------------------------------------------------------

FunctionNode::FunctionNode(const std::type_info& type) : function(short_name(type)) {}

void FunctionNode::release() {
  ctx.saved_.clear();
  ctx.released_ = true;
}

std::vector<Tensor> FunctionNode::run(const Node& node, std::vector<Tensor> grads,
                                      const bool* needed) {
  if (ctx.materialize_grads_)
    for (size_t k = 0; k < grads.size(); ++k)
      if (!grads[k].defined() && node.outputs()[k].dtype != DType::Undefined)
        grads[k] = zeros_of(node.outputs()[k]);
  // Put back at the end: backward may call backward and come here again.
  struct Needed {
    AutogradContext& ctx;
    const bool* before;
    ~Needed() { ctx.needed_ = before; }
  } scope{ctx, std::exchange(ctx.needed_, needed)};
  ctx.n_needed_ = node.n_inputs;
  variable_list result = backward(std::move(grads));

  // More than asked for is fine if undefined; less is if what lacks is of no use anyway.
  while (result.size() > is_tensor.size() && !result.back().defined()) result.pop_back();
  const size_t given = result.size();
  result.resize(std::max(given, is_tensor.size()));
  std::vector<Tensor> by_tensor;
  for (size_t i = 0; i < is_tensor.size(); ++i) {
    if (is_tensor[i]) {
      TANDEM_CHECK(i < given || !needed[by_tensor.size()], "function ", name(),
                   " returned an incorrect number of gradients (expected ", is_tensor.size(),
                   ", got ", given, ")");
      by_tensor.push_back(std::move(result[i]));
    } else {
      TANDEM_CHECK(!result[i].defined(), "function ", name(),
                   " returned a gradient that is defined at position ", i,
                   ", but the corresponding forward input was not a Variable");
    }
  }
  TANDEM_CHECK(result.size() == is_tensor.size(), "function ", name(),
               " returned an incorrect number of gradients (expected ", is_tensor.size(), ", got ",
               given, ")");
  return by_tensor;
}

// -- forward ----------------------------------------------------------------------------------

void FunctionCall::add(const Tensor& t) {
  function_->is_tensor.push_back(true);
  inputs_.push_back(t);
}

AutogradContext* FunctionCall::begin() {
  const size_t n = inputs_.size();
  needed_ = std::make_unique<bool[]>(n);
  edges_.resize(n);
  for (size_t i = 0; i < n; ++i) {
    if (!GradMode::is_enabled() || InferenceMode::is_enabled() || !inputs_[i].defined()) continue;
    needed_[i] = inputs_[i].requires_grad();
    if (needed_[i]) edges_[i] = inputs_[i].impl()->grad_edge();
    record_ |= needed_[i];
  }
  function_->ctx.needed_ = needed_.get();
  function_->ctx.n_needed_ = n;
  return &function_->ctx;
}

bool FunctionCall::is_input(const TensorImpl* t) const {
  return std::any_of(inputs_.begin(), inputs_.end(),
                     [&](const Tensor& i) { return i.impl() == t; });
}

variable_list FunctionCall::finish(variable_list outputs) {
  AutogradContext& ctx = function_->ctx;
  const std::string name = function_->function;
  ctx.needed_ = nullptr;
  for (const TensorImpl* t : ctx.dirty_) {
    const bool returned =
        std::any_of(outputs.begin(), outputs.end(), [&](const Tensor& o) { return o.impl() == t; });
    TANDEM_CHECK(
        returned, name,
        ": Some elements marked as dirty during the forward method were not returned as "
        "output. The inputs that are modified inplace must all be outputs of the Function.");
    const_cast<TensorImpl*>(t)->bump(interned(name));
  }
  if (!record_) {
    for (Tensor& out : outputs)
      if (out.defined() && is_input(out.impl()) && !ctx.dirty_.contains(out.impl()) &&
          out.requires_grad())
        out = out.detach();
    return outputs;
  }

  NodePtr node = Node::make(kCustom, inputs_.size(), outputs.size(), 0, {});
  std::move(edges_.begin(), edges_.end(), node->inputs());
  node->need_extra().custom = std::move(function_);
  for (size_t k = 0; k < outputs.size(); ++k)
    if (outputs[k].defined()) node->outputs()[k] = outputs[k].type_of();
  if (t_mode.anomaly) {
    std::string text = name + "(";
    for (size_t i = 0; i < inputs_.size(); ++i)
      text += str(i ? ", " : "", inputs_[i].defined() ? str(inputs_[i].type_of()) : "undefined");
    node->describe(text + ")");
  }
  for (const TensorImpl* t : ctx.dirty_)
    check_history_rebinds(name.c_str(), const_cast<TensorImpl*>(t));
  for (size_t k = 0; k < outputs.size(); ++k)
    if (outputs[k].defined()) attach(node, static_cast<uint32_t>(k), outputs[k]);
  ctx.keep(*node);
  return outputs;
}

// Lets output k remember the node.
void FunctionCall::attach(const NodePtr& node, uint32_t k, Tensor& out) {
  AutogradContext& ctx = static_cast<FunctionNode&>(*node->extra->custom).ctx;
  TensorImpl* t = out.impl();
  const bool input = is_input(t), dirty = ctx.dirty_.contains(t);
  if (!is_floating(t->type.dtype) || ctx.non_differentiable_.contains(t)) {
    if (!out.requires_grad()) return;
    if (input || t->requires_grad)
      out = out.detach();
    else if (!out.is_view())
      out.detach_();
    return;
  }
  if (dirty) {
    if (!input)
      TANDEM_WARN(
          "Only input Tensors should be given to ctx.mark_dirty(). If a Tensor is not an input, "
          "there is "
          "no need to pass it to mark_dirty().");
    rebase_history(t, {node, k});
    return;
  }
  // An input or someone's parameter returned as it is: a new handle carries the history of this
  // call.
  if (input || t->requires_grad) {
    out = Tensor(t->alias());
    ViewInfo* view = out.impl()->view = new ViewInfo;
    view->base = t->view ? t->view->base : intrusive_ptr<TensorImpl>(t);
    if (t->view) view->last = t->view->last;
    t = out.impl();
  }
  if (t->view) {
    t->view->creation = CreationMeta::IN_CUSTOM_FUNCTION;
    t->view->version.store(t->version(), std::memory_order_relaxed);
  }
  t->edge = {node, k};
}

}  // namespace detail

// -- UndefinedGrad ----------------------------------------------------------------------------

namespace {

struct Undefined : Function<Undefined> {
  static variable_list forward(AutogradContext*, TensorList inputs) {
    variable_list copies;
    for (const Tensor& t : inputs) copies.push_back(t.defined() ? t.clone() : Tensor());
    return copies;
  }
  static variable_list backward(AutogradContext*, variable_list grads) {
    return variable_list(grads.size());
  }
};

}  // namespace

variable_list UndefinedGrad::apply(variable_list inputs) const {
  return Undefined::apply(TensorList(inputs));
}

}  // namespace autograd
}  // namespace tandem
