#include "tandem/ops/copy.h"

#include "tandem/core/apply.h"
#include "tandem/core/recorder.h"
#include "tandem/kernels/map.h"
#include "tandem/ops/batch_detail.h"
#include "tandem/ops/copy_op.h"
#include "tandem/ops/creation.h"

namespace tandem {
namespace {

void infer_copy(const InferArgs& a) {
  const auto& c = a.attrs<CopyAttrs>();
  const Dims shape = broadcast_shapes(a.op.name, c.sizes, a.in(a.n_inputs - 1).sizes);
  TANDEM_CHECK_SHAPE(shape == c.sizes, a.op.name, ": a tensor of shape ",
                     a.in(a.n_inputs - 1).sizes, " cannot be broadcast to ", c.sizes);
  a.out().sizes = c.sizes;
  a.out().dtype = c.dtype;
}

void copy_batch(const BatchArgs& a) {
  const auto& c = a.attrs<CopyAttrs>();
  SmallVector<Tensor, 4> inputs;
  if (a.n_inputs == 2) inputs.push_back(a.sample(0));
  inputs.push_back(aligned(a, a.n_inputs - 1, static_cast<int64_t>(c.sizes.size())));
  apply_to(a.op, inputs, CopyAttrs{batched_sizes(a, c.sizes), c.dtype}, a.outputs);
}

void infer_hidden_write(const InferArgs& a) {
  TANDEM_CHECK_SHAPE(a.in(0).sizes == a.in(1).sizes, a.op.name, ": ", a.in(1).sizes,
                     " cannot take the place of ", a.in(0).sizes);
  TANDEM_CHECK_TYPE(a.in(0).dtype == a.in(1).dtype, a.op.name, ": ", name_of(a.in(1).dtype),
                    " cannot take the place of ", name_of(a.in(0).dtype));
  a.out() = a.in(1);
}

void copy_kernel(const KernelArgs& a) { kernels::copy(a.in(a.n_inputs - 1), a.out()); }

}  // namespace

// Fresh memory with the input's values, broadcast to a shape and converted to a dtype: clone,
// contiguous and to(dtype) are all this.
TANDEM_OP(kCopy) = {
    .name = "copy",
    .infer = infer_copy,
    .kernel = copy_kernel,
    .vjp = [](const VjpArgs& a) -> Grads { return {a.grad()}; },
    .inplace = true,
    .attrs = attrs_of<CopyAttrs>,
    .batch = copy_batch,
    .inputs = 1,
};

// What copy_ leaves behind: the second input in the type of the first.
TANDEM_OP(kCopyInto) = {
    .name = "copy_into",
    .infer = infer_copy,
    .kernel = copy_kernel,
    .vjp = [](const VjpArgs& a) -> Grads {
      return {a.needs(0) ? zeros_like(a.grad()) : Tensor(), a.grad()};
    },
    .inplace = true,
    .attrs = attrs_of<CopyAttrs>,
    .batch = copy_batch,
    .inputs = 2,
};

TANDEM_OP(kDetach) = {
    .name = "detach",
    .infer = [](const InferArgs& a) { a.out() = a.in(); },
    .kernel = copy_kernel,
    .batch = [](const BatchArgs& a) { apply_to(a.op, {a.sample()}, {}, a.outputs); },
    .inputs = 1,
};

TANDEM_OP(kHiddenWrite) = {
    .name = "hidden_write",
    .infer = infer_hidden_write,
    .kernel = copy_kernel,
    .vjp = [](const VjpArgs& a) -> Grads {
      return {a.grad(), Tensor()};
    },
    .batch =
        [](const BatchArgs& a) {
          apply_to(a.op, {a.sample(0), a.sample(1)}, {}, a.outputs);
        },
    .inputs = 2,
};

Tensor Tensor::clone(std::optional<MemoryFormat>) const {
  return apply(kCopy, {*this}, CopyAttrs{sizes(), dtype()});
}

Tensor Tensor::contiguous(MemoryFormat f) const {
  if (is_contiguous(f)) return *this;
  TANDEM_CHECK(
      f == MemoryFormat::Contiguous || f == MemoryFormat::Preserve,
      "contiguous: Tandem keeps tensors in row-major order; the channels-last format is chosen "
      "by the compiler where it is faster");
  return clone();
}

Tensor& Tensor::copy_(const Tensor& source, bool) const {
  TANDEM_CHECK(source.defined(), "copy_: the source is an undefined tensor");
  if (is_same(source)) return const_cast<Tensor&>(*this);
  return apply_inplace(kCopyInto, *this, {*this, source}, CopyAttrs{sizes(), dtype()});
}

Tensor Tensor::to(const TensorOptions& o, bool, bool copy, std::optional<MemoryFormat>) const {
  TANDEM_CHECK(
      !o.requires_grad(),
      "to(options) expects unset requires_grad flag, but got options.requires_grad set to true");
  const DType t = o.has_dtype() ? o.dtype() : dtype();
  const Device d = o.has_device() ? o.device() : device();
  if (!(d == device())) {
    TANDEM_CHECK(is_available(d.type()), "to: device ", d,
                 " is not available in this build of Tandem; tensors can live on: cpu, meta");
    TANDEM_CHECK(
        !device().is_meta(),
        "to: Cannot copy out of meta tensor; no data! Use empty_like on the device instead");
    return empty(sizes(), TensorOptions().dtype(t).device(d));
  }
  if (t == dtype() && !copy) return *this;
  return apply(kCopy, {*this}, CopyAttrs{sizes(), t});
}
Tensor Tensor::to(DType t, bool n, bool copy, std::optional<MemoryFormat> f) const {
  return to(TensorOptions(t), n, copy, f);
}
Tensor Tensor::to(Device d, DType t, bool n, bool copy, std::optional<MemoryFormat> f) const {
  return to(TensorOptions(t).device(d), n, copy, f);
}
Tensor Tensor::to(const Tensor& like, bool n, bool copy, std::optional<MemoryFormat> f) const {
  return to(like.options(), n, copy, f);
}

Tensor clone(const Tensor& x, std::optional<MemoryFormat> f) { return x.clone(f); }

Tensor& Tensor::resize_(IntArrayRef size) const {
  TensorImpl& t = checked();
  TANDEM_CHECK(!t.requires_grad, "resize_: cannot resize variables that require grad");
  TANDEM_CHECK(!t.view, "resize_: a view cannot be resized");
  if (t_mode.recorder) [[unlikely]]
    t_mode.recorder->changing(&t);
  const int64_t n = numel_of(size);
  const int64_t bytes = (t.offset + n) * static_cast<int64_t>(itemsize());
  if (bytes > t.storage->nbytes) {
    TensorType type = t.type;
    type.sizes = size;
    const auto bigger = TensorImpl::make(type);
    const int64_t keep = std::min(t.numel, n);
    const int64_t one = 1;
    const Array from{t.data, &keep, &one, keep, 1, t.type.dtype, true};
    const Array to{bigger->data, &keep, &one, keep, 1, t.type.dtype, true};
    if (t.contiguous) kernels::copy(from, to);
    t.storage = bigger->storage;
    t.offset = 0;
    t.data = t.storage->data;
  }
  t.type.sizes = size;
  t.strides = contiguous_strides(size);
  t.numel = n;
  t.contiguous = true;
  t.bump("resize");
  return const_cast<Tensor&>(*this);
}

Tensor& Tensor::set_(const Tensor& source) const {
  TANDEM_CHECK(!requires_grad(), "set_: cannot be called on a tensor that requires grad");
  set_data(source);
  return const_cast<Tensor&>(*this);
}

}  // namespace tandem
