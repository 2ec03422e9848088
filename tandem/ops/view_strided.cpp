// Views that may show an element twice, or show another dtype: as_strided,
// unfold, diagonal, view(dtype).
#include "tandem/core/view_chain.h"
#include "tandem/kernels/map.h"
#include "tandem/kernels/sub_array.h"
#include "tandem/ops/batch_detail.h"
#include "tandem/ops/binary.h"
#include "tandem/ops/creation.h"
#include "tandem/ops/view.h"
#include "tandem/ops/view_detail.h"

namespace tandem {

extern const OpDef kStridedSum;
extern const OpDef kUnfoldBackward;

namespace {

void same_dtype(const InferArgs& a) { a.out().dtype = a.in().dtype; }

// Elements from the first to the last that are shown, both included.
int64_t span_of(IntArrayRef sizes, IntArrayRef strides) {
  int64_t last = 0;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 0) return 0;
    last += (sizes[d] - 1) * strides[d];
  }
  return last + 1;
}

// A dimension that may show what others show too; -1 if there is none. Sorted by stride, the
// greater extent first, a dimension is free of overlap with those before it if its stride reaches
// beyond them.
int64_t overlapping_dim(IntArrayRef sizes, IntArrayRef strides) {
  std::vector<int64_t> order;
  for (size_t d = 0; d < sizes.size(); ++d)
    if (sizes[d] > 1) order.push_back(static_cast<int64_t>(d));
  std::stable_sort(order.begin(), order.end(), [&](int64_t x, int64_t y) {
    return strides[x] != strides[y] ? strides[x] < strides[y] : sizes[x] > sizes[y];
  });
  int64_t reach = 1;
  for (int64_t d : order) {
    if (strides[d] < reach) return d;
    reach += (sizes[d] - 1) * strides[d];
  }
  return -1;
}

struct StridedSumAttrs {
  int64_t length;
  Dims sizes, strides;
  int64_t offset;
  TANDEM_FIELDS(length, sizes, strides, offset)
};

// A run of memory in which every element is the sum of the values that a
// strided view shows at it.
Tensor strided_sum(const Tensor& values, int64_t length, const Dims& strides, int64_t offset) {
  return apply(kStridedSum, {values}, StridedSumAttrs{length, values.sizes(), strides, offset});
}

Grads as_strided_vjp(const VjpArgs& a) {
  const auto& s = a.attrs<AsStridedAttrs>();
  const Dims& in_sizes = a.input_type().sizes;
  const int64_t first = std::min<int64_t>(0, s.offset);
  const int64_t end =
      std::max(span_of(in_sizes, s.in_strides), s.offset + span_of(s.sizes, s.strides));
  const Tensor memory = strided_sum(a.grad(), end - first, s.strides, s.offset - first);
  Tensor grad = memory.as_strided(in_sizes, s.in_strides, -first);
  // An input that itself shows an element twice shares its gradient out among them.
  if (overlapping_dim(in_sizes, s.in_strides) >= 0) {
    const Tensor one_each = ones(in_sizes, a.grad().options());
    const Tensor counts = strided_sum(one_each, end - first, s.in_strides, -first);
    grad = grad / counts.as_strided(in_sizes, s.in_strides, -first);
  }
  return {grad};
}

// Each sample lies in a run of memory of its own, as the input did.
void as_strided_batch(const BatchArgs& a) {
  const auto& s = a.attrs<AsStridedAttrs>();
  const Dims in_sizes = sample_sizes(a);
  const int64_t span = span_of(in_sizes, s.in_strides);
  TANDEM_CHECK(s.offset >= 0 && s.offset + span_of(s.sizes, s.strides) <= span &&
                   overlapping_dim(in_sizes, s.in_strides) < 0,
               "vmap: as_strided of sizes ", s.sizes, ", strides ", s.strides, " and offset ",
               s.offset, " shows memory beyond a sample of shape ", in_sizes, " with strides ",
               s.in_strides);
  const auto after = [&](IntArrayRef strides) {
    Dims all{span};
    all.append(strides.begin(), strides.end());
    return all;
  };
  const Tensor memory = detail::laid_out(a.in(), after(s.in_strides));
  a.outputs[0] = memory.as_strided(batched_sizes(a, s.sizes), after(s.strides),
                                   memory.storage_offset() + s.offset);
}

// dst += src, element by element; no element of dst may be met twice.
void add_into(const Array& dst, const Array& src) {
  const Array in[2] = {dst, src};
  kernels::map(MapFn::add, in, 2, dst, dst.dtype, {.a = 1});
}

