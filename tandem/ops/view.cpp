#include "tandem/ops/view.h"

#include <numeric>

#include "tandem/core/view_chain.h"
#include "tandem/kernels/map.h"
#include "tandem/kernels/sub_array.h"
#include "tandem/ops/batch.h"
#include "tandem/ops/batch_detail.h"
#include "tandem/ops/creation.h"
#include "tandem/ops/view_detail.h"
#include "tandem/ops/view_op.h"

namespace tandem {
namespace detail {

// -- the gradient of a view
// -------------------------------------------------------------------

Grads scatter_vjp(const VjpArgs& a) {
  auto* step = new ViewStep;
  step->op = a.node.op;
  step->attrs = AttrBox(a.attr_ref());
  const ViewChain chain{intrusive_ptr<ViewStep>::adopt(step)};
  const TensorType& in = a.input_type();
  const Tensor base = zeros(in.sizes, TensorOptions(in.dtype).device(in.device));
  return {apply(kViewScatter, {base, a.grad()}, ViewScatterAttrs{chain, {}})};
}

// -- reshaping
// --------------------------------------------------------------------------------

Dims complete_sizes(const char* op, IntArrayRef wanted, int64_t numel) {
  Dims sizes = wanted;
  int64_t known = 1, open = -1;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == -1) {
      TANDEM_CHECK_SHAPE(open < 0, op, ": only one dimension can be inferred, got ", wanted);
      open = static_cast<int64_t>(d);
      continue;
    }
    TANDEM_CHECK_SHAPE(sizes[d] >= 0, op, ": invalid shape dimension ", sizes[d], " in ", wanted);
    known *= sizes[d];
  }
  if (open >= 0) {
    TANDEM_CHECK_SHAPE(known != 0 || numel != 0, op,
                       ": cannot reshape tensor of 0 elements into shape ", wanted,
                       " because the unspecified dimension size -1 can be any value");
    TANDEM_CHECK_SHAPE(known != 0 && numel % known == 0, op, ": shape '", wanted,
                       "' is invalid for input of size ", numel);
    sizes[open] = numel / known;
    known *= sizes[open];
  }
  TANDEM_CHECK_SHAPE(known == numel, op, ": shape '", wanted, "' is invalid for input of size ",
                     numel);
  return sizes;
}

bool restride(IntArrayRef sizes, IntArrayRef strides, IntArrayRef wanted, Dims& result) {
  result = contiguous_strides(wanted);
  if (numel_of(sizes) == 0) return true;
  // Walk both shapes from the inside. A run of old dimensions that lie in
  // memory as one may be cut into any new dimensions; extents of 1 belong to
  // every run.
  int64_t at = static_cast<int64_t>(wanted.size()) - 1;
  int64_t d = static_cast<int64_t>(sizes.size()) - 1;
  auto skip_ones = [&] {
    while (d >= 0 && sizes[d] == 1) --d;
    return d >= 0;
  };
  while (skip_ones()) {
    const int64_t base = strides[d];
    int64_t run = sizes[d];
    for (--d; d >= 0 && (sizes[d] == 1 || strides[d] == run * base); --d) run *= sizes[d];
    int64_t filled = 1;
    for (; at >= 0 && (filled < run || wanted[at] == 1); --at) {
      result[at] = filled * base;
      filled *= wanted[at];
    }
    if (filled != run) return false;
  }
  for (; at >= 0; --at)
    result[at] = at + 1 < static_cast<int64_t>(wanted.size()) ? result[at + 1] * wanted[at + 1] : 1;
  return true;
}

}  // namespace detail

namespace {

using detail::complete_sizes;
using detail::restride;
using detail::scatter_vjp;

void same_dtype(const InferArgs& a) { a.out().dtype = a.in().dtype; }

bool can_view(const Tensor& x, IntArrayRef sizes) {
  Dims strides;
  return restride(x.sizes(), x.strides(), sizes, strides);
}

}  // namespace

