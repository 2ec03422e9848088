#include "tandem/core/tensor_impl.h"

#include <mutex>
#include <new>

#include "tandem/base/memory.h"
#include "tandem/core/apply.h"
#include "tandem/core/node_extra.h"
#include "tandem/core/recorder.h"
#include "tandem/core/view_chain.h"

namespace tandem {

constinit thread_local Mode t_mode{};

void release(ViewStep* s) {
  // Chains are as long as views are nested, which may be long in a loop: no recursion.
  while (s && s->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    ViewStep* previous = s->previous.detach();
    delete s;
    s = previous;
  }
}

TensorImpl* TensorImpl::blank() {
  return new (memory::detail::allocate_object(sizeof(TensorImpl))) TensorImpl;
}

void TensorImpl::lay_out() {
  // One pass over the extents; numel_of finds the words when something is wrong with them.
  const size_t n = type.sizes.size();
  strides.resize_for_overwrite(n);
  int64_t count = 1;
  bool odd = false;
  for (size_t d = n; d-- > 0;) {
    strides[d] = count;
    odd |= type.sizes[d] <= 0 || __builtin_mul_overflow(count, type.sizes[d], &count);
  }
  if (odd || count > INT64_MAX / 8) [[unlikely]] {
    count = numel_of(type.sizes);
    strides = contiguous_strides(type.sizes);
  }
  numel = count;
  contiguous = true;
  inference = t_mode.inference;
}

void TensorImpl::allocate() {
  lay_out();
  storage = Storage::make(numel * static_cast<int64_t>(size_of(type.dtype)), type.device);
  data = storage->data;
}

void TensorImpl::allocate_pending(Recorder* recorder) {
  lay_out();
  storage = Storage::make_pending(numel * static_cast<int64_t>(size_of(type.dtype)), type.device,
                                  recorder);
}

void TensorImpl::look(const char* call) {
  if (!storage || type.device.is_meta()) return;
  Recorder* pending = storage->pending.load(std::memory_order_acquire);
  if (t_mode.recorder)
    t_mode.recorder->look(this, call);
  else if (pending)
    pending->look(this, call);
  // The storage has memory now; this tensor may not have looked since.
  if (!data && storage->data)
    std::atomic_ref(data).store(
        static_cast<char*>(storage->data) + offset * static_cast<int64_t>(size_of(type.dtype)),
        std::memory_order_relaxed);
}

intrusive_ptr<TensorImpl> TensorImpl::make(const TensorType& type) {
  auto t = intrusive_ptr<TensorImpl>::adopt(blank());
  t->type = type;
  t->type.weak = false;
  t->allocate();
  return t;
}

intrusive_ptr<TensorImpl> TensorImpl::alias() const {
  auto t = intrusive_ptr<TensorImpl>::adopt(blank());
  t->contiguous = contiguous;
  t->inference = inference;
  t->type = type;
  t->strides = strides;
  t->numel = numel;
  t->offset = offset;
  t->storage = storage;
  t->data = data;
  return t;
}

void TensorImpl::destroy(TensorImpl* t) {
  delete t->view;
  t->~TensorImpl();
  memory::detail::free_object(t, sizeof(TensorImpl));
}

bool TensorImpl::view_wants_grad() {
  if (requires_grad) return true;
  if (view->creation != CreationMeta::DEFAULT) return has_history() || view->root()->wants_grad();
  refresh_view();
  return has_history();
}

void TensorImpl::refresh_view() {
  // Threads that share a view may all find it stale.
  static std::mutex mutexes[16];
  Edge before;  // freed after the lock is gone: that may run anything
  std::lock_guard lock(mutexes[reinterpret_cast<uintptr_t>(this) / 64 % 16]);
  if (!view_is_stale()) return;
  const uint32_t now = version();
  before = std::move(edge);
  edge = {};
  if (view->root()->wants_grad()) {
    AutoGradMode with_grad(true);
    edge = ViewChain{view->last}
               .apply_to(Tensor(intrusive_ptr<TensorImpl>(view->root())))
               .impl()
               ->edge;
  }
  view->version.store(now, std::memory_order_release);
}

void TensorImpl::check_base_unwritten() {
  TANDEM_CHECK(!view_is_stale() || (!has_history() && !view->root()->wants_grad()),
               "A view was created ", words(view->creation),
               " and its base or another view of its base has been modified inplace with grad mode "
               "enabled. Make the view again after the write, or clone() it.");
}

const char* words(CreationMeta creation) {
  switch (creation) {
    case CreationMeta::NO_GRAD_MODE:
      return "in no_grad mode";
    case CreationMeta::INFERENCE_MODE:
      return "in inference mode";
    case CreationMeta::IN_CUSTOM_FUNCTION:
      return "inside a custom Function (or because an input was returned as-is)";
    case CreationMeta::MULTI_OUTPUT_NODE:
      return "by a function that returns several views";
    case CreationMeta::DEFAULT:
      break;
  }
  return "in grad mode";
}

uint32_t TensorImpl::VersionCounter::current_version() const {
  TANDEM_CHECK(!tensor->inference, "Inference tensors do not track version counter.");
  return tensor->version();
}

void TensorImpl::bump_version() {
  TANDEM_CHECK(
      !inference || t_mode.inference,
      "Inplace update to inference tensor outside InferenceMode is not allowed. Make a clone() "
      "to get a normal tensor before the in-place update.");
  bump("bump_version");
}

Node& TensorImpl::leaf_node() {
  if (!edge.node) {
    edge.node = Node::make(kLeaf, 0, 1, 0, {});
    edge.node->outputs()[0] = type;
    edge.node->need_extra();  // now, while one thread knows the leaf: others may share it later
    edge.index = 0;
  }
  return *edge.node;
}

// -- chains of views --------------------------------------------------------------------------

std::vector<const ViewStep*> ViewChain::steps() const {
  std::vector<const ViewStep*> all;
  for (const ViewStep* s = last.get(); s; s = s->previous.get()) all.push_back(s);
  return {all.rbegin(), all.rend()};
}

Tensor ViewChain::apply_to(const Tensor& base) const {
  Tensor t = base;
  for (const ViewStep* s : steps()) t = apply(*s->op, {t}, s->attrs.ref());
  return t;
}

void ViewChain::locate(const TensorType& base, IntArrayRef base_strides, Dims& sizes, Dims& strides,
                       int64_t& offset) const {
  TensorType at = base;
  strides = base_strides;
  offset = 0;
  for (const ViewStep* s : steps()) {
    TensorType next;
    next.device = at.device;
    const TensorType* in = &at;
    TensorType* out = &next;
    s->op->infer({*s->op, &in, 1, s->attrs.ref(), &out});
    Dims next_strides;
    int64_t step = 0;
    s->op->view({*s->op, at.sizes, strides, next.sizes, s->attrs.ref(), next_strides, step});
    strides = next_strides;
    offset += step;
    at = next;
  }
  sizes = at.sizes;
}

bool operator==(const ViewChain& a, const ViewChain& b) {
  const ViewStep *x = a.last.get(), *y = b.last.get();
  for (; x && y && x != y; x = x->previous.get(), y = y->previous.get())
    if (x->op != y->op || !(x->attrs.ref() == y->attrs.ref())) return false;
  return x == y;
}

std::ostream& operator<<(std::ostream& out, const ViewChain& c) {
  out << '[';
  bool first = true;
  for (const ViewStep* s : c.steps()) {
    out << (first ? "" : ", ") << s->op->name << '(';
    if (AttrRef a = s->attrs.ref(); a.type) a.type->print(out, a.data);
    out << ')';
    first = false;
  }
  return out << ']';
}

}  // namespace tandem

size_t std::hash<tandem::ViewChain>::operator()(const tandem::ViewChain& c) const {
  size_t h = 3;
  for (const tandem::ViewStep* s : c.steps()) {
    h = tandem::detail::mix(h, std::hash<const void*>()(s->op));
    if (tandem::AttrRef a = s->attrs.ref(); a.type)
      h = tandem::detail::mix(h, a.type->hash(a.data));
  }
  return h;
}
