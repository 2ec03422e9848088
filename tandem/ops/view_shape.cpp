// Shape functions that are made of the views in view.cpp, and the free forms of
// all of them.
#include <numeric>

#include "tandem/core/recorder.h"
#include "tandem/ops/copy.h"
#include "tandem/ops/view.h"
#include "tandem/ops/view_detail.h"

namespace tandem {

// -- flatten, unflatten, movedim
// ------------------------------------------------------------------

Tensor Tensor::flatten(int64_t start, int64_t end) const {
  start = wrap_dim("flatten", start, dim());
  end = wrap_dim("flatten", end, dim());
  TANDEM_CHECK_SHAPE(start <= end,
                     "flatten() has invalid args: start_dim cannot come after end_dim: ", start,
                     " > ", end);
  if (dim() == 0) return reshape({1});
  if (start == end) return *this;
  Dims sizes;
  for (int64_t d = 0; d < start; ++d) sizes.push_back(this->sizes()[d]);
  int64_t merged = 1;
  for (int64_t d = start; d <= end; ++d) merged *= this->sizes()[d];
  sizes.push_back(merged);
  for (int64_t d = end + 1; d < dim(); ++d) sizes.push_back(this->sizes()[d]);
  return reshape(sizes);
}

Tensor Tensor::unflatten(int64_t dim, IntArrayRef sizes) const {
  TANDEM_CHECK_SHAPE(!sizes.empty(), "unflatten: sizes must be non-empty");
  TANDEM_CHECK_SHAPE(this->dim() > 0, "unflatten: a 0-d tensor has no dimension to divide");
  dim = wrap_dim("unflatten", dim, this->dim());
  const int64_t n = this->sizes()[dim];
  int64_t product = 1;
  bool open = false;
  for (int64_t s : sizes) {
    open |= s == -1;
    product *= s == -1 ? 1 : s;
  }
  TANDEM_CHECK_SHAPE(open ? product != 0 && n % product == 0 : product == n,
                     "unflatten: Provided sizes ", sizes, " don't multiply up to the size of dim ",
                     dim, " (", n, ") in the input tensor");
  const Dims parts = detail::complete_sizes("unflatten", sizes, n);
  Dims full;
  for (int64_t d = 0; d < this->dim(); ++d) {
    if (d == dim)
      full.append(parts.begin(), parts.end());
    else
      full.push_back(this->sizes()[d]);
  }
  return view(full);
}

Tensor Tensor::movedim(IntArrayRef from, IntArrayRef to) const {
  TANDEM_CHECK(from.size() == to.size(), "movedim: Invalid source or destination dims: source (",
               from, " dims) should contain the same number of dims as destination (", to,
               " dims)");
  const int64_t n = dim();
  Dims order(n, -1);
  std::vector<bool> taken(n);
  for (size_t i = 0; i < from.size(); ++i) {
    TANDEM_CHECK_INDEX(n > 0 || from.empty(), "movedim: a 0-d tensor has no dimensions to move");
    const int64_t s = wrap_dim("movedim", from[i], n), d = wrap_dim("movedim", to[i], n);
    TANDEM_CHECK(!taken[s], "movedim: repeated dim in `source` (", from, ")");
    TANDEM_CHECK(order[d] < 0, "movedim: repeated dim in `destination` (", to, ")");
    taken[s] = true;
    order[d] = s;
  }
  int64_t next = 0;
  for (int64_t& d : order) {
    if (d >= 0) continue;
    while (taken[next]) ++next;
    d = next++;
  }
  return permute(order);
}

Tensor Tensor::movedim(int64_t from, int64_t to) const {
  if (dim() == 0) {
    wrap_dim("movedim", from, 0);
    wrap_dim("movedim", to, 0);
    return alias();
  }
  return movedim(IntArrayRef(from), IntArrayRef(to));
}

// -- views in place: the tensor itself changes its shape
// --------------------------------------------

namespace {

// Gives `self` the shape, strides and history of a view of it.
template <class F>
Tensor& become(const char* op, const Tensor& self, F make_view) {
  TANDEM_CHECK(self.defined(), op, "_: called on an undefined tensor");
  TensorImpl& t = *self.impl();
  TANDEM_CHECK(!t_mode.grad || !t.requires_grad, op,
               "_: a leaf Variable that requires grad is being used in an "
               "in-place operation.");
  if (t_mode.recorder) [[unlikely]]
    t_mode.recorder->changing(&t);
  Tensor view;
  {
    InferenceMode off(false);  // a changed shape needs a matching history, whatever the mode
    // Others look at a base through views that were made for its shape: they go
    // on with a copy of the handle, and the base becomes a view of that.
    const bool shared = !t.view && !t.requires_grad && !t.inference &&
                        t.storage->refs.load(std::memory_order_relaxed) > 1;
    if (shared) {
      auto base = t.alias();
      base->edge = t.edge;
      view = make_view(Tensor(std::move(base)));
    } else {
      view = make_view(self);
    }
    if (shared || t.view) {
      if (!t.view) t.view = new ViewInfo;
      t.view->base = view.impl()->view->base;
      t.view->last = view.impl()->view->last;
    }
  }
  const TensorImpl& v = *view.impl();
  t.type = v.type;
  t.strides = v.strides;
  t.contiguous = v.contiguous;
  t.numel = v.numel;
  t.offset = v.offset;
  t.data = v.data;
  if (t.edge.node && t.edge.node->op == &kLeaf)
    t.edge.node->outputs()[0] = t.type;
  else
    t.edge = v.edge;
  t.bump(op);
  if (t.view) t.view->version.store(t.version(), std::memory_order_release);
  return const_cast<Tensor&>(self);
}

}  // namespace

Tensor& Tensor::squeeze_() const {
  return become("squeeze", *this, [](const Tensor& x) { return x.squeeze(); });
}
Tensor& Tensor::squeeze_(int64_t dim) const {
  return become("squeeze", *this, [&](const Tensor& x) { return x.squeeze(dim); });
}
Tensor& Tensor::unsqueeze_(int64_t dim) const {
  return become("unsqueeze", *this, [&](const Tensor& x) { return x.unsqueeze(dim); });
}
Tensor& Tensor::t_() const {
  return become("t", *this, [](const Tensor& x) { return x.t(); });
}
Tensor& Tensor::transpose_(int64_t a, int64_t b) const {
  return become("transpose", *this, [&](const Tensor& x) { return x.transpose(a, b); });
}
Tensor& Tensor::swapaxes_(int64_t a, int64_t b) const { return transpose_(a, b); }
Tensor& Tensor::swapdims_(int64_t a, int64_t b) const { return transpose_(a, b); }
Tensor& Tensor::as_strided_(IntArrayRef size, IntArrayRef stride,
                            std::optional<int64_t> offset) const {
  TANDEM_CHECK(!requires_grad(),
               "as_strided_: not for tensors that need a gradient; use as_strided");
  return become("as_strided", *this, [&](const Tensor& x) {
    Tensor view = x.as_strided(size, stride, offset);
    TANDEM_CHECK(view.is_view(), "as_strided_: ", size, " with strides ", stride,
                 " reaches outside of the tensor");
    return view;
  });
}

// -- functions of several tensors
// -----------------------------------------------------------------

std::vector<Tensor> broadcast_tensors(TensorList tensors) {
  Dims shape;
  for (const Tensor& t : tensors) shape = broadcast_shapes("broadcast_tensors", shape, t.sizes());
  std::vector<Tensor> result;
  for (const Tensor& t : tensors) result.push_back(t.expand(shape));
  return result;
}

Tensor atleast_1d(const Tensor& x) { return x.dim() == 0 ? x.reshape({1}) : x; }
Tensor atleast_2d(const Tensor& x) {
  if (x.dim() == 0) return x.reshape({1, 1});
  return x.dim() == 1 ? x.unsqueeze(0) : x;
}
Tensor atleast_3d(const Tensor& x) {
  if (x.dim() == 0) return x.reshape({1, 1, 1});
  if (x.dim() == 1) return x.unsqueeze(0).unsqueeze(-1);
  return x.dim() == 2 ? x.unsqueeze(-1) : x;
}

namespace {
template <class F>
std::vector<Tensor> each(TensorList tensors, F f) {
  std::vector<Tensor> result;
  result.reserve(tensors.size());
  for (const Tensor& t : tensors) result.push_back(f(t));
  return result;
}
}  // namespace

std::vector<Tensor> atleast_1d(TensorList tensors) {
  return each(tensors, [](const Tensor& t) { return atleast_1d(t); });
}
std::vector<Tensor> atleast_2d(TensorList tensors) {
  return each(tensors, [](const Tensor& t) { return atleast_2d(t); });
}
std::vector<Tensor> atleast_3d(TensorList tensors) {
  return each(tensors, [](const Tensor& t) { return atleast_3d(t); });
}

// -- free forms
// -----------------------------------------------------------------------------------

Tensor reshape(const Tensor& x, IntArrayRef size) { return x.reshape(size); }
Tensor transpose(const Tensor& x, int64_t a, int64_t b) { return x.transpose(a, b); }
Tensor swapaxes(const Tensor& x, int64_t a, int64_t b) { return x.transpose(a, b); }
Tensor swapdims(const Tensor& x, int64_t a, int64_t b) { return x.transpose(a, b); }
Tensor permute(const Tensor& x, IntArrayRef dims) { return x.permute(dims); }
Tensor t(const Tensor& x) { return x.t(); }
Tensor adjoint(const Tensor& x) { return x.mT(); }
Tensor squeeze(const Tensor& x) { return x.squeeze(); }
Tensor squeeze(const Tensor& x, int64_t dim) { return x.squeeze(dim); }
Tensor unsqueeze(const Tensor& x, int64_t dim) { return x.unsqueeze(dim); }
Tensor broadcast_to(const Tensor& x, IntArrayRef size) { return x.expand(size); }
Tensor narrow(const Tensor& x, int64_t dim, int64_t start, int64_t length) {
  return x.narrow(dim, start, length);
}
Tensor narrow(const Tensor& x, int64_t dim, const Tensor& start, int64_t length) {
  return x.narrow(dim, start, length);
}
Tensor narrow_copy(const Tensor& x, int64_t dim, int64_t start, int64_t length) {
  return x.narrow(dim, start, length).clone();
}
Tensor select(const Tensor& x, int64_t dim, int64_t index) { return x.select(dim, index); }
Tensor slice(const Tensor& x, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end,
             int64_t step) {
  return x.slice(dim, start, end, step);
}
Tensor as_strided(const Tensor& x, IntArrayRef size, IntArrayRef stride,
                  std::optional<int64_t> offset) {
  return x.as_strided(size, stride, offset);
}
Tensor _reshape_alias(const Tensor& x, IntArrayRef size, IntArrayRef stride) {
  return x.as_strided(size, stride);
}
Tensor flatten(const Tensor& x, int64_t start, int64_t end) { return x.flatten(start, end); }
Tensor unflatten(const Tensor& x, int64_t dim, IntArrayRef sizes) {
  return x.unflatten(dim, sizes);
}
Tensor ravel(const Tensor& x) { return x.ravel(); }
Tensor movedim(const Tensor& x, IntArrayRef from, IntArrayRef to) { return x.movedim(from, to); }
Tensor movedim(const Tensor& x, int64_t from, int64_t to) { return x.movedim(from, to); }
Tensor moveaxis(const Tensor& x, IntArrayRef from, IntArrayRef to) { return x.movedim(from, to); }
Tensor moveaxis(const Tensor& x, int64_t from, int64_t to) { return x.movedim(from, to); }
Tensor diagonal(const Tensor& x, int64_t offset, int64_t dim1, int64_t dim2) {
  return x.diagonal(offset, dim1, dim2);
}
Tensor alias(const Tensor& x) { return x.alias(); }
Tensor detach(const Tensor& x) { return x.detach(); }

Tensor Tensor::narrow(int64_t dim, const Tensor& start, int64_t length) const {
  TANDEM_CHECK(start.dim() == 0 && isIntegralType(start.dtype()),
               "narrow(): start must be an 0-dim integral Tensor.");
  return narrow(dim, start.item<int64_t>(), length);
}
Tensor Tensor::narrow_copy(int64_t dim, int64_t start, int64_t length) const {
  return narrow(dim, start, length).clone();
}

}  // namespace tandem