TANDEM_OP(kView) = {
    .name = "view",
    .infer =
        [](const InferArgs& a) {
          same_dtype(a);
          a.out().sizes =
              complete_sizes("view", a.attrs<ViewAttrs>().sizes, numel_of(a.in().sizes));
        },
    .view =
        [](const ViewArgs& a) {
          TANDEM_CHECK_SHAPE(restride(a.in_sizes, a.in_strides, a.out_sizes, a.strides),
                             "view: view size is not compatible with input tensor's size and "
                             "stride (at "
                             "least one dimension spans across two contiguous subspaces): ",
                             a.in_sizes, " with strides ", a.in_strides, " to ", a.out_sizes,
                             ". Use .reshape(...) instead.");
        },
    .vjp = [](const VjpArgs& a) -> Grads { return {a.grad().reshape(a.input_type().sizes)}; },
    .attrs = attrs_of<ViewAttrs>,
    .batch =
        [](const BatchArgs& a) {
          const Dims sizes =
              complete_sizes("view", a.attrs<ViewAttrs>().sizes, numel_of(sample_sizes(a)));
          a.outputs[0] = a.in().reshape(batched_sizes(a, sizes));
        },
    .inputs = 1,
};

TANDEM_OP(kPermute) = {
    .name = "permute",
    .infer =
        [](const InferArgs& a) {
          same_dtype(a);
          const Dims& dims = a.attrs<PermuteAttrs>().dims;
          uint64_t seen = 0;
          for (int64_t d : dims) {
            const bool fits = d >= 0 && d < a.in().dim() && (d >= 64 || !(seen >> d & 1));
            TANDEM_CHECK_INDEX(fits, "permute: ", dims, " is not an order of the dimensions of ",
                               a.in());
            seen |= d < 64 ? uint64_t{1} << d : 0;
            a.out().sizes.push_back(a.in().sizes[d]);
          }
          TANDEM_CHECK_INDEX(dims.size() == a.in().sizes.size(), "permute: ", dims,
                             " is not an order of the dimensions of ", a.in());
        },
    .view =
        [](const ViewArgs& a) {
          for (int64_t d : a.attrs<PermuteAttrs>().dims) a.strides.push_back(a.in_strides[d]);
        },
    .vjp = [](const VjpArgs& a) -> Grads {
      const Dims& dims = a.attrs<PermuteAttrs>().dims;
      Dims back(dims.size());
      for (size_t i = 0; i < dims.size(); ++i) back[dims[i]] = static_cast<int64_t>(i);
      return {a.grad().permute(back)};
    },
    .attrs = attrs_of<PermuteAttrs>,
    .batch =
        [](const BatchArgs& a) {
          Dims order{0};
          for (int64_t d : a.attrs<PermuteAttrs>().dims) order.push_back(d + 1);
          a.outputs[0] = a.in().permute(order);
        },
    .inputs = 1,
};

TANDEM_OP(kExpand) = {
    .name = "expand",
    .infer =
        [](const InferArgs& a) {
          same_dtype(a);
          const Dims &in = a.in().sizes, &wanted = a.attrs<ExpandAttrs>().sizes;
          bool fits = wanted.size() >= in.size();
          for (size_t d = 0; fits && d < wanted.size(); ++d) {
            const size_t extra = wanted.size() - in.size();
            fits =
                wanted[d] >= 0 && (d < extra || in[d - extra] == wanted[d] || in[d - extra] == 1);
          }
          TANDEM_CHECK_SHAPE(fits, "expand: ", a.in(), " cannot be repeated to ", wanted);
          a.out().sizes = wanted;
        },
    .view =
        [](const ViewArgs& a) {
          a.strides.resize(a.out_sizes.size(), 0);
          const size_t extra = a.out_sizes.size() - a.in_sizes.size();
          for (size_t d = 0; d < a.in_sizes.size(); ++d)
            if (a.in_sizes[d] == a.out_sizes[extra + d]) a.strides[extra + d] = a.in_strides[d];
        },
    .vjp = [](const VjpArgs& a) -> Grads { return {a.grad()}; },
    .attrs = attrs_of<ExpandAttrs>,
    .batch =
        [](const BatchArgs& a) {
          const Dims& sizes = a.attrs<ExpandAttrs>().sizes;
          a.outputs[0] =
              aligned(a, 0, static_cast<int64_t>(sizes.size())).expand(batched_sizes(a, sizes));
        },
    .inputs = 1,
};

