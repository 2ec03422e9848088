#include "tandem/core/saved.h"

#include "tandem/core/recorder.h"

namespace tandem {
namespace {

// Recorders follow the steps of a view, which say more than its strides; so those are kept too.
[[gnu::cold]] void keep_steps(const ViewInfo& from, TensorImpl* t) {
  t->view = new ViewInfo;
  t->view->base = from.root()->alias();
  t->view->last = from.last;
  t->view->version.store(t->version(), std::memory_order_relaxed);
}

intrusive_ptr<TensorImpl> without_history(const TensorImpl* t) {
  auto values = t->alias();
  if (t->view && t_mode.recorder) [[unlikely]] {
    keep_steps(*t->view, values.get());
    if (t_mode.recorder->has_made_view(t)) t_mode.recorder->made_same_view(values.get(), t);
  }
  return values;
}

}  // namespace

intrusive_ptr<TensorImpl> values_of(TensorImpl* t) {
  if (t->type.weak || (t->requires_grad && !t->view)) return intrusive_ptr<TensorImpl>(t);
  return without_history(t);
}

Tensor with_history(TensorImpl* values, const Edge& edge) {
  if (!edge || values->edge.node == edge.node) return Tensor(intrusive_ptr<TensorImpl>(values));
  auto t = without_history(values);
  t->edge = edge;
  t->requires_grad = edge.node->is_leaf();
  return Tensor(std::move(t));
}

}  // namespace tandem
