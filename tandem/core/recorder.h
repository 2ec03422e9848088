#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "tandem/core/graph.h"
#include "tandem/core/mode.h"
#include "tandem/core/tensor_impl.h"
#include "tandem/core/view_chain.h"

namespace tandem {

/// Keeps what ops would do instead of doing it. `apply` hands every call of its thread to the
/// current recorder; it is the only place that does.
///
/// Note: values live in storages
/// A tensor made while recording has a storage without memory (a pending one). What the storage
/// holds at the moment is a value of the graph, its binding. Views share the storage; the value of
/// a view is derived from the binding by the view's steps whenever it is read, and a write through
/// it replaces the binding by view_scatter. Eager tensors that are used get a binding too, an input
/// of the graph; they are not touched while recording, and those that were written are listed in
/// Graph::writes. Thus views, in-place writes, autograd and its version checks run as in eager.
///
/// Note: writes that autograd does not see
/// A write without grad mode, or through detach() or data(), changes values and leaves the history
/// of who shows them as it was. Where the graph itself is to be differentiated, those who have
/// that history read `hidden_write(before, after)`: the new values, whose gradient is that of the
/// old ones. All others read the new values as they are.
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

  /// A node of the op on the values that the tensors have now.
  virtual Node& add(const OpDef& op, ArrayRef<TensorImpl*> inputs, AttrRef attrs);

  /// Someone wants to see values: a recorder that can gives them, others throw. `call` is the
  /// function that looks ("item").
  virtual void look(TensorImpl* t, const char* call) = 0;
  /// The shapes of the op's outputs depend on values: throws, or returns to let it run at once.
  virtual void look(const OpDef& op) = 0;
  /// Called before each op is added.
  virtual void make_room() {}
  /// True iff ops on its pending tensors are recorded even where it is not the current recorder.
  virtual bool follows() const { return false; }
  /// True iff choices and loops become ops of the graph; otherwise their condition is looked at.
  virtual bool keeps_branches() const { return true; }
  /// True iff a tensor from outside that needs a gradient is an input of its own even if another
  /// one without a history shows the same memory.
  virtual bool separates_histories() const { return false; }
  /// True iff gradients may be found op by op in what is recorded, and may flow to the tensor.
  virtual bool may_have_history(TensorImpl*) const { return false; }
  /// A flag is being read (core/flag.h).
  virtual void note_flag(const std::shared_ptr<bool>&) {}
  /// A flag is about to be set.
  virtual void write_flag(const std::shared_ptr<bool>&) {}
  /// A list of tensors, which somebody may change later, is being read.
  virtual void note_list(const std::shared_ptr<const std::vector<Tensor>>&) {}
  /// Somebody asks what the tensor is: its shape, its dtype, whether it needs a gradient.
  virtual void note_seen(TensorImpl*) {}
  /// The gradient that a leaf keeps is about to be read or changed.
  virtual void touch_grad(Node& leaf);
  /// The leaf's gradient is to be forgotten or, if it has one, to be zero. False: nothing was
  /// noted, the caller does it.
  virtual bool clear_grad(Node&, bool /*forget*/) { return false; }
  /// Backward adds to the leaf's gradient. False: nothing was noted, the caller does it.
  virtual bool add_grad(Node& leaf, const Tensor& /*grad*/) {
    touch_grad(leaf);
    return false;
  }

  /// A tensor is about to get another shape or other memory in place.
  virtual void changing(TensorImpl*) {}
  /// Until `because` is null, writes move on what is remembered from run to run (StateScope).
  virtual void moves_state(const Tensor* /*because*/) {}
  /// Another tensor that shows the same was made while this is the current recorder.
  virtual void made_alias(const TensorImpl* /*alias*/, const Tensor& /*of*/) {}
  /// A view was made while this is the current recorder: it has no history outside.
  void made_view(const TensorImpl* t, TensorImpl* of);
  /// A copy of such a view, without its history.
  void made_same_view(const TensorImpl* t, const TensorImpl* as);
  bool has_made_view(const TensorImpl* t) const { return views_made_.contains(t); }
  bool owns(const Storage* s) const { return bindings_.contains(const_cast<Storage*>(s)); }
  uint32_t id() const { return id_; }

 protected:
  struct Binding {
    intrusive_ptr<Storage> storage;  // kept so that its address stays its own
    TensorType base;                 // the type of `value`
    Edge value;
    int64_t captured = -1;  // position among the captured, for what came from outside
    int64_t argument = -1;  // position among the arguments
    Dims strides;           // of an argument that shows gaps or one element twice; else empty
    uint32_t version = 0;   // what came from outside had this version
    bool written = false;
    Edge before;   // the value before writes that autograd does not see; empty if there were none
    Edge grafted;  // `value` with the history of `before`; empty if nobody has wanted it
  };
  struct GradSlot {
    NodePtr leaf;
    Tensor before;
    bool seen = true;     // what is recorded depends on whether there was one
    bool zeroed = false;  // zero if there was one, which has not been needed yet: it shows none
    Tensor overwritten;   // what was put in its place without a look at it
  };