// dst += src where dst may show elements twice: what overlaps is taken one index at a time, in
// order.
void add_overlapping(kernels::SubArray dst, kernels::SubArray src) {
  const int64_t d = overlapping_dim(dst.sizes, dst.strides);
  if (d < 0) return add_into(dst.array(), src.array());
  for (int64_t i = 0; i < dst.sizes[d]; ++i) {
    kernels::SubArray to = dst, from = src;
    add_overlapping(to.select(d, i), from.select(d, i));
  }
}

struct UnfoldAttrs {
  int64_t dim, size, step;
  TANDEM_FIELDS(dim, size, step)
};

struct UnfoldBackwardAttrs {
  Dims sizes;
  int64_t dim, size, step;
  TANDEM_FIELDS(sizes, dim, size, step)
};

// Adds the windows back where they came from; whichever is fewer, windows or
// places in a window, is the loop that goes one by one.
void unfold_backward_kernel(const KernelArgs& a) {
  const auto& u = a.attrs<UnfoldBackwardAttrs>();
  kernels::fill(a.out(), int64_t{0});
  if (a.in().numel == 0) return;
  const bool scalar = u.sizes.empty();
  const int64_t windows = a.in().sizes[u.dim], last = a.in().ndim - 1;
  if (scalar) {
    kernels::SubArray from(a.in());
    add_into(a.out(), from.select(0, 0).array());
  } else if (windows < u.size) {
    for (int64_t w = 0; w < windows; ++w) {
      kernels::SubArray to(a.out()), from(a.in());
      to.slice(u.dim, w * u.step, u.size);
      // The window's dimension is the input's last.
      from.select(u.dim, w);
      for (int64_t d = last - 1; d > u.dim; --d) {
        std::swap(from.sizes[d], from.sizes[d - 1]);
        std::swap(from.strides[d], from.strides[d - 1]);
      }
      add_into(to.array(), from.array());
    }
  } else {
    for (int64_t i = 0; i < u.size; ++i) {
      kernels::SubArray to(a.out()), from(a.in());
      to.slice(u.dim, i, windows, u.step);
      add_into(to.array(), from.select(last, i).array());
    }
  }
}

// The shape of the windows of a tensor.
Dims unfolded(const InferArgs& a, const Dims& sizes, int64_t dim, int64_t size, int64_t step) {
  const auto ndim = static_cast<int64_t>(sizes.size());
  TANDEM_CHECK_INDEX(dim >= 0 && dim < std::max<int64_t>(ndim, 1) && step > 0 && size >= 0 &&
                         size <= (ndim ? sizes[static_cast<size_t>(dim)] : 1),
                     a.op.name, ": windows of ", size, " in steps of ", step, " along dimension ",
                     dim, " of ", sizes);
  Dims out = sizes;
  if (ndim) out[static_cast<size_t>(dim)] = (sizes[static_cast<size_t>(dim)] - size) / step + 1;
  out.push_back(size);
  return out;
}

struct DiagonalAttrs {
  int64_t offset, dim1, dim2;
  TANDEM_FIELDS(offset, dim1, dim2)
};

struct ViewDtypeAttrs {
  DType dtype;
  TANDEM_FIELDS(dtype)
};

}  // namespace

TANDEM_OP(kAsStrided) = {
    .name = "as_strided",
    .infer =
        [](const InferArgs& a) {
          same_dtype(a);
          const auto& s = a.attrs<AsStridedAttrs>();
          TANDEM_CHECK_SHAPE(s.sizes.size() == s.strides.size(), "as_strided: sizes ", s.sizes,
                             " and strides ", s.strides, " of different length");
          a.out().sizes = s.sizes;
        },
    .view =
        [](const ViewArgs& a) {
          const auto& s = a.attrs<AsStridedAttrs>();
          TANDEM_CHECK(a.in_strides == IntArrayRef(s.in_strides),
                       "as_strided: the tensor that this is a view of has been "
                       "laid out anew since: its "
                       "strides were ",
                       s.in_strides, " and are ", a.in_strides);
          a.strides = s.strides;
          a.offset = s.offset;
        },
    .vjp = as_strided_vjp,
    .attrs = attrs_of<AsStridedAttrs>,
    .batch = as_strided_batch,
    .inputs = 1,
};

