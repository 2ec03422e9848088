#pragma once

#include <functional>
#include <unordered_map>

#include "tandem/core/graph.h"
#include "tandem/core/mode.h"
#include "tandem/core/tensor_impl.h"

namespace tandem {

/// Keeps what ops would do instead of doing it. `apply` hands every call of its thread to the current
/// recorder; it is the only place that does.
///
/// Note: values live in storages
/// A tensor made while recording has a storage without memory (a pending one). What the storage
/// holds at the moment is a value of the graph, its binding. Views share the storage; the value of a
/// view is derived from the binding by the view's steps whenever it is read, and a write through it
/// replaces the binding by view_scatter. Eager tensors that are used get a binding too, an input of
/// the graph; they are not touched while recording, and those that were written are listed in
/// Graph::writes. Thus views, in-place writes, autograd and its version checks run as in eager.
class Recorder {
 public:
  Recorder();
  virtual ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// The value that the tensor has now.
  Edge value_of(TensorImpl* t);
  /// From now on the tensor has that value, which has its type.
  void write(TensorImpl* t, const Edge& value);
  /// A new tensor with that value.
  Tensor bind(const Edge& value);
  /// A new argument of the recorded function.
  Tensor placeholder(const TensorType& type, std::string name = {});

  /// An op called with pending tensors or under this recorder. `outputs` are filled in.
  void record(const OpDef& op, ArrayRef<TensorImpl*> inputs, AttrRef attrs, Tensor* outputs);

  /// Someone wants to see values: a recorder that can gives them, others throw. `call` is the
  /// function that looks ("item").
  virtual void look(TensorImpl* t, const char* call) = 0;
  /// The op makes its outputs' shapes from values.
  virtual void record_dynamic(const OpDef& op) = 0;
  /// The gradient kept by a leaf is about to be read or changed.
  virtual void touch_grad(Node& leaf);

  bool owns(const Storage* s) const { return bindings_.contains(const_cast<Storage*>(s)); }
  uint32_t id() const { return id_; }

 protected:
  struct Binding {
    intrusive_ptr<Storage> storage;  // kept so that its address stays its own
    TensorType base;                 // the type of `value`
    Edge value;
    int64_t input = -1;  // position among the captured, for what came from outside
    bool written = false;
  };
  struct GradSlot {
    NodePtr leaf;
    Tensor before;
  };

  Binding& binding(TensorImpl* t);
  virtual Binding capture(TensorImpl* t);

  Graph graph_;
  std::vector<Tensor> captured_;
  std::unordered_map<Storage*, Binding> bindings_;
  std::vector<Storage*> order_;  // of bindings_, by age
  std::vector<GradSlot> grad_slots_;

 private:
  uint32_t id_;
};

/// Makes a recorder the current one for a scope; null: back to eager.
class RecorderScope {
 public:
  explicit RecorderScope(Recorder* r) : before_(std::exchange(t_mode.recorder, r)) {}
  ~RecorderScope() { t_mode.recorder = before_; }
  RecorderScope(const RecorderScope&) = delete;
  RecorderScope& operator=(const RecorderScope&) = delete;

 private:
  Recorder* before_;
};

}  // namespace tandem
