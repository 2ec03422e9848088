#pragma once

#include <atomic>

#include "tandem/core/mode.h"
#include "tandem/core/node.h"
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

/// Under which circumstances a view was made. Writing through one that is not DEFAULT is ambiguous
/// when gradients are recorded, hence an error.
enum class CreationMeta : uint8_t {
  DEFAULT,
  IN_CUSTOM_FUNCTION,
  MULTI_OUTPUT_NODE,
  NO_GRAD_MODE,
  INFERENCE_MODE
};

/// "in no_grad mode" and the like, for messages.
const char* words(CreationMeta creation);

/// Kept by every tensor that is a view of another: how to get there again from the base.
///
/// The gradient function of a view is that of its base followed by the view's steps. A write to the
/// base, or through another view, makes it stale; it is then derived again from the base. A view
/// that was not made in grad mode has no such function: it requires a gradient iff its base does,
/// but none flows through it.
struct ViewInfo {
  intrusive_ptr<TensorImpl> base;  // a view itself only after t_() and the like: see root()
  intrusive_ptr<ViewStep> last;
  std::atomic<uint32_t> version{0};  // storage version at which `edge` of the view was derived
  CreationMeta creation = CreationMeta::DEFAULT;

  /// The tensor that the steps lead from. A base that was reshaped in place has become a view of
  /// what it was when this view was made.
  inline TensorImpl* root() const;
  bool has_bw_view() const { return true; }
  CreationMeta get_creation_meta() const { return creation; }
};

/// What a Tensor points to. Always has a type; has a storage except on the meta device.
struct TensorImpl {
  std::atomic<uint32_t> refs{1};
  bool requires_grad =
      false;               // True iff the user asked for it: a leaf. Results have an edge instead.
  bool contiguous = true;  // True iff strides are row-major for the sizes.
  bool inference = false;  // True iff made under InferenceMode: autograd never sees it.
  bool unversioned : 1 = false;  // True iff made by data(): its writes are hidden from autograd.
  bool keeps_grad : 1 = false;   // True iff grad() of a result was asked to be kept or was set.
  TensorType type;
  Dims strides;
  int64_t numel = 0;
  int64_t offset = 0;  // elements from the start of the storage
  intrusive_ptr<Storage> storage;
  void* data = nullptr;  // storage->data + offset; null on the meta device
  Edge edge;             // what made it; for a leaf that has, or may get, a gradient: its leaf node
  ViewInfo* view = nullptr;                // owned
  std::atomic<uint32_t> recorded_refs{0};  // how many of `refs` are those of compiled functions

  /// True iff only compiled functions hold it, so that no program can reach it any more.
  bool is_only_recorded() const {
    return refs.load(std::memory_order_acquire) <= recorded_refs.load(std::memory_order_relaxed);
  }
  /// An uninitialised tensor of that type in row-major order.
  static intrusive_ptr<TensorImpl> make(const TensorType& type);
  /// Without a storage: the caller fills in type, then calls allocate().
  static TensorImpl* blank();
  void allocate();
  /// The same without memory: its values are known to the recorder.
  void allocate_pending(Recorder* recorder);
  /// The same values seen by another tensor that autograd does not connect with this one.
  intrusive_ptr<TensorImpl> alias() const;
  static void destroy(TensorImpl* t);

  /// True iff its values have not been computed: it was made, or written, while ops were recorded.
  bool is_pending() const {
    return storage && storage->pending.load(std::memory_order_relaxed) != nullptr;
  }
  /// Sees to it that `data` holds the values; throws where they cannot be had. `call` is who asks.
  void need_values(const char* call) {
    if (t_mode.recorder || !data || is_pending()) [[unlikely]]
      look(call);
  }

  /// For kernels: the values must be there.
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
    if (!storage) return;
    if (unversioned) [[unlikely]]
      storage->hidden_writes.fetch_add(1, std::memory_order_relaxed);
    else
      storage->bump(writer);
  }
  /// True iff a gradient can flow into this tensor.
  bool wants_grad() {
    if (view && (view->creation != CreationMeta::DEFAULT || view_is_stale())) [[unlikely]]
      return view_wants_grad();
    return requires_grad || has_history();
  }
  /// True iff the user made it, or it needs no gradient.
  bool is_leaf() { return !wants_grad() || requires_grad || !has_history(); }
  /// Where its gradient goes; empty if that is nowhere. Throws for a view that was made without
  /// grad mode when its base has been written since.
  const Edge& grad_edge() {
    if (wants_grad() && view && view->creation != CreationMeta::DEFAULT) [[unlikely]]
      check_base_unwritten();
    return edge;
  }
  bool view_is_stale() const { return view->version.load(std::memory_order_acquire) != version(); }
  /// What LibTorch's own tests look at.
  ViewInfo* autograd_meta() const { return view; }
  struct VersionCounter {
    const TensorImpl* tensor;
    uint32_t current_version() const;
  };
  VersionCounter version_counter() const { return {this}; }
  void bump_version();
  /// The leaf node of a tensor that the user made, created when there is none.
  Node& leaf_node();

 private:
  void lay_out();
  bool has_history() const { return edge.node && edge.node->op != &kLeaf; }
  void look(const char* call);
  bool view_wants_grad();
  void refresh_view();
  void check_base_unwritten();
};

inline void retain(TensorImpl* t) { t->refs.fetch_add(1, std::memory_order_relaxed); }
inline void release(TensorImpl* t) {
  if (t->refs.load(std::memory_order_acquire) == 1 ||
      t->refs.fetch_sub(1, std::memory_order_acq_rel) == 1)
    TensorImpl::destroy(t);
}

inline TensorImpl* ViewInfo::root() const {
  TensorImpl* t = base.get();
  while (t->view) [[unlikely]] t = t->view->base.get();
  return t;
}

}  // namespace tandem