TANDEM_OP(kStridedSum) = {
    .name = "strided_sum",
    .infer =
        [](const InferArgs& a) {
          same_dtype(a);
          const auto& s = a.attrs<StridedSumAttrs>();
          int64_t end = s.offset;
          bool fits = s.sizes == a.in().sizes && s.strides.size() == s.sizes.size() &&
                      s.offset >= 0 && s.offset <= s.length;
          for (size_t d = 0; fits && d < s.sizes.size(); ++d) {
            int64_t step;
            fits = s.strides[d] >= 0 &&
                   !__builtin_mul_overflow(s.strides[d], std::max<int64_t>(s.sizes[d] - 1, 0),
                                           &step) &&
                   !__builtin_add_overflow(end, step, &end);
          }
          TANDEM_CHECK_SHAPE(fits && (end < s.length || numel_of(s.sizes) == 0),
                             "strided_sum: strides ", s.strides, " and offset ", s.offset, " of ",
                             a.in(), " lead outside of ", s.length, " elements");
          a.out().sizes = {s.length};
        },
    .kernel =
        [](const KernelArgs& a) {
          const auto& s = a.attrs<StridedSumAttrs>();
          kernels::fill(a.out(), int64_t{0});
          if (a.in().numel == 0) return;
          kernels::SubArray to(a.out());
          to.move(s.offset);
          to.sizes = s.sizes;
          to.strides = s.strides;
          add_overlapping(to, kernels::SubArray(a.in()));
        },
    .vjp = [](const VjpArgs& a) -> Grads {
      const auto& s = a.attrs<StridedSumAttrs>();
      const Tensor g = a.grad().contiguous();
      return {g.as_strided(s.sizes, s.strides, g.storage_offset() + s.offset)};
    },
    .attrs = attrs_of<StridedSumAttrs>,
    .batch =
        [](const BatchArgs& a) {
          const auto& s = a.attrs<StridedSumAttrs>();
          Dims strides{s.length};
          strides.append(s.strides.begin(), s.strides.end());
          a.outputs[0] =
              strided_sum(a.in(), a.size * s.length, strides, s.offset).view({a.size, s.length});
        },
    .inputs = 1,
};

TANDEM_OP(kUnfold) = {
    .name = "unfold",
    .infer =
        [](const InferArgs& a) {
          same_dtype(a);
          const auto& u = a.attrs<UnfoldAttrs>();
          a.out().sizes = unfolded(a, a.in().sizes, u.dim, u.size, u.step);
        },
    .view =
        [](const ViewArgs& a) {
          const auto& u = a.attrs<UnfoldAttrs>();
          a.strides = a.in_strides;
          a.strides.push_back(a.in_strides.empty() ? 1 : a.in_strides[u.dim]);
          if (!a.in_strides.empty()) a.strides[u.dim] *= u.step;
        },
    .vjp = [](const VjpArgs& a) -> Grads {
      const auto& u = a.attrs<UnfoldAttrs>();
      return {apply(kUnfoldBackward, {a.grad()},
                    UnfoldBackwardAttrs{a.input_type().sizes, u.dim, u.size, u.step})};
    },
    .attrs = attrs_of<UnfoldAttrs>,
    .batch =
        [](const BatchArgs& a) {
          const auto& u = a.attrs<UnfoldAttrs>();
          a.outputs[0] = sample_dim(a) == 0 ? a.in().unsqueeze(1).narrow(1, 0, u.size)
                                            : a.in().unfold(u.dim + 1, u.size, u.step);
        },
    .inputs = 1,
};

TANDEM_OP(kUnfoldBackward) = {
    .name = "unfold_backward",
    .infer =
        [](const InferArgs& a) {
          same_dtype(a);
          const auto& u = a.attrs<UnfoldBackwardAttrs>();
          TANDEM_CHECK_SHAPE(unfolded(a, u.sizes, u.dim, u.size, u.step) == a.in().sizes,
                             "unfold_backward: ", a.in(), " are not the windows of ", u.sizes);
          a.out().sizes = u.sizes;
        },
    .kernel = unfold_backward_kernel,
    .vjp = [](const VjpArgs& a) -> Grads {
      const auto& u = a.attrs<UnfoldBackwardAttrs>();
      return {a.grad().unfold(u.dim, u.size, u.step)};
    },
    .attrs = attrs_of<UnfoldBackwardAttrs>,
    .batch =
        [](const BatchArgs& a) {
          const auto& u = a.attrs<UnfoldBackwardAttrs>();
          if (u.sizes.empty()) {
            a.outputs[0] = a.in().sum(1);
            return;
          }
          apply_to(a.op, {a.in()},
                   UnfoldBackwardAttrs{batched_sizes(a, u.sizes), u.dim + 1, u.size, u.step},
                   a.outputs);
        },
    .inputs = 1,
};