namespace {
bool inside(const SliceAttrs& s, int64_t size) {
  if (s.length < 0 || s.step < 1) return false;
  if (s.length == 0) return true;
  return s.start >= 0 && s.start < size && s.length - 1 <= (size - 1 - s.start) / s.step;
}
}  // namespace

TANDEM_OP(kSlice) = {
    .name = "slice",
    .infer =
        [](const InferArgs& a) {
          same_dtype(a);
          a.out().sizes = a.in().sizes;
          const auto& s = a.attrs<SliceAttrs>();
          TANDEM_CHECK_INDEX(s.dim >= 0 && s.dim < a.in().dim() && inside(s, a.in().sizes[s.dim]),
                             "slice: ", s.length, " elements from ", s.start, " in steps of ",
                             s.step, " along dimension ", s.dim, " of ", a.in());
          a.out().sizes[s.dim] = s.length;
        },
    .view =
        [](const ViewArgs& a) {
          const auto& s = a.attrs<SliceAttrs>();
          a.strides = a.in_strides;
          a.strides[s.dim] *= s.step;
          if (s.length > 0) a.offset = s.start * a.in_strides[s.dim];
        },
    .vjp = scatter_vjp,
    .attrs = attrs_of<SliceAttrs>,
    .batch = batch_dim<SliceAttrs>,
    .inputs = 1,
};

TANDEM_OP(kSelect) = {
    .name = "select",
    .infer =
        [](const InferArgs& a) {
          same_dtype(a);
          a.out().sizes = a.in().sizes;
          const auto& s = a.attrs<SelectAttrs>();
          TANDEM_CHECK_INDEX(
              s.dim >= 0 && s.dim < a.in().dim() && s.index >= 0 && s.index < a.in().sizes[s.dim],
              "select: index ", s.index, " along dimension ", s.dim, " of ", a.in());
          a.out().sizes.erase(a.out().sizes.begin() + s.dim);
        },
    .view =
        [](const ViewArgs& a) {
          const auto& s = a.attrs<SelectAttrs>();
          a.strides = a.in_strides;
          a.offset = s.index * a.in_strides[s.dim];
          a.strides.erase(a.strides.begin() + s.dim);
        },
    .vjp = scatter_vjp,
    .attrs = attrs_of<SelectAttrs>,
    .batch = batch_dim<SelectAttrs>,
    .inputs = 1,
};

namespace {

// Where in `base`, seen as having those strides, a chain of views leads.
kernels::SubArray part_of(const Array& base, const ViewScatterAttrs& s) {
  kernels::SubArray part(base);
  TensorType type;
  type.sizes = base.shape();
  type.dtype = base.dtype;
  int64_t offset = 0;
  s.chain.locate(type, base.stride(), part.sizes, part.strides, offset);
  part.move(offset);
  return part;
}

void view_scatter_kernel(const KernelArgs& a) {
  const auto& s = a.attrs<ViewScatterAttrs>();
  kernels::copy(a.in(0), a.out());
  if (s.strides.empty() || a.out().stride() == IntArrayRef(s.strides)) {
    kernels::copy(a.in(1), part_of(a.out(), s).array());
    return;
  }
  // The steps fit memory that is laid out as the base was: go there and back.
  int64_t last = 0;
  for (size_t d = 0; d < s.strides.size(); ++d) last += (a.out().sizes[d] - 1) * s.strides[d];
  TensorType flat;
  flat.sizes = {a.out().numel ? last + 1 : 0};
  flat.dtype = a.out().dtype;
  const auto memory = TensorImpl::make(flat);
  Array detour = a.out();
  detour.data = memory->data;
  detour.strides = s.strides.data();
  detour.contiguous = is_contiguous(detour.shape(), s.strides);
  kernels::copy(a.out(), detour);
  kernels::copy(a.in(1), part_of(detour, s).array());
  kernels::copy(detour, a.out());
}

// The part is found in each sample by the rules of the view ops that lead there.
void view_scatter_batch(const BatchArgs& a) {
  const auto& s = a.attrs<ViewScatterAttrs>();
  Dims strides;
  if (!s.strides.empty()) {
    const Dims sizes = sample_sizes(a);
    int64_t span = 1;
    for (size_t d = 0; d < sizes.size(); ++d) span += (sizes[d] - 1) * s.strides[d];
    strides.push_back(span);
    strides.append(s.strides.begin(), s.strides.end());
  }
  const Tensor result = detail::laid_out(a.sample(0).clone(), strides);
  Tensor part = result;
  constexpr bool kBatched = true;
  for (const ViewStep* step : s.chain.steps()) {
    const Tensor whole = part;
    apply_batched(*step->op, {whole}, &kBatched, a.size, step->attrs.ref(), &part);
  }
  part.copy_(aligned(a, 1, part.dim() - 1));
  a.outputs[0] = result;
}

}  // namespace

