#pragma once

#include <atomic>

#include "tandem/core/graph.h"
#include "tandem/core/storage.h"
#include "tandem/core/type.h"

namespace tandem {

/// One view op on the way from a base to a view of it; the steps of a chain share their prefixes.
struct ViewStep {
  std::atomic<uint32_t> refs{1};
  intrusive_ptr<ViewStep> previous;
  const OpDef* op = nullptr;
  AttrBox attrs;
};
inline void retain(ViewStep* s) { s->refs.fetch_add(1, std::memory_order_relaxed); }
void release(ViewStep* s);

/// Kept by every tensor that is a view of another: how to get there again from the base.
///
/// The gradient function of a view is that of its base followed by the view's steps. A write to the
/// base, or through another view, makes it stale; it is then derived again from the base.
struct ViewInfo {
  intrusive_ptr<TensorImpl> base;  // never a view itself
  intrusive_ptr<ViewStep> last;
  uint32_t version = 0;  // storage version at which `edge` of the view was derived
};

/// What a Tensor points to. Always has a type; has a storage except on the meta device.
struct TensorImpl {
  std::atomic<uint32_t> refs{1};
  bool requires_grad =
      false;               // True iff the user asked for it: a leaf. Results have an edge instead.
  bool contiguous = true;  // True iff strides are row-major for the sizes.
  bool inference = false;  // True iff made under InferenceMode: autograd never sees it.
  bool unversioned = false;  // True iff made by data(): its writes are hidden from autograd.
  TensorType type;
  Dims strides;
  int64_t numel = 0;
  int64_t offset = 0;  // elements from the start of the storage
  intrusive_ptr<Storage> storage;
  void* data = nullptr;  // storage->data + offset; null on the meta device
  Edge edge;             // what made it; for a leaf that has, or may get, a gradient: its leaf node
  ViewInfo* view = nullptr;  // owned

  /// An uninitialised tensor of that type in row-major order.
  static intrusive_ptr<TensorImpl> make(const TensorType& type);
  /// Without a storage: the caller fills in type, then calls allocate().
  static TensorImpl* blank();
  void allocate();
  /// The same values seen by another tensor that autograd does not connect with this one.
  intrusive_ptr<TensorImpl> alias() const;
  static void destroy(TensorImpl* t);

  Array array() const {
    return {data,
            type.sizes.data(),
            strides.data(),
            numel,
            static_cast<int32_t>(type.sizes.size()),
            type.dtype,
            contiguous,
            type.weak};
  }
  uint32_t version() const {
    return storage ? storage->version.load(std::memory_order_relaxed) : 0;
  }
  void bump(const char* writer) {
    if (storage && !unversioned) storage->bump(writer);
  }
  /// True iff a gradient can flow into this tensor.
  bool wants_grad() {
    if (view && view->version != version()) [[unlikely]]
      refresh_view();
    return requires_grad || (edge.node && edge.node->op != &kLeaf);
  }
  /// True iff the user made it, or it needs no gradient.
  bool is_leaf() { return !wants_grad() || requires_grad; }
  void refresh_view();
  /// The leaf node of a tensor that the user made, created when there is none.
  Node& leaf_node();
};

inline void retain(TensorImpl* t) { t->refs.fetch_add(1, std::memory_order_relaxed); }
inline void release(TensorImpl* t) {
  if (t->refs.load(std::memory_order_acquire) == 1 ||
      t->refs.fetch_sub(1, std::memory_order_acq_rel) == 1)
    TensorImpl::destroy(t);
}

}  // namespace tandem