TANDEM_OP(kDiagonal) = {
    .name = "diagonal",
    .infer =
        [](const InferArgs& a) {
          same_dtype(a);
          const auto& g = a.attrs<DiagonalAttrs>();
          TANDEM_CHECK_INDEX(g.dim1 >= 0 && g.dim1 < a.in().dim() && g.dim2 >= 0 &&
                                 g.dim2 < a.in().dim() && g.dim1 != g.dim2,
                             "diagonal: of dimensions ", g.dim1, " and ", g.dim2, " of ", a.in());
          const int64_t rows = a.in().sizes[g.dim1], cols = a.in().sizes[g.dim2];
          const int64_t n =
              g.offset >= 0 ? std::min(rows, cols - g.offset) : std::min(rows + g.offset, cols);
          for (int64_t d = 0; d < a.in().dim(); ++d)
            if (d != g.dim1 && d != g.dim2) a.out().sizes.push_back(a.in().sizes[d]);
          a.out().sizes.push_back(std::max<int64_t>(n, 0));
        },
    .view =
        [](const ViewArgs& a) {
          const auto& g = a.attrs<DiagonalAttrs>();
          for (size_t d = 0; d < a.in_sizes.size(); ++d)
            if (static_cast<int64_t>(d) != g.dim1 && static_cast<int64_t>(d) != g.dim2)
              a.strides.push_back(a.in_strides[d]);
          a.strides.push_back(a.in_strides[g.dim1] + a.in_strides[g.dim2]);
          if (a.out_sizes.back() == 0) return;
          a.offset =
              g.offset >= 0 ? g.offset * a.in_strides[g.dim2] : -g.offset * a.in_strides[g.dim1];
        },
    .vjp = detail::scatter_vjp,
    .attrs = attrs_of<DiagonalAttrs>,
    .batch =
        [](const BatchArgs& a) {
          const auto& g = a.attrs<DiagonalAttrs>();
          a.outputs[0] = a.in().diagonal(g.offset, g.dim1 + 1, g.dim2 + 1);
        },
    .inputs = 1,
};

// The same bytes read as another dtype. Bits have no gradient.
TANDEM_OP(kViewDtype) = {
    .name = "view_dtype",
    .infer =
        [](const InferArgs& a) {
          a.out().dtype = a.attrs<ViewDtypeAttrs>().dtype;
          TANDEM_CHECK_TYPE(size_of(a.out().dtype) > 0, "view(dtype): no dtype given");
          a.out().sizes = a.in().sizes;
          const auto from = static_cast<int64_t>(size_of(a.in().dtype));
          const auto to = static_cast<int64_t>(size_of(a.out().dtype));
          if (from == to) return;
          TANDEM_CHECK_SHAPE(a.in().dim() > 0, "view(dtype): self.dim() cannot be 0 to view ",
                             a.in().dtype, " as ", a.out().dtype, " (different element sizes)");
          TANDEM_CHECK_SHAPE(a.in().sizes.back() * from % to == 0,
                             "view(dtype): self.size(-1) must be "
                             "divisible by ",
                             to / from, " to view ", a.in().dtype, " as ", a.out().dtype,
                             " (different element sizes), but got ", a.in().sizes.back());
          a.out().sizes.back() = a.in().sizes.back() * from / to;
        },
    .view =
        [](const ViewArgs& a) {
          // The element sizes are known from the extents unless there are no
          // elements.
          a.strides = a.in_strides;
          if (a.in_sizes.empty() || a.in_sizes.back() == a.out_sizes.back()) return;
          TANDEM_CHECK_SHAPE(a.in_strides.back() == 1,
                             "view(dtype): self.stride(-1) must be 1 to view "
                             "a tensor as one of another element size, but got ",
                             a.in_strides.back());
          const int64_t in = a.in_sizes.back(), out = a.out_sizes.back();
          for (size_t d = 0; d + 1 < a.strides.size(); ++d) {
            TANDEM_CHECK_SHAPE(a.strides[d] * out % in == 0, "view(dtype): self.stride(", d,
                               ") must be divisible by ", in / std::max<int64_t>(out, 1),
                               ", but got ", a.strides[d]);
            a.strides[d] = a.strides[d] * out / in;
          }
        },
    .attrs = attrs_of<ViewDtypeAttrs>,
    .batch =
        [](const BatchArgs& a) {
          a.outputs[0] = a.in().contiguous().view(a.attrs<ViewDtypeAttrs>().dtype);
        },
    .inputs = 1,
};

