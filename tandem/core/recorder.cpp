#include "tandem/core/recorder.h"

#include <algorithm>
#include <atomic>

#include "tandem/core/node_extra.h"

namespace tandem {
namespace {

// True iff the tensor, seen as the base of others, reaches everything that its storage holds.
bool spans_storage(const TensorImpl* t) {
  return t->offset == 0 && t->contiguous &&
         t->numel * static_cast<int64_t>(size_of(t->type.dtype)) == t->storage->nbytes;
}

// The whole storage as one row: the base of tensors whose own base is not known.
intrusive_ptr<TensorImpl> whole_storage(TensorImpl* t) {
  auto flat = t->alias();
  const int64_t size = static_cast<int64_t>(size_of(t->type.dtype));
  flat->type.sizes = {t->storage->nbytes / size};
  flat->strides = {1};
  flat->numel = t->storage->nbytes / size;
  flat->offset = 0;
  flat->data = t->storage->data;
  flat->contiguous = true;
  return flat;
}

// Stands for recorders that are no more.
class Gone final : public Recorder {
 public:
  void look(TensorImpl* t, const char* call) override {
    TANDEM_CHECK(false, call, ": this tensor (", t->type,
                 ") was made while a function was being recorded and has no values of its own. "
                 "Return it from the function to get its values.");
  }
  void look(const OpDef& op) override {
    TANDEM_CHECK(false, op.name, ": an argument was made while a function was being recorded");
  }
};

Recorder& gone() {
  static auto* recorder = new Gone;  // tensors may outlive everything
  return *recorder;
}

}  // namespace

Recorder::Recorder() {
  static std::atomic<uint32_t> next{1};
  do id_ = next.fetch_add(1, std::memory_order_relaxed);
  while (id_ == 0);
}

Recorder::~Recorder() { release_bindings(); }

void Recorder::release_bindings() {
  for (auto& [storage, binding] : bindings_)
    if (storage->pending.load(std::memory_order_relaxed) == this)
      storage->pending.store(binding.captured >= 0 ? nullptr : &gone(), std::memory_order_release);
  bindings_.clear();
  views_made_.clear();
  views_of_outside_.clear();
  aliases_.clear();
}

Node& Recorder::add(const OpDef& op, ArrayRef<TensorImpl*> inputs, AttrRef attrs) {
  make_room();
  SmallVector<Edge, 4> edges;
  for (TensorImpl* t : inputs) edges.push_back(value_of(t));
  return append(graph_, op, {edges.data(), edges.size()}, attrs);
}

Tensor Recorder::bind(const Edge& value) {
  auto t = intrusive_ptr<TensorImpl>::adopt(TensorImpl::blank());
  t->type = value.node->outputs()[value.index];
  t->type.weak = false;
  t->allocate_pending(this);
  Binding b;
  b.storage = t->storage;
  b.base = t->type;
  b.value = value;
  order_.push_back(t->storage.get());
  bindings_.emplace(t->storage.get(), std::move(b));
  return Tensor(std::move(t));
}

Tensor Recorder::placeholder(const TensorType& type, std::string name) {
  Node& node = append(graph_, kInputOp, {},
                      InputAttrs{static_cast<int64_t>(arguments_.size()), std::move(name), type});
  arguments_.push_back(NodePtr(&node));
  Tensor t = bind({NodePtr(&node), 0});
  bindings_.at(t.impl()->storage.get()).argument = static_cast<int64_t>(arguments_.size()) - 1;
  return t;
}

bool Recorder::shows_all(const TensorImpl* t, const Binding& b) {
  return t->offset == 0 && t->type.dtype == b.base.dtype && t->type.sizes == b.base.sizes &&
         (b.strides.empty() ? t->contiguous : t->strides == b.strides);
}

Recorder::Binding& Recorder::binding(TensorImpl* t) {
  Storage* s = t->storage.get();
  if (const auto found = bindings_.find(s); found != bindings_.end()) return found->second;
  capturing(*s);
  if (const auto found = bindings_.find(s); found != bindings_.end()) return found->second;
  Binding b = capture(t);
  order_.push_back(s);
  return bindings_.emplace(s, std::move(b)).first->second;
}

Recorder::Binding Recorder::capture(TensorImpl* t) {
  Storage* s = t->storage.get();
  TANDEM_CHECK(s->pending.load(std::memory_order_relaxed) != &gone(), "a tensor (", t->type,
               ") that was made while another function was recorded is used after that recording "
               "has ended. Return it from that function to get its values.");
  t = original_of(t);
  TensorImpl* root = t->view ? t->view->root() : t;
  const intrusive_ptr<TensorImpl> base =
      spans_storage(root) ? intrusive_ptr<TensorImpl>(root) : whole_storage(t);
  Binding b;
  b.storage = t->storage;
  b.base = base->type;
  b.version = s->version.load(std::memory_order_relaxed);
  if (!t->is_pending() && is_constant(t)) {
    auto values = base->alias();
    values->type.weak = t->type.weak;
    b.value.node =
        NodePtr(&append(graph_, kConstantOp, {}, ConstantAttrs{{Tensor(std::move(values))}}));
    return b;
  }
  b.captured = static_cast<int64_t>(captured_.size());
  b.value = capture_input(Tensor(base));
  return b;
}

Edge Recorder::capture_input(const Tensor& t) {
  const auto index = static_cast<int64_t>(captured_.size());
  Node& node = append(graph_, kInputOp, {}, InputAttrs{index, {}, t.impl()->type});
  captured_inputs_.push_back(NodePtr(&node));
  captured_.push_back(t);
  return {NodePtr(&node), 0};
}

bool Recorder::is_own_input(TensorImpl* t) const {
  if (separates_histories() && !t->view && t->wants_grad()) {
    const auto found = bindings_.find(t->storage.get());
    return found != bindings_.end() && found->second.captured >= 0 && !found->second.written &&
           !captured_[static_cast<size_t>(found->second.captured)].impl()->wants_grad();
  }
  // A leaf has no history but itself, whatever memory it lies in: a parameter made by reshape().
  if (!t->view || !t->wants_grad() || t->is_leaf() || has_made_view(t)) return false;
  const auto found = bindings_.find(t->storage.get());
  if (found == bindings_.end())
    return t->storage->made_in != id_ &&
           t->storage->pending.load(std::memory_order_relaxed) != this;
  return found->second.captured >= 0 && !found->second.written;
}

ViewChain Recorder::chain_of(TensorImpl* t, const Binding& b) {
  const auto is_window = [](const ViewStep* s) { return s->op == &kAsStrided; };
  if (t->view) {
    const TensorImpl* root = t->view->root();
    const ViewChain chain{t->view->last};
    const std::vector<const ViewStep*> steps = chain.steps();
    if (root->storage == t->storage && shows_all(root, b) &&
        (b.strides.empty() || std::none_of(steps.begin(), steps.end(), is_window)))
      return chain;
  }
  TANDEM_CHECK(b.strides.empty(),
               "as_strided: an argument of a recorded function that does not lie in one piece (",
               b.base, " with strides ", b.strides,
               ") can be seen by its elements only, not by its memory. Pass it as contiguous().");
  TANDEM_CHECK(t->type.dtype == b.base.dtype, "a view of other memory as ", name_of(t->type.dtype),
               " cannot be recorded: the memory holds ", name_of(b.base.dtype));
  auto* step = new ViewStep;
  step->op = &kAsStrided;
  step->attrs = AttrBox(
      AsStridedAttrs{t->type.sizes, t->strides, t->offset, contiguous_strides(b.base.sizes)});
  return {intrusive_ptr<ViewStep>::adopt(step)};
}

Edge Recorder::view_of(TensorImpl* t, const Binding& b, Edge e) {
  const ViewChain chain = chain_of(t, b);
  for (const ViewStep* s : chain.steps())
    e = {NodePtr(&append(graph_, *s->op, {e}, s->attrs.ref())), 0};
  return e;
}

void Recorder::note_alias(const TensorImpl* alias, const Tensor& of) {
  const Alias* first = alias_of(of.impl());
  auto* t = const_cast<TensorImpl*>(alias);
  aliases_[alias] = {intrusive_ptr<TensorImpl>(t), first ? first->of : of, t_mode.grad};
}

Recorder::Alias* Recorder::alias_of(const TensorImpl* t) {
  const auto found = aliases_.find(t->view ? t->view->root() : t);
  return found != aliases_.end() ? &found->second : nullptr;
}

bool Recorder::is_hidden_write(TensorImpl* t) {
  const auto has_history = [this](TensorImpl* s) {
    return (s->view && may_have_history(s->view->root())) || may_have_history(s);
  };
  const Alias* a = alias_of(t);
  if (a && has_history(a->of.impl())) return true;
  return (!t_mode.grad || t_mode.inference) && has_history(t);
}

const Edge& Recorder::grafted(Binding& b) {
  if (!b.grafted.node)
    b.grafted = {NodePtr(&append(graph_, kHiddenWrite, {b.before, b.value}, {})), 0};
  return b.grafted;
}

void Recorder::made_same_view(const TensorImpl* t, const TensorImpl* as) {
  views_made_.insert(t);
  if (const auto found = views_of_outside_.find(as); found != views_of_outside_.end())
    views_of_outside_.insert_or_assign(t, Tensor(found->second));
}

void Recorder::made_view(const TensorImpl* t, TensorImpl* of) {
  views_made_.insert(t);
  if (of->storage->made_in == id_ || of->storage->pending.load(std::memory_order_relaxed) == this ||
      !of->wants_grad())
    return;
  if (!has_made_view(of) || views_of_outside_.contains(of))
    views_of_outside_.insert_or_assign(t, Tensor(intrusive_ptr<TensorImpl>(of)));
}

// What a view that the record made is a view of; null: nothing from outside, or it is written.
TensorImpl* Recorder::viewed_outside(TensorImpl* t) const {
  const auto found = t->view ? views_of_outside_.find(t) : views_of_outside_.end();
  if (found == views_of_outside_.end()) return nullptr;
  TensorImpl* of = found->second.impl();
  const ViewStep* before = of->view ? of->view->last.get() : nullptr;
  if (of->storage != t->storage || t->view->last->previous.get() != before) return nullptr;
  const auto b = bindings_.find(t->storage.get());
  return b != bindings_.end() && b->second.written ? nullptr : of;
}

Edge Recorder::value_of(TensorImpl* t) {
  if (TensorImpl* of = viewed_outside(t)) {
    const ViewStep& step = *t->view->last;
    return {NodePtr(&append(graph_, *step.op, {value_of(of)}, step.attrs.ref())), 0};
  }
  if (is_own_input(t)) {
    auto [at, fresh] = own_inputs_.try_emplace(t);
    if (fresh) {
      const Tensor view{intrusive_ptr<TensorImpl>(t)};
      at->second = capture_input(view);
      differentiable_.push_back(view);
      differentiable_edges_.emplace(t->edge.node.get(), t->edge.index);
    }
    return at->second;
  }
  Binding& b = binding(t);
  // What views that the record made itself are differentiated by is their base.
  TensorImpl* source = t->view && has_made_view(t) ? t->view->root() : t;
  if (b.captured >= 0 && source->wants_grad()) {
    // One history is one target, whichever of its tensors are read: saved values come as others.
    const Edge& e = source->grad_edge();
    bool known = !differentiable_edges_.emplace(e.node.get(), e.index).second;
    // What led to a tensor changes when it is written.
    if (b.written)
      for (const Tensor& d : differentiable_)
        known |= d.impl()->edge.node == e.node && d.impl()->edge.index == e.index;
    if (!known) differentiable_.push_back(Tensor(intrusive_ptr<TensorImpl>(source)));
  }
  const bool with_history = b.before.node && t_mode.grad && may_have_history(t) && !alias_of(t);
  const Edge value = with_history ? grafted(b) : b.value;
  return shows_all(t, b) ? value : view_of(t, b, value);
}

void Recorder::write(TensorImpl* t, const Edge& value) {
  Binding& b = binding(t);
  if (b.captured >= 0) {
    std::erase_if(own_inputs_, [&](const auto& v) { return v.first->storage == t->storage; });
    TensorImpl* root = t->view ? t->view->root() : t;
    for (TensorImpl* touched : {t, root}) {
      if (is_written_outside_.insert(touched).second)
        written_outside_.emplace_back(Tensor(intrusive_ptr<TensorImpl>(touched)), touched->edge);
    }
  }
  const bool hidden = is_hidden_write(t), all = shows_all(t, b);
  if (hidden && !b.before.node) b.before = b.value;
  if (!hidden && !all && b.before.node) b.value = grafted(b);
  if (!hidden) b.before = {};
  b.grafted = {};
  if (Alias* a = alias_of(t); a && t_mode.grad) {
    a->cuts = false;
    if (hidden && !all) b.value = {NodePtr(&append(graph_, kDetach, {b.value}, {})), 0};
  }
  if (all)
    b.value = value;
  else
    b.value = {NodePtr(&append(graph_, kViewScatter, {b.value, value},
                               ViewScatterAttrs{chain_of(t, b), {}})),
               0};
  b.written = true;
  if (b.captured >= 0) wrote_outside(*b.storage);
}

Recorder::GradSlot& Recorder::grad_slot(Node& leaf, bool* fresh) {
  const auto [at, is_new] = grad_slot_of_.try_emplace(&leaf, grad_slots_.size());
  if (fresh) *fresh = is_new;
  if (is_new) {
    NodeExtra& extra = leaf.need_extra();
    std::lock_guard lock(extra.mutex);
    GradSlot slot;
    slot.leaf = NodePtr(&leaf);
    slot.before = extra.grads[0];
    grad_slots_.push_back(std::move(slot));
  }
  return grad_slots_[at->second];
}

void Recorder::touch_grad(Node& leaf) { grad_slot(leaf); }

void Recorder::restore_outside() {
  for (GradSlot& slot : grad_slots_) {
    NodeExtra& extra = slot.leaf->need_extra();
    std::lock_guard lock(extra.mutex);
    extra.grads[0] = slot.before;
  }
  for (auto& [t, edge] : written_outside_) t.impl()->edge = edge;
  for (auto& [storage, b] : bindings_)
    if (b.captured >= 0 && b.written) storage->version.store(b.version, std::memory_order_relaxed);
}

}  // namespace tandem
