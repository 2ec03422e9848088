#include "tandem/core/apply.h"

#include <algorithm>
#include <cstring>

#include "tandem/core/apply_list.h"
#include "tandem/core/node_extra.h"
#include "tandem/core/recorder.h"
#include "tandem/core/saved.h"
#include "tandem/core/view_chain.h"

namespace tandem {
namespace {

constinit thread_local OpObserver* t_observer = nullptr;

// Arguments of one call: on the stack for ordinary ops, on the heap for cat of a hundred tensors.
// Not initialised: whoever takes one fills it.
template <class T, int N = 4>
class Scratch {
 public:
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
  explicit Scratch(size_t n)
      : data_(n <= N ? reinterpret_cast<T*>(stack_)
                     : static_cast<T*>(::operator new(n * sizeof(T)))) {}
  ~Scratch() {
    if (data_ != reinterpret_cast<T*>(stack_)) [[unlikely]]
      ::operator delete(data_);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  T* get() { return data_; }
  T& operator[](size_t i) { return data_[i]; }

 private:
  alignas(T) unsigned char stack_[N * sizeof(T)];
  T* data_;
};

[[noreturn, gnu::cold]] void undefined_argument(const OpDef& op, size_t i) {
  TANDEM_CHECK(false, op.name, ": argument ", i, " is an undefined tensor");
  __builtin_unreachable();
}

[[noreturn, gnu::cold]] void mixed_devices(const OpDef& op, Device a, Device b) {
  TANDEM_CHECK(false, op.name,
               ": Expected all tensors to be on the same device, but found at least two devices, ",
               a, " and ", b, "! (move one with .to(device))");
  __builtin_unreachable();
}

// Collects the input types and gives the device that they, and `self` if there is one, share. A
// plain number goes with any device.
Device collect_types(const OpDef& op, const TensorImpl* self, TensorArgs in,
                     const TensorType** types) {
  const Device* device = self ? &self->type.device : nullptr;
  for (size_t i = 0; i < in.size(); ++i) {
    if (!in[i].impl) undefined_argument(op, i);
    types[i] = &in[i].impl->type;
    if (types[i]->weak) continue;
    if (device && !(*device == types[i]->device)) mixed_devices(op, *device, types[i]->device);
    device = &types[i]->device;
  }
  return device ? *device : Device();
}

bool recording() { return t_mode.grad && !t_mode.inference; }

// Among inference tensors alone nothing is recorded, even if one of them is to get a gradient.
bool any_wants_grad(TensorArgs in) {
  bool wants = false, normal = false;
  for (const TensorArg& a : in) {
    wants |= a.impl->wants_grad();
    normal |= !a.impl->inference && !a.impl->type.weak;
  }
  return wants && normal;
}

[[gnu::cold]] void describe_call(Node& node, TensorArgs in) {
  std::string text = str(node.op->name, "(");
  for (size_t i = 0; i < in.size(); ++i) text += str(i ? ", " : "", in[i].impl->type);
  node.describe(text + ")");
}

// -- Recording for backward ------------------------------------------------------------------
// In two halves, because an in-place op overwrites one of the inputs between them.

void save(Node& node, int slot, intrusive_ptr<TensorImpl> t) {
  TANDEM_CHECK(
      !t->inference, node.op->name,
      ": Inference tensors cannot be saved for backward. To work around you can make a clone "
      "to get a normal tensor and use it in autograd.");
  const uint32_t version = t->version();
  node.saved()[slot] = {t.detach(), version};
}

// The values that an in-place op is about to overwrite.
intrusive_ptr<TensorImpl> copy_before_write(TensorImpl* t) {
  return Tensor(intrusive_ptr<TensorImpl>(t)).detach().clone().impl_ptr();
}

NodePtr begin_record(const OpDef& op, TensorArgs in, AttrRef attrs, const TensorImpl* overwritten) {
  Saves::Bits mask = 0;
  for (size_t i = 0; i < in.size(); ++i)
    if (in[i].impl->wants_grad()) mask |= op.saves.for_input(static_cast<int>(i));
  // Ops with any number of inputs name them all.
  if (in.size() < Saves::kMaxInputs) mask &= ~Saves::from(static_cast<int>(in.size()));
  NodePtr node = Node::make(op, in.size(), op.n_outputs(attrs), mask, attrs);
  int slot = 0;
  for (size_t i = 0; i < in.size(); ++i) {
    TensorImpl* t = in[i].impl;
    if (i < Saves::kMaxInputs && mask >> i & 1) {
      if (overwritten && t->storage == overwritten->storage)
        save(*node, slot++, copy_before_write(t));
      else
        save(*node, slot++, values_of(t));
    }
    if (t->wants_grad()) node->inputs()[i] = t->grad_edge();
  }
  if (t_mode.anomaly) [[unlikely]]
    describe_call(*node, in);
  return node;
}

void finish_record(const NodePtr& node, Tensor* outputs) {
  for (int k = 0; k < node->n_outputs; ++k) {
    TensorImpl* out = outputs[k].impl();
    node->outputs()[k] = out->type;
    const int slot = node->saved_index(Saves::kMaxInputs + k);
    // A copy of the handle, without the edge: the result owns the node, not the other way round.
    if (slot >= 0) save(*node, slot, out->alias());
    if (is_floating(out->type.dtype)) {
      out->edge.node = node;
      out->edge.index = static_cast<uint32_t>(k);
    }
  }
}

// -- Computing -------------------------------------------------------------------------------

void run_kernel(const OpDef& op, TensorArgs in, AttrRef attrs, const Array* out) {
  Scratch<Array> arrays(in.size());
  for (size_t i = 0; i < in.size(); ++i) arrays[i] = in[i].impl->array();
  op.kernel({op, arrays.get(), static_cast<int>(in.size()), out, op.n_outputs(attrs), attrs});
}

void compute(const OpDef& op, TensorArgs in, AttrRef attrs, Device device,
             const TensorType* const* types, Tensor* outputs) {
  const int n_outputs = op.n_outputs(attrs);
  Scratch<TensorType*> out_types(n_outputs);
  Scratch<Array, 2> out(n_outputs);
  for (int k = 0; k < n_outputs; ++k) {
    outputs[k] = Tensor(intrusive_ptr<TensorImpl>::adopt(TensorImpl::blank()));
    out_types[k] = &outputs[k].impl()->type;
    out_types[k]->device = device;
  }
  op.infer({op, types, static_cast<int>(in.size()), attrs, out_types.get()});
  // What is made from nothing (full) names its own device, so the outputs say where the op runs.
  bool meta = false;
  for (int k = 0; k < n_outputs; ++k) {
    outputs[k].impl()->allocate();
    out[k] = outputs[k].impl()->array();
    meta |= out_types[k]->device.is_meta();
  }
  if (!meta) run_kernel(op, in, attrs, out.get());
}

void compute_dynamic(const OpDef& op, TensorArgs in, AttrRef attrs, Device device,
                     Tensor* outputs) {
  TANDEM_CHECK(!device.is_meta(), op.name,
               ": the shape of the result depends on values, which meta tensors do not have");
  Scratch<Array> arrays(in.size());
  for (size_t i = 0; i < in.size(); ++i) arrays[i] = in[i].impl->array();
  op.dynamic({op, arrays.get(), static_cast<int>(in.size()), nullptr, op.outputs, attrs}, outputs);
}

Tensor make_view(const OpDef& op, TensorImpl* in, AttrRef attrs, const TensorType* const* types) {
  auto out = intrusive_ptr<TensorImpl>::adopt(TensorImpl::blank());
  TensorType* out_type = &out->type;
  out->type.device = in->type.device;
  op.infer({op, types, 1, attrs, &out_type});
  op.view({op, in->type.sizes, in->strides, out->type.sizes, attrs, out->strides, out->offset});
  out->storage = in->storage;
  if (in->data)
    out->data =
        static_cast<char*>(in->data) + out->offset * static_cast<int64_t>(size_of(in->type.dtype));
  out->offset += in->offset;
  if (out->type.dtype != in->type.dtype)  // view(dtype)
    out->offset = out->offset * static_cast<int64_t>(size_of(in->type.dtype)) /
                  static_cast<int64_t>(size_of(out->type.dtype));
  out->numel = numel_of(out->type.sizes);
  out->contiguous = is_contiguous(out->type.sizes, out->strides);
  out->inference = in->inference;
  out->unversioned = in->unversioned;
  if (!in->inference) {
    auto* step = new ViewStep;
    step->op = &op;
    step->attrs = AttrBox(attrs);
    out->view = new ViewInfo;
    out->view->version.store(out->version(), std::memory_order_relaxed);
    out->view->last = intrusive_ptr<ViewStep>::adopt(step);
    out->view->creation = t_mode.inference ? CreationMeta::INFERENCE_MODE
                          : t_mode.grad    ? CreationMeta::DEFAULT
                                           : CreationMeta::NO_GRAD_MODE;
    if (in->view) {
      out->view->base = intrusive_ptr<TensorImpl>(in->view->root());
      step->previous = in->view->last;
      const CreationMeta before = in->view->creation;
      if (out->view->creation == CreationMeta::DEFAULT || before == CreationMeta::INFERENCE_MODE)
        out->view->creation = before;
    } else {
      out->view->base = intrusive_ptr<TensorImpl>(in);
    }
    if (t_mode.recorder) [[unlikely]]
      t_mode.recorder->made_view(out.get(), in);
  }
  return Tensor(std::move(out));
}

// -- Keeping instead of computing ----------------------------------------------------------------

bool any_pending(TensorArgs in) {
  for (const TensorArg& a : in)
    if (a.impl && (a.impl->is_pending() || !a.impl->data)) return true;
  return false;
}

// Who keeps this call; null if it runs now, and then all values are there. Meta tensors that are
// not part of what is recorded have types only, with or without a recorder.
Recorder* keeper(const OpDef& op, const TensorImpl* self, TensorArgs in) {
  bool meta = self && self->type.device.is_meta(), pending = self && self->is_pending();
  for (const TensorArg& a : in) {
    meta |= a.impl && a.impl->type.device.is_meta();
    pending |= a.impl && a.impl->is_pending();
  }
  if (meta && !pending) return nullptr;
  Recorder* r = t_mode.recorder;
  // Who only defers what would run now does not take calls from those that tensors belong to. A
  // branch or body does: its function is a part of what they keep.
  const auto ask = [&](const TensorImpl* t) {
    if (!t || !t->is_pending() || (r && (r != t_mode.recorder || r->keeps_branches()))) return;
    Recorder* other = t->storage->pending.load(std::memory_order_acquire);
    if (!r || other->follows()) r = other;
  };
  ask(self);
  for (const TensorArg& a : in) ask(a.impl);
  const bool keeps = r && (r == t_mode.recorder || r->follows());
  if (keeps && op.dynamic) r->look(op);
  if (keeps && !op.dynamic) return r;
  const EagerScope now;
  for (const TensorArg& a : in)
    if (a.impl) a.impl->need_values(op.name);
  if (self) const_cast<TensorImpl*>(self)->need_values(op.name);
  return nullptr;
}

SmallVector<TensorImpl*, 4> impls_of(TensorArgs in) {
  SmallVector<TensorImpl*, 4> impls;
  for (const TensorArg& a : in) impls.push_back(a.impl);
  return impls;
}

void keep(Recorder& r, const OpDef& op, TensorArgs in, AttrRef attrs, Tensor* outputs) {
  const auto impls = impls_of(in);
  Node& node = r.add(op, {impls.data(), impls.size()}, attrs);
  for (int k = 0; k < node.n_outputs; ++k)
    outputs[k] = r.bind({NodePtr(&node), static_cast<uint32_t>(k)});
}

// -- In place --------------------------------------------------------------------------------

void check_writable(const char* name, const TensorImpl* self) {
  for (size_t d = 0; d < self->strides.size() && self->numel > 0; ++d)
    TANDEM_CHECK(
        self->strides[d] != 0 || self->type.sizes[d] <= 1, name,
        "_: unsupported operation: more than one element of the written-to tensor refers to a "
        "single memory location. Please clone() the tensor before performing the operation.");
  TANDEM_CHECK(
      !self->inference || t_mode.inference, name,
      "_: Inplace update to inference tensor outside InferenceMode is not allowed. Make a clone() "
      "to get a normal tensor before the in-place update.");
}

void check_result_fits(const OpDef& op, const TensorType& result, const TensorType& self) {
  TANDEM_CHECK_SHAPE(result.sizes == self.sizes, op.name, "_: output with shape ", self.sizes,
                     " doesn't match the broadcast shape ", result.sizes);
  TANDEM_CHECK_TYPE(can_cast(result.dtype, self.dtype), op.name, "_: result type ", result.dtype,
                    " can't be cast to the desired output type ", self.dtype);
}

// True iff writing self element by element could change an input that is still to be read.
bool overlaps(TensorArgs in, const TensorImpl* self) {
  for (const TensorArg& a : in) {
    const TensorImpl* t = a.impl;
    if (t == self || t->storage != self->storage) continue;
    if (t->data != self->data || !(t->strides == self->strides) ||
        !(t->type.sizes == self->type.sizes))
      return true;
  }
  return false;
}

// A request to keep the gradient stays with the tensor, whatever makes its values.
void move_kept_grad(const Edge& before, TensorImpl* t) {
  if (!t->keeps_grad || !before.node || !before.node->extra) return;
  NodeExtra& old = *before.node->extra;
  if (!t->edge.node) t->leaf_node();
  NodeExtra& fresh = t->edge.node->need_extra();
  std::swap(fresh.grads[t->edge.index], old.grads[before.index]);
  fresh.retain[t->edge.index] = old.retain[before.index];
  old.retain[before.index] = false;
}

// The base of a written view now holds what was written: its history continues from there.
void rebase(TensorImpl* self) {
  TensorImpl* base = self->view->root();
  NodePtr node =
      Node::make(kViewScatter, 2, 1, 0,
                 ViewScatterAttrs{{self->view->last}, base->contiguous ? Dims() : base->strides});
  if (base->wants_grad()) node->inputs()[0] = base->edge;
  node->inputs()[1] = self->edge;
  node->outputs()[0] = base->type;
  const Edge before = std::exchange(base->edge, {std::move(node), 0});
  move_kept_grad(before, base);
  self->view->version.store(self->version(), std::memory_order_release);
}

// The result converted to self's type takes the place of what self held.
void keep_written(Recorder& r, const OpDef& op, TensorArgs in, AttrRef attrs, TensorImpl* self) {
  const auto impls = impls_of(in);
  Node& node = r.add(op, {impls.data(), impls.size()}, attrs);
  Edge value{NodePtr(&node), 0};
  if (node.outputs()[0].dtype != self->type.dtype) {
    const Tensor converted = r.bind(value).to(self->type.dtype);
    value = r.value_of(converted.impl());
  }
  r.write(self, value);
}

void write_result(const OpDef& op, TensorArgs in, AttrRef attrs, const TensorType& type,
                  TensorImpl* self) {
  if (op.writes_in_place() && type.dtype == self->type.dtype && !overlaps(in, self)) {
    const Array out = self->array();
    run_kernel(op, in, attrs, &out);
    return;
  }
  const auto fresh = TensorImpl::make(type);
  const Array result = fresh->array(), out = self->array();
  run_kernel(op, in, attrs, &result);
  kCopy.kernel({kCopy, &result, 1, &out, 1, {}});
}

}  // namespace

OpObserver::OpObserver() : outer_(std::exchange(t_observer, this)) {}
OpObserver::~OpObserver() { t_observer = outer_; }

void apply(const OpDef& op, TensorArgs in, AttrRef attrs, Tensor* outputs) {
  Scratch<const TensorType*> types(in.size());
  const Device device = collect_types(op, nullptr, in, types.get());
  Recorder* recorder = nullptr;
  if (!op.view && (t_mode.recorder || any_pending(in))) [[unlikely]]
    recorder = keeper(op, nullptr, in);
  if (recorder)
    keep(*recorder, op, in, attrs, outputs);
  else if (op.view)
    outputs[0] = make_view(op, in[0].impl, attrs, types.get());
  else if (op.dynamic)
    compute_dynamic(op, in, attrs, device, outputs);
  else
    compute(op, in, attrs, device, types.get(), outputs);
  if (t_observer) [[unlikely]]
    t_observer->ran(op);
  if (recording() && op.vjp && any_wants_grad(in))
    finish_record(begin_record(op, in, attrs, nullptr), outputs);
}

// The path of nearly every call: few inputs, one output, a kernel. One pass over the inputs.
Tensor apply(const OpDef& op, TensorArgs in, AttrRef attrs) {
  constexpr size_t kFew = 4;
  Tensor out;
  bool plain = in.size() <= kFew && op.kernel && !t_mode.recorder;
  for (size_t i = 0; i < in.size() && plain; ++i)
    if (TensorImpl* t = in[i].impl) plain = t->data && !t->is_pending();
  if (!plain) {
    apply(op, in, attrs, &out);
    return out;
  }
  const int n = static_cast<int>(in.size());
  const TensorType* types[kFew];
  Scratch<Array, kFew> arrays(kFew);
  const Device* device = nullptr;
  for (int i = 0; i < n; ++i) {
    TensorImpl* t = in[i].impl;
    if (!t) undefined_argument(op, i);
    types[i] = &t->type;
    arrays[i] = t->array();
    if (t->type.weak) continue;
    if (device && !(*device == t->type.device)) mixed_devices(op, *device, t->type.device);
    device = &t->type.device;
  }
  TensorImpl* result = TensorImpl::blank();
  out = Tensor(intrusive_ptr<TensorImpl>::adopt(result));
  if (device) result->type.device = *device;
  TensorType* type = &result->type;
  op.infer({op, types, n, attrs, &type});
  result->allocate();
  if (!result->type.device.is_meta()) {
    const Array array = result->array();
    op.kernel({op, arrays.get(), n, &array, 1, attrs});
  }
  if (t_observer) [[unlikely]]
    t_observer->ran(op);
  if (recording() && op.vjp && any_wants_grad(in))
    finish_record(begin_record(op, in, attrs, nullptr), &out);
  return out;
}

Tensor& apply_inplace(const OpDef& op, const Tensor& self_handle, TensorArgs in, AttrRef attrs) {
  TANDEM_CHECK(self_handle.defined(), op.name, "_: called on an undefined tensor");
  Tensor& result = const_cast<Tensor&>(self_handle);
  TensorImpl* self = self_handle.impl();
  Scratch<const TensorType*> types(in.size());
  TensorType type;
  type.device = collect_types(op, self, in, types.get());
  check_writable(op.name, self);
  TensorType* type_out = &type;
  op.infer({op, types.get(), static_cast<int>(in.size()), attrs, &type_out});
  check_result_fits(op, type, self->type);

  const bool has_history = recording() && self->wants_grad();
  const bool wanted = recording() && any_wants_grad(in);
  if (has_history || wanted) check_history_rebinds(op.name, self);
  const bool record = op.vjp && wanted;
  Recorder* recorder = nullptr;
  if (t_mode.recorder || self->is_pending() || !self->data || any_pending(in)) [[unlikely]]
    recorder = keeper(op, self, in);
  NodePtr node = record ? begin_record(op, in, attrs, self) : nullptr;
  if (recorder)
    keep_written(*recorder, op, in, attrs, self);
  else if (!self->type.device.is_meta())
    write_result(op, in, attrs, type, self);
  self->bump(op.name);
  if (t_observer) [[unlikely]]
    t_observer->ran(op);
  if (!record && !has_history) return result;

  const Edge before = std::exchange(self->edge, {});
  if (node) finish_record(node, &result);
  if (self->keeps_grad) move_kept_grad(before, self);
  if (self->view && is_floating(self->type.dtype)) rebase(self);
  return result;
}

bool any_shared_memory(TensorArgs tensors) {
  // Most often every tensor has a storage of its own, which a table of them shows quickly.
  size_t slots = 16;
  while (slots < 2 * tensors.size()) slots *= 2;
  Scratch<const Storage*, 32> table(slots);
  std::fill_n(table.get(), slots, nullptr);
  for (const TensorArg& a : tensors) {
    const Storage* s = a.impl->storage.get();
    if (!s || a.impl->numel == 0) continue;
    size_t at = (reinterpret_cast<uintptr_t>(s) >> 4) * 0x9e3779b97f4a7c15ULL >> 20;
    for (at &= slots - 1; table[at]; at = (at + 1) & (slots - 1))
      if (table[at] == s) return true;
    table[at] = s;
  }
  return false;
}

void apply_inplace_list(const OpDef& op, TensorArgs in, AttrRef attrs) {
  const auto n = static_cast<size_t>(op.n_outputs(attrs));
  Scratch<const TensorType*> types(in.size());
  const Device device = collect_types(op, nullptr, in, types.get());
  std::vector<TensorType> results(n);
  std::vector<TensorType*> out_types(n);
  for (size_t k = 0; k < n; ++k) {
    results[k].device = device;
    out_types[k] = &results[k];
  }
  op.infer({op, types.get(), static_cast<int>(in.size()), attrs, out_types.data()});
  TANDEM_CHECK(!recording() || !any_wants_grad(in), op.name,
               "_: tensors that are updated as a list must not be part of what is being "
               "differentiated (update them under NoGradGuard)");
  for (size_t k = 0; k < n; ++k) check_writable(op.name, in[k].impl);

  Recorder* recorder = nullptr;
  if (t_mode.recorder || any_pending(in)) [[unlikely]]
    recorder = keeper(op, nullptr, in);
  if (recorder) {
    const auto impls = impls_of(in);
    Node& node = recorder->add(op, {impls.data(), impls.size()}, attrs);
    for (size_t k = 0; k < n; ++k)
      recorder->write(in[k].impl, {NodePtr(&node), static_cast<uint32_t>(k)});
  } else if (!device.is_meta()) {
    std::vector<intrusive_ptr<TensorImpl>> fresh;
    if (any_shared_memory(in))
      for (size_t k = 0; k < n; ++k) fresh.push_back(TensorImpl::make(in[k].impl->type));
    Scratch<Array, 8> out(n);
    for (size_t k = 0; k < n; ++k) out[k] = (fresh.empty() ? in[k].impl : fresh[k].get())->array();
    run_kernel(op, in, attrs, out.get());
    for (size_t k = 0; k < fresh.size(); ++k) {
      const Array to = in[k].impl->array();
      kCopy.kernel({kCopy, &out[k], 1, &to, 1, {}});
    }
  }
  for (size_t k = 0; k < n; ++k) in[k].impl->bump(op.name);
  if (t_observer) [[unlikely]]
    t_observer->ran(op);
}

void check_history_rebinds(const char* name, TensorImpl* self) {
  const bool wants = self->wants_grad();
  if (self->view) {
    TANDEM_CHECK(
        self->view->creation == CreationMeta::DEFAULT, name, "_: A view was created ",
        words(self->view->creation),
        " and is being modified inplace with grad mode enabled. What its gradient should be is "
        "ambiguous: make the view and the write both inside that mode or both outside, or clone() "
        "the view first.");
    TANDEM_CHECK(
        !wants || !self->view->root()->is_leaf(), name,
        "_: a view of a leaf Variable that requires grad is being used in an in-place operation. "
        "(update it under NoGradGuard, or work on a clone())");
  }
  TANDEM_CHECK(
      !wants || !self->is_leaf(), name,
      "_: a leaf Variable that requires grad is being used in an in-place operation. (update it "
      "under NoGradGuard, or work on a clone())");
}

void rebase_history(TensorImpl* self, Edge edge) {
  const Edge before = std::exchange(self->edge, std::move(edge));
  if (self->keeps_grad) move_kept_grad(before, self);
  if (self->view && is_floating(self->type.dtype)) rebase(self);
}

Tensor wrapped_number(const Scalar& value) {
  TensorImpl* t = TensorImpl::blank();
  Tensor out(intrusive_ptr<TensorImpl>::adopt(t));
  t->type.dtype = value.type();
  t->allocate();
  t->type.weak = true;
  t->inference = false;
  if (value.isFloatingPoint())
    *static_cast<double*>(t->data) = value.toDouble();
  else if (value.isBoolean())
    *static_cast<bool*>(t->data) = value.toBool();
  else
    *static_cast<int64_t*>(t->data) = value.toLong();
  return out;
}

}  // namespace tandem