// -- public functions
// ---------------------------------------------------------------------------

Tensor detail::laid_out(const Tensor& t, IntArrayRef strides) {
  if (strides.empty()) return t.contiguous();
  if (t.strides() == strides) return t;
  return strided_sum(t, span_of(t.sizes(), strides), strides, 0).as_strided(t.sizes(), strides);
}

Tensor Tensor::as_strided(IntArrayRef size, IntArrayRef stride,
                          std::optional<int64_t> offset) const {
  TANDEM_CHECK_SHAPE(size.size() == stride.size(),
                     "as_strided: mismatch in length of strides and shape: ", size, " and ",
                     stride);
  for (int64_t s : stride)
    TANDEM_CHECK(s >= 0, "as_strided: Negative strides are not supported, got strides: ", stride);
  const int64_t from = offset.value_or(storage_offset());
  TANDEM_CHECK(from >= 0, "as_strided: Tensor: invalid storage offset ", from);
  numel_of(size);
  const int64_t need = (from + span_of(size, stride)) * static_cast<int64_t>(itemsize());
  const int64_t have = impl_->storage->nbytes;
  TANDEM_CHECK_INDEX(span_of(size, stride) == 0 || need <= have, "as_strided: sizes ", size,
                     ", strides ", stride, ", storage offset ", from, ", and itemsize ", itemsize(),
                     " requiring a storage size of ", need,
                     " are out of bounds for storage of size ", have);
  // The strides speak of the memory, not of this view of it: the result is a view of the base, and
  // its gradient reaches all that it shows. What lies outside of the base has no place in its
  // history: such a result can be read and differentiated, but autograd does not see writes to it.
  const ViewInfo* view = impl_->view;
  const bool by_root = view && view->creation == CreationMeta::DEFAULT && t_mode.grad &&
                       !t_mode.inference && view->root()->type.dtype == dtype() &&
                       view->root()->wants_grad() == impl_->wants_grad();
  const Tensor base = by_root ? Tensor(intrusive_ptr<TensorImpl>(view->root())) : *this;
  Tensor result = apply(kAsStrided, {base},
                        AsStridedAttrs{size, stride, from - base.storage_offset(), base.strides()});
  const int64_t end = base.storage_offset() + span_of(base.sizes(), base.strides());
  if (from >= base.storage_offset() && from + span_of(size, stride) <= end) return result;
  auto alias = result.impl()->alias();
  alias->edge = result.impl()->edge;
  return Tensor(std::move(alias));
}

Tensor Tensor::_reshape_alias(IntArrayRef size, IntArrayRef stride) const {
  return as_strided(size, stride);
}

Tensor Tensor::unfold(int64_t dim, int64_t size, int64_t step) const {
  dim = wrap_dim("unfold", dim, this->dim());
  const int64_t n = this->dim() == 0 ? 1 : sizes()[dim];
  TANDEM_CHECK_SHAPE(size >= 0, "unfold: size is ", size, " but must be >= 0");
  TANDEM_CHECK_SHAPE(size <= n, "unfold: maximum size for tensor at dimension ", dim, " is ", n,
                     " but size is ", size);
  TANDEM_CHECK(step > 0, "unfold: step is ", step, " but must be > 0");
  return apply(kUnfold, {*this}, UnfoldAttrs{dim, size, step});
}

Tensor Tensor::diagonal(int64_t offset, int64_t dim1, int64_t dim2) const {
  TANDEM_CHECK_SHAPE(dim() >= 2, "diagonal: the tensor must have at least two dimensions, not ",
                     dim());
  dim1 = wrap_dim("diagonal", dim1, dim());
  dim2 = wrap_dim("diagonal", dim2, dim());
  TANDEM_CHECK(dim1 != dim2, "diagonal: diagonal dimensions cannot be identical ", dim1, ", ",
               dim2);
  return apply(kDiagonal, {*this}, DiagonalAttrs{offset, dim1, dim2});
}

Tensor Tensor::view(DType t) const {
  if (t == dtype()) return alias();
  const size_t from = itemsize(), to = size_of(t);
  TANDEM_CHECK(from >= to || static_cast<size_t>(storage_offset()) * from % to == 0,
               "view(dtype): self.storage_offset() must be divisible by ", to / from, " to view ",
               dtype(), " as ", t, " (different element sizes), but got ", storage_offset());
  return apply(kViewDtype, {*this}, ViewDtypeAttrs{t});
}

}  // namespace tandem