TANDEM_OP(kViewScatter) = {
    .name = "view_scatter",
    .infer =
        [](const InferArgs& a) {
          a.out().sizes = a.in().sizes;
          a.out().dtype = a.in().dtype;
        },
    .kernel = view_scatter_kernel,
    .vjp = [](const VjpArgs& a) -> Grads {
      const auto& s = a.attrs<ViewScatterAttrs>();
      const Tensor part = s.chain.apply_to(detail::laid_out(a.grad(), s.strides));
      Grads grads(2);
      if (a.needs(0)) grads[0] = apply(kViewScatter, {a.grad(), zeros_like(part)}, s);
      if (a.needs(1)) grads[1] = part;
      return grads;
    },
    .attrs = attrs_of<ViewScatterAttrs>,
    .batch = view_scatter_batch,
    .inputs = 2,
};

// -- public functions
// -------------------------------------------------------------------------

Tensor Tensor::view(IntArrayRef size) const { return apply(kView, {*this}, ViewAttrs{size}); }

Tensor Tensor::reshape(IntArrayRef size) const {
  const Dims sizes = complete_sizes("reshape", size, numel());
  if (can_view(*this, sizes)) return view(sizes);
  return clone().view(sizes);
}

Tensor Tensor::permute(IntArrayRef dims) const {
  TANDEM_CHECK_SHAPE(static_cast<int64_t>(dims.size()) == dim(),
                     "permute(sparse_coo): number of dimensions in the tensor input does not "
                     "match the "
                     "length of the desired ordering of dimensions i.e. input.dim() = ",
                     dim(), " is not equal to len(dims) = ", dims.size());
  Dims order;
  std::vector<bool> seen(dims.size());
  for (int64_t d : dims) {
    const int64_t w = wrap_dim("permute", d, dim());
    TANDEM_CHECK(!seen[w], "permute: duplicate dims are not allowed: ", dims);
    seen[w] = true;
    order.push_back(w);
  }
  return apply(kPermute, {*this}, PermuteAttrs{order});
}

Tensor Tensor::transpose(int64_t a, int64_t b) const {
  a = wrap_dim("transpose", a, dim());
  b = wrap_dim("transpose", b, dim());
  Dims order(dim());
  std::iota(order.begin(), order.end(), 0);
  if (dim() > 0) std::swap(order[a], order[b]);
  return apply(kPermute, {*this}, PermuteAttrs{order});
}

Tensor Tensor::t() const {
  TANDEM_CHECK_SHAPE(dim() <= 2, "t() expects a tensor with <= 2 dimensions, but self is ", dim(),
                     "D");
  return dim() < 2 ? alias() : transpose(0, 1);
}

Tensor Tensor::mT() const {
  TANDEM_CHECK_SHAPE(dim() >= 2,
                     "mT: tensor.mT is only supported on matrices or batches "
                     "of matrices. Got ",
                     dim(), "-D tensor.");
  return transpose(-2, -1);
}

Tensor Tensor::numpy_T() const {
  Dims order(dim());
  for (int64_t d = 0; d < dim(); ++d) order[d] = dim() - 1 - d;
  return apply(kPermute, {*this}, PermuteAttrs{order});
}

Tensor Tensor::squeeze() const {
  Dims sizes;
  for (int64_t s : this->sizes())
    if (s != 1) sizes.push_back(s);
  return view(sizes);
}

