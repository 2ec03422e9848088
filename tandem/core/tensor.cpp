#include "tandem/core/tensor.h"

#include "tandem/base/warning.h"
#include "tandem/core/node_extra.h"
#include "tandem/core/recorder.h"

namespace tandem {

void Tensor::note_seen() const { t_mode.recorder->note_seen(impl_.get()); }

void Tensor::fail_undefined() {
  TANDEM_CHECK(false, "the tensor is undefined: it was never given a value");
  __builtin_unreachable();
}

void Tensor::expect_dtype(DType t) const {
  TANDEM_CHECK_TYPE(dtype() == t, "expected scalar type ", t, " but found ", dtype());
}

void Tensor::expect_dim(size_t n) const {
  TANDEM_CHECK_SHAPE(static_cast<size_t>(dim()) == n, "accessor: TensorAccessor expected ", n,
                     " dims but tensor has ", dim());
}

int64_t Tensor::size(int64_t d) const {
  TANDEM_CHECK_INDEX(dim() > 0, "size: Dimension specified as ", d,
                     " but tensor has no dimensions");
  return sizes()[wrap_dim("size", d, dim())];
}

int64_t Tensor::stride(int64_t d) const {
  TANDEM_CHECK_INDEX(dim() > 0, "stride: Dimension specified as ", d,
                     " but tensor has no dimensions");
  return strides()[wrap_dim("stride", d, dim())];
}

TensorOptions Tensor::options() const {
  return TensorOptions().dtype(dtype()).device(device()).layout(kStrided);
}

bool Tensor::is_contiguous(MemoryFormat f) const {
  const TensorImpl& t = checked();
  if (f == MemoryFormat::Contiguous || f == MemoryFormat::Preserve) return t.contiguous;
  // Channels last: the order of dimensions is N, spatial..., C.
  const size_t n = f == MemoryFormat::ChannelsLast ? 4 : 5;
  if (t.type.sizes.size() != n) return false;
  Dims sizes{t.type.sizes[0]}, strides{t.strides[0]};
  for (size_t d = 2; d < n; ++d) sizes.push_back(t.type.sizes[d]), strides.push_back(t.strides[d]);
  sizes.push_back(t.type.sizes[1]), strides.push_back(t.strides[1]);
  return tandem::is_contiguous(sizes, strides);
}

bool Tensor::is_non_overlapping_and_dense() const {
  const TensorImpl& t = checked();
  if (t.contiguous) return true;
  std::vector<std::pair<int64_t, int64_t>> by_stride;
  for (size_t d = 0; d < t.strides.size(); ++d)
    if (t.type.sizes[d] != 1) by_stride.emplace_back(t.strides[d], t.type.sizes[d]);
  std::sort(by_stride.begin(), by_stride.end());
  int64_t step = 1;
  for (auto [stride, size] : by_stride) {
    if (stride != step) return false;
    step *= size;
  }
  return true;
}

bool Tensor::is_set_to(const Tensor& o) const {
  return is_alias_of(o) && storage_offset() == o.storage_offset() && sizes() == o.sizes() &&
         strides() == o.strides();
}

bool Tensor::is_nonzero() const {
  TANDEM_CHECK(numel() == 1, "Boolean value of Tensor with ",
               numel() == 0 ? "no values" : "more than one value", " is ambiguous");
  return item().toBool();
}

std::string Tensor::toString() const { return defined() ? type().toString() : "UndefinedType"; }

void* Tensor::data_ptr() const {
  const void* data = const_data_ptr();
  impl_->storage->expose();
  return const_cast<void*>(data);
}

const Storage& Tensor::StorageView::storage() const {
  TANDEM_CHECK(tensor_->storage, "storage: the tensor has no storage");
  return *tensor_->storage;
}
void* Tensor::StorageView::data() const {
  TANDEM_CHECK(!device().is_meta(), "storage: a tensor on the meta device has no values");
  tensor_->need_values("storage().data");
  tensor_->storage->expose();
  return tensor_->storage->nbytes == 0 ? nullptr : tensor_->storage->data;
}

const void* Tensor::const_data_ptr() const {
  TensorImpl& t = checked();
  TANDEM_CHECK(!t.type.device.is_meta(), "data_ptr: a tensor on the meta device has no values");
  t.need_values("data_ptr");
  return t.storage->nbytes == 0 ? nullptr : t.data;  // nothing was allocated
}

Scalar Tensor::item() const {
  TensorImpl& t = checked();
  TANDEM_CHECK_SHAPE(t.numel == 1, "item: a Tensor with ", t.numel,
                     " elements cannot be converted to Scalar (its shape is ", t.type.sizes, ")");
  t.need_values("item");
  TANDEM_CHECK(t.data, "item: a tensor on the meta device has no values");
  return dispatch(t.type.dtype,
                  [&]<class T>(T) -> Scalar { return Scalar(*static_cast<T*>(t.data)); });
}

// -- gradients --------------------------------------------------------------------------------

const Tensor& Tensor::set_requires_grad(bool on) const {
  TensorImpl& t = checked();
  TANDEM_CHECK(
      !on || is_floating(t.type.dtype),
      "requires_grad: Only Tensors of floating point and complex dtype can require gradients, not ",
      name_of(t.type.dtype));
  if (!t.is_leaf()) {
    TANDEM_CHECK(
        on,
        "requires_grad: you can only change requires_grad flags of leaf variables. If you want "
        "to use a computed variable in a subgraph that doesn't require differentiation use "
        "var_no_grad = var.detach().");
    return *this;
  }
  TANDEM_CHECK(
      !on || !t.inference || t_mode.inference,
      "requires_grad: Setting requires_grad=True on inference tensor outside InferenceMode is "
      "not allowed.");
  t.requires_grad = on;
  if (on) t.leaf_node();
  return *this;
}

Tensor& Tensor::requires_grad_(bool on) const {
  set_requires_grad(on);
  return const_cast<Tensor&>(*this);
}

const Tensor& Tensor::grad() const {
  static const Tensor none;
  TensorImpl& t = checked();
  const bool leaf = t.is_leaf();
  if (t_mode.recorder && t.edge.node && t.edge.node->is_leaf()) [[unlikely]]
    t_mode.recorder->touch_grad(*t.edge.node);
  const NodeExtra* extra = t.edge.node ? t.edge.node->extra : nullptr;
  if (extra && extra->grads[t.edge.index].defined()) return extra->grads[t.edge.index];
  if (!leaf && !(extra && extra->retain[t.edge.index])) [[unlikely]]
    TANDEM_WARN(
        "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad "
        "attribute "
        "won't be populated during autograd.backward(). If you indeed want the .grad field to be "
        "populated "
        "for a non-leaf Tensor, use .retain_grad() on the non-leaf Tensor.");
  return none;
}

Tensor& Tensor::mutable_grad() const {
  TensorImpl& t = checked();
  t.wants_grad();
  Node& node = t.edge.node ? *t.edge.node : t.leaf_node();
  t.keeps_grad = true;
  if (t_mode.recorder && node.is_leaf()) [[unlikely]]
    t_mode.recorder->touch_grad(node);
  return node.need_extra().grads[t.edge.index];
}

NodePtr Tensor::grad_fn() const {
  TensorImpl& t = checked();
  if (t.requires_grad || t.grad_edge().node == nullptr || t.edge.node->is_leaf()) return nullptr;
  return t.edge.node;
}

int64_t Tensor::_version() const {
  TANDEM_CHECK(!checked().inference, "_version: Inference tensors do not track version counter.");
  return checked().version();
}

Tensor Tensor::_base() const {
  TANDEM_CHECK(is_view(), "_base: Can't get base of non-view Variable");
  return Tensor(intrusive_ptr<TensorImpl>(checked().view->root()));
}

void Tensor::retain_grad() const {
  TensorImpl& t = checked();
  TANDEM_CHECK(t.wants_grad(),
               "retain_grad: can't retain_grad on Tensor that has requires_grad=False");
  if (t.is_leaf()) return;  // a leaf keeps its gradient anyway
  t.keeps_grad = true;
  t.edge.node->need_extra().retain[t.edge.index] = true;
}

bool Tensor::retains_grad() const {
  TensorImpl& t = checked();
  return !t.is_leaf() && t.edge.node->extra && t.edge.node->extra->retain[t.edge.index];
}

unsigned Tensor::add_hook(std::function<Tensor(const Tensor&)> hook) const {
  TensorImpl& t = checked();
  TANDEM_CHECK(t.wants_grad() && t.grad_edge().node,
               "register_hook: cannot register a hook on a variable that doesn't require gradient");
  NodeExtra& extra = t.edge.node->need_extra();
  const unsigned number = extra.next_hook++;
  extra.hooks.push_back({number, t.edge.index, std::move(hook)});
  return number;
}

void Tensor::remove_hook(unsigned number) const {
  TensorImpl& t = checked();
  NodeExtra* extra = t.wants_grad() && t.edge.node ? t.edge.node->extra : nullptr;
  const size_t removed =
      extra ? std::erase_if(extra->hooks, [&](const auto& h) { return h.number == number; }) : 0;
  TANDEM_CHECK(removed == 1, "remove_hook: Invalid index: there is no hook with number ", number);
}

namespace {

// What is recorded tells tensors from outside by their identity, and an alias has another one.
Tensor told(const Tensor& of, intrusive_ptr<TensorImpl> alias) {
  if (t_mode.recorder) [[unlikely]]
    t_mode.recorder->made_alias(alias.get(), of);
  return Tensor(std::move(alias));
}

}  // namespace

Tensor Tensor::detach() const { return told(*this, checked().alias()); }

Tensor& Tensor::detach_() const {
  TensorImpl& t = checked();
  TANDEM_CHECK(!t.view, "detach_: Can't detach views in-place. Use detach() instead");
  t.requires_grad = false;
  t.edge = {};
  return const_cast<Tensor&>(*this);
}

Tensor Tensor::data() const {
  auto t = checked().alias();
  t->unversioned = true;
  return told(*this, std::move(t));
}

void Tensor::set_data(const Tensor& source) const {
  TensorImpl& t = checked();
  const TensorImpl& s = source.checked();
  TANDEM_CHECK_TYPE(!t.requires_grad || is_floating(s.type.dtype),
                    "set_data: a tensor that requires gradients needs floating point values, not ",
                    name_of(s.type.dtype));
  if (t_mode.recorder) [[unlikely]]
    t_mode.recorder->changing(&t);
  t.type = s.type;
  t.strides = s.strides;
  t.numel = s.numel;
  t.offset = s.offset;
  t.storage = s.storage;
  t.data = s.data;
  t.contiguous = s.contiguous;
  if (t.edge.node && t.edge.node->is_leaf()) t.edge.node->outputs()[0] = t.type;
}

Tensor& Tensor::operator=(const Tensor& o) && { return copy_(o); }
Tensor& Tensor::operator=(Tensor&& o) && { return copy_(o); }
Tensor& Tensor::operator=(const Scalar& v) && { return fill_(v); }

std::string DeprecatedTypeProperties::toString() const {
  return str(device_.is_cpu() ? "CPU" : DeviceTypeName(device_.type(), false),
             tandem::toString(dtype_), "Type");
}

std::ostream& operator<<(std::ostream& out, const DeprecatedTypeProperties& t) {
  return out << t.toString();
}

std::ostream& operator<<(std::ostream& out, const TensorOptions& o) {
  return out << "TensorOptions(dtype=" << detail::kDTypeInfo[static_cast<int>(o.dtype())].torch_name
             << (o.has_dtype() ? "" : " (default)") << ", device=" << o.device()
             << (o.has_device() ? "" : " (default)") << ", layout=" << o.layout()
             << (o.has_layout() ? "" : " (default)")
             << ", requires_grad=" << (o.requires_grad() ? "true" : "false")
             << (o.has_requires_grad() ? "" : " (default)")
             << ", pinned_memory=" << (o.pinned_memory() ? "true" : "false")
             << (o.has_pinned_memory() ? "" : " (default)")
             << ", memory_format=" << (o.has_memory_format() ? "Contiguous" : "(nullopt)") << ")";
}

}  // namespace tandem
