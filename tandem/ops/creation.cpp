#include "tandem/ops/creation.h"

#include "tandem/core/apply.h"
#include "tandem/kernels/map.h"
#include "tandem/ops/batch_detail.h"
#include "tandem/ops/creation_op.h"
#include "tandem/ops/fits_detail.h"

namespace tandem {
namespace {

void fill_array(const Array& out, const Scalar& value) {
  if (value.isFloatingPoint())
    kernels::fill(out, value.toDouble());
  else
    kernels::fill(out, value.toLong());
}

// Wishes that only some builds or layouts can grant are refused, not ignored.
void check_options(const char* op, const TensorOptions& o) {
  TANDEM_CHECK(!o.has_memory_format() || o.memory_format_opt() != MemoryFormat::Preserve, op,
               ": the memory format Preserve needs a tensor to preserve the format of");
  TANDEM_CHECK(o.layout() == kStrided, op, ": tensors are strided; there are none of layout ",
               o.layout());
  TANDEM_CHECK(!o.requires_grad() || is_floating(o.dtype()), op,
               ": Only Tensors of floating point and complex dtype can require gradients");
}

Tensor finish(Tensor t, const TensorOptions& o) {
  if (o.requires_grad()) t.set_requires_grad(true);
  return t;
}

}  // namespace

TANDEM_OP(kFull) = {
    .name = "full",
    .infer =
        [](const InferArgs& a) {
          const auto& f = a.attrs<FullAttrs>();
          a.out().sizes = f.sizes;
          a.out().dtype = f.dtype;
          a.out().device = f.device;
        },
    .kernel = [](const KernelArgs& a) { fill_array(a.out(), a.attrs<FullAttrs>().value); },
    .attrs = attrs_of<FullAttrs>,
    .inputs = 0,
};

// The type of its input with one value everywhere: what fill_ and zero_ leave behind.
TANDEM_OP(kFill) = {
    .name = "fill",
    .infer =
        [](const InferArgs& a) {
          a.out().sizes = a.in().sizes;
          a.out().dtype = a.in().dtype;
        },
    .kernel = [](const KernelArgs& a) { fill_array(a.out(), a.attrs<FillAttrs>().value); },
    .vjp = [](const VjpArgs& a) -> Grads { return {zeros_like(a.grad())}; },
    .inplace = true,
    .attrs = attrs_of<FillAttrs>,
    .batch = batch_leading,
    .inputs = 1,
};

Tensor empty(IntArrayRef size, const TensorOptions& o, std::optional<MemoryFormat> f) {
  check_options("empty", o.merge_memory_format(f));
  TensorType type;
  type.sizes = size;
  type.dtype = o.dtype();
  type.device = o.device();
  return finish(Tensor(TensorImpl::make(type)), o);
}

Tensor full(IntArrayRef size, const Scalar& value, const TensorOptions& o) {
  DType t = o.dtype();
  if (!o.has_dtype() && !value.isFloatingPoint()) t = value.type();
  check_options("full", o.dtype(t));
  detail::check_fits("full", value, t);
  numel_of(size);
  // The node of a full is of use to a recorder only: its result never needs a gradient.
  return finish(apply(kFull, {}, FullAttrs{size, t, o.device(), value}), o);
}

Tensor zeros(IntArrayRef size, const TensorOptions& o) { return full(size, 0, o.dtype(o.dtype())); }
Tensor ones(IntArrayRef size, const TensorOptions& o) { return full(size, 1, o.dtype(o.dtype())); }

Tensor empty_like(const Tensor& t, const TensorOptions& o, std::optional<MemoryFormat>) {
  return empty(t.sizes(), t.options().merge_in(o));
}
Tensor full_like(const Tensor& t, const Scalar& value, const TensorOptions& o,
                 std::optional<MemoryFormat>) {
  return full(t.sizes(), value, t.options().merge_in(o));
}
Tensor zeros_like(const Tensor& t, const TensorOptions& o, std::optional<MemoryFormat>) {
  return full(t.sizes(), 0, t.options().merge_in(o));
}
Tensor ones_like(const Tensor& t, const TensorOptions& o, std::optional<MemoryFormat>) {
  return full(t.sizes(), 1, t.options().merge_in(o));
}
Tensor scalar_tensor(const Scalar& value, const TensorOptions& o) {
  return full({}, value, o.dtype(o.dtype()));
}

Tensor& Tensor::fill_(const Scalar& v) const {
  detail::check_fits("fill_", v, dtype());
  return apply_inplace(kFill, *this, {*this}, FillAttrs{v});
}
Tensor fill(const Tensor& x, const Scalar& value) {
  detail::check_fits("fill", value, x.dtype());
  return apply(kFill, {x}, FillAttrs{value});
}
Tensor fill(const Tensor& x, const Tensor& value) { return x.clone().fill_(value); }
Tensor& Tensor::fill_(const Tensor& v) const {
  TANDEM_CHECK_SHAPE(v.dim() == 0,
                     "fill_: fill_ only supports 0-dimension value tensor but got tensor with ",
                     v.dim(), " dimensions.");
  return copy_(v);
}
Tensor& Tensor::zero_() const { return fill_(0); }

Tensor& Tensor::fill_diagonal_(const Scalar& v, bool wrap) const {
  TANDEM_CHECK_SHAPE(dim() >= 2, "fill_diagonal_: dimensions must larger than 1, got ", dim());
  bool equal = true;
  for (const int64_t n : sizes()) equal = equal && n == size(0);
  TANDEM_CHECK_SHAPE(dim() == 2 || equal,
                     "fill_diagonal_: all dimensions of input must be of equal length, got ",
                     sizes());
  // A matrix's diagonal begins again one row below its end.
  const int64_t step = dim() == 2 ? size(1) + 1 : size(0) + 1;
  for (int64_t row = 0; row == 0 || (wrap && dim() == 2 && row < size(0)); row += step) {
    Tensor diagonal = narrow(0, row, size(0) - row);
    while (diagonal.dim() > 1) diagonal = diagonal.diagonal(0, 0, 1);
    diagonal.fill_(v);
  }
  return const_cast<Tensor&>(*this);
}

Tensor Tensor::new_empty(IntArrayRef size, const TensorOptions& o) const {
  return empty(size, options().merge_in(o));
}
Tensor Tensor::new_empty_strided(IntArrayRef size, IntArrayRef strides,
                                 const TensorOptions& o) const {
  return empty_strided(size, strides, options().merge_in(o));
}
Tensor Tensor::new_full(IntArrayRef size, const Scalar& v, const TensorOptions& o) const {
  return full(size, v, options().merge_in(o));
}
Tensor Tensor::new_zeros(IntArrayRef size, const TensorOptions& o) const {
  return zeros(size, options().merge_in(o));
}
Tensor Tensor::new_ones(IntArrayRef size, const TensorOptions& o) const {
  return ones(size, options().merge_in(o));
}
Tensor Tensor::new_tensor(const Tensor& values, const TensorOptions& o) const {
  return finish(values.detach().to(options().merge_in(o), false, /*copy=*/true), o);
}

Tensor from_blob(void* data, IntArrayRef size, IntArrayRef strides,
                 const std::function<void(void*)>& deleter, const TensorOptions& o) {
  check_options("from_blob", o);
  TANDEM_CHECK(o.device().is_cpu(), "from_blob: memory outside Tandem is on the cpu, not on ",
               o.device());
  TANDEM_CHECK_SHAPE(size.size() == strides.size(), "from_blob: ", size.size(), " sizes and ",
                     strides.size(), " strides were given");
  auto t = intrusive_ptr<TensorImpl>::adopt(TensorImpl::blank());
  t->type.sizes = size;
  t->type.dtype = o.dtype();
  t->numel = numel_of(size);
  TANDEM_CHECK(data || t->numel == 0, "from_blob: the pointer is null and the shape is ", size);
  int64_t last = t->numel ? 1 : 0;
  for (size_t d = 0; d < size.size(); ++d) {
    TANDEM_CHECK_SHAPE(strides[d] >= 0, "from_blob: strides must not be negative: ", strides);
    if (t->numel) last += (size[d] - 1) * strides[d];
  }
  t->strides = strides;
  t->contiguous = is_contiguous(size, strides);
  t->inference = t_mode.inference;
  t->storage = Storage::foreign(data, last * static_cast<int64_t>(size_of(o.dtype())), deleter);
  t->data = data;
  return finish(Tensor(std::move(t)), o);
}
Tensor from_blob(void* data, IntArrayRef size, const TensorOptions& o) {
  return from_blob(data, size, contiguous_strides(size), nullptr, o);
}
Tensor from_blob(void* data, IntArrayRef size, IntArrayRef strides, const TensorOptions& o) {
  return from_blob(data, size, strides, nullptr, o);
}
Tensor from_blob(void* data, IntArrayRef size, const std::function<void(void*)>& deleter,
                 const TensorOptions& o) {
  return from_blob(data, size, contiguous_strides(size), deleter, o);
}

}  // namespace tandem