  /// Where the leaf's gradient is noted; made if it was not, which is what `fresh` says.
  GradSlot& grad_slot(Node& leaf, bool* fresh = nullptr);
  Binding& binding(TensorImpl* t);
  /// True iff the tensor shows all of what its storage holds, as it is.
  static bool shows_all(const TensorImpl* t, const Binding& b);
  /// The views that lead from what the storage holds to the tensor.
  ViewChain chain_of(TensorImpl* t, const Binding& b);
  /// A tensor from outside is about to be used for the first time.
  virtual void capturing(Storage&) {}
  /// What detach() or data() gave, and what that is an alias of.
  struct Alias {
    intrusive_ptr<TensorImpl> alias;  // kept so that its address stays its own
    Tensor of;
    /// True iff gradients end there. Without grad mode there is nothing to cut, which is how
    /// gradients are computed, too; and what is written in grad mode has a history from there on.
    bool cuts;
  };
  void note_alias(const TensorImpl* alias, const Tensor& of);
  /// The one that the tensor is, or is a view of; null if it is none.
  Alias* alias_of(const TensorImpl* t);
  /// The tensor from outside that this is an alias of, or the tensor itself.
  virtual TensorImpl* original_of(TensorImpl* t) { return t; }
  /// True iff the tensor, which is not pending, is the same in every run of what is recorded.
  virtual bool is_constant(const TensorImpl* t) const {
    return t->type.weak || t->storage->made_in == id_;
  }
  /// What came from outside has got a new value in the record only.
  virtual void wrote_outside(Storage&) {}
  /// What came from outside is as it was before.
  void restore_outside();
  /// Lets go of all tensors; those that are still pending will never have values.
  void release_bindings();

  Graph graph_;
  std::vector<NodePtr> arguments_, captured_inputs_;
  std::vector<Tensor> captured_;  // one for each of captured_inputs_
  std::unordered_map<Storage*, Binding> bindings_;
  std::vector<Storage*> order_;  // of bindings_, by age
  std::vector<GradSlot> grad_slots_;
  std::unordered_map<const Node*, size_t> grad_slot_of_;
  /// Tensors from outside, with what led to them before they were written.
  std::vector<std::pair<Tensor, Edge>> written_outside_;
  std::unordered_set<const TensorImpl*> is_written_outside_;
  /// Tensors from outside that have a history of their own, views mostly: inputs by themselves, so
  /// that gradients reach them, until the memory is written.
  std::unordered_map<const TensorImpl*, Edge> own_inputs_;
  /// Views that the record made of tensors from outside that need a gradient, with those: their
  /// values are views of what those tensors are in the record, until the memory is written.
  std::unordered_map<const TensorImpl*, Tensor> views_of_outside_;
  /// Tensors from outside that need a gradient, in order of use.
  std::vector<Tensor> differentiable_;
  std::set<std::pair<const Node*, uint32_t>> differentiable_edges_;

 private:
  /// Views that the record itself made, by their addresses: while it lasts nobody else on its
  /// thread makes tensors, so an address that is used again is one of the record's too.
  std::unordered_set<const TensorImpl*> views_made_;

  Binding capture(TensorImpl* t);
  Edge capture_input(const Tensor& t);
  bool is_own_input(TensorImpl* t) const;
  TensorImpl* viewed_outside(TensorImpl* t) const;
  Edge view_of(TensorImpl* t, const Binding& b, Edge value);
  bool is_hidden_write(TensorImpl* t);
  const Edge& grafted(Binding& b);

  std::unordered_map<const TensorImpl*, Alias> aliases_;  // by address

  uint32_t id_;
};

/// Makes a recorder the current one for a scope; null: back to eager, as if nothing was recorded.
class RecorderScope {
 public:
  explicit RecorderScope(Recorder* r) : recorder_(t_mode.recorder), made_in_(t_mode.made_in) {
    t_mode.recorder = r;
    t_mode.made_in = r ? r->id() : 0;
  }
  ~RecorderScope() {
    t_mode.recorder = recorder_;
    t_mode.made_in = made_in_;
  }
  RecorderScope(const RecorderScope&) = delete;
  RecorderScope& operator=(const RecorderScope&) = delete;

 private:
  Recorder* recorder_;
  uint32_t made_in_;
};

/// Ops in this scope belong to the declared graph that the tensor belongs to, if it does to one,
/// although they may take nothing from it: random numbers for a declared tensor are drawn in each
/// run, not now.
class OwnerScope {
 public:
  explicit OwnerScope(const Tensor& of) {
    if (!of.defined() || !of.impl()->is_pending()) return;
    if (t_mode.recorder && t_mode.recorder->keeps_branches()) return;
    Recorder* r = of.impl()->storage->pending.load(std::memory_order_acquire);
    if (!r->follows()) return;
    owner_ = r;
    scope_.emplace(r);
  }

 protected:
  Recorder* owner_ = nullptr;

 private:
  std::optional<RecorderScope> scope_;
};

/// Writes in this scope move on what a layer remembers from call to call, such as running
/// statistics. If `because` is declared, they happen in each run that computes it.
class StateScope : public OwnerScope {
 public:
  explicit StateScope(const Tensor& because) : OwnerScope(because) {
    if (owner_) owner_->moves_state(&because);
  }
  ~StateScope() {
    if (owner_) owner_->moves_state(nullptr);
  }
};

}  // namespace tandem