Tensor Tensor::squeeze(int64_t dim) const {
  dim = wrap_dim("squeeze", dim, this->dim());
  if (this->dim() == 0 || size(dim) != 1) return alias();
  Dims sizes = this->sizes();
  sizes.erase(sizes.begin() + dim);
  return view(sizes);
}

Tensor Tensor::unsqueeze(int64_t dim) const {
  dim = wrap_dim("unsqueeze", dim, this->dim() + 1);
  Dims sizes = this->sizes();
  sizes.insert(sizes.begin() + dim, 1);
  return view(sizes);
}

Tensor Tensor::expand(IntArrayRef size, bool) const {
  TANDEM_CHECK_SHAPE(
      static_cast<int64_t>(size.size()) >= dim(), "expand(", tandem::toString(dtype()), "{",
      sizes(), "}, size=", size, "): the number of sizes provided (", size.size(),
      ") must be greater or equal to the number of dimensions in the tensor (", dim(), ")");
  Dims full = size;
  const size_t extra = size.size() - sizes().size();
  for (size_t d = 0; d < full.size(); ++d) {
    if (d < extra) {
      TANDEM_CHECK_SHAPE(full[d] >= 0, "expand: The expanded size of the tensor (", full[d],
                         ") isn't allowed in a leading, non-existing dimension ", d);
      continue;
    }
    const int64_t have = sizes()[d - extra];
    if (full[d] == -1) full[d] = have;
    TANDEM_CHECK_SHAPE(full[d] == have || (have == 1 && full[d] >= 0),
                       "expand: The expanded size of the tensor (", full[d],
                       ") must match the existing size (", have, ") at non-singleton dimension ", d,
                       ".  Target sizes: ", size, ".  Tensor sizes: ", sizes());
  }
  numel_of(full);
  return apply(kExpand, {*this}, ExpandAttrs{full});
}

Tensor Tensor::slice(int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end,
                     int64_t step) const {
  TANDEM_CHECK_INDEX(this->dim() > 0, "slice() cannot be applied to a 0-dim tensor.");
  dim = wrap_dim("slice", dim, this->dim());
  TANDEM_CHECK_INDEX(step > 0, "slice step must be positive, got ", step);
  const int64_t n = sizes()[dim];
  auto place = [n](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + n : i, 0, n); };
  const int64_t from = place(start.value_or(0));
  const int64_t to = std::max(from, place(end.value_or(n)));
  return apply(kSlice, {*this},
               SliceAttrs{dim, from, (to - from) / step + ((to - from) % step != 0), step});
}

Tensor Tensor::narrow(int64_t dim, int64_t start, int64_t length) const {
  TANDEM_CHECK_INDEX(this->dim() > 0, "narrow() cannot be applied to a 0-dim tensor.");
  TANDEM_CHECK_INDEX(length >= 0, "narrow(): length must be non-negative, got ", length);
  dim = wrap_dim("narrow", dim, this->dim());
  const int64_t n = sizes()[dim];
  TANDEM_CHECK_INDEX(start >= -n && start <= n, "narrow(): start (", start,
                     ") must be in the range [", -n, ", ", n, "]");
  if (start < 0) start += n;
  TANDEM_CHECK_INDEX(start <= n - length, "narrow(): start (", start, ") + length (", length,
                     ") exceeds dimension size (", n, ").");
  return apply(kSlice, {*this}, SliceAttrs{dim, start, length, 1});
}

Tensor Tensor::select(int64_t dim, int64_t index) const {
  TANDEM_CHECK_INDEX(this->dim() > 0, "select() cannot be applied to a 0-dim tensor.");
  dim = wrap_dim("select", dim, this->dim());
  const int64_t n = sizes()[dim];
  TANDEM_CHECK_INDEX(index >= -n && index < n, "select(): index ", index,
                     " out of range for tensor of size ", sizes(), " at dimension ", dim);
  return apply(kSelect, {*this}, SelectAttrs{dim, index < 0 ? index + n : index});
}

Tensor Tensor::alias() const { return view(sizes()); }

}  // namespace tandem
