#include "tandem/ops/join.h"

#include "tandem/core/apply.h"
#include "tandem/kernels/index.h"
#include "tandem/ops/batch_detail.h"
#include "tandem/ops/creation.h"
#include "tandem/ops/gather.h"
#include "tandem/ops/join_op.h"
#include "tandem/ops/view.h"

namespace tandem {
namespace {

void infer_cat(const InferArgs& a) {
  const auto& c = a.attrs<CatAttrs>();
  TANDEM_CHECK_INDEX(c.dim >= 0 && c.dim < a.in(0).dim(), "cat: there is no dimension ", c.dim,
                     " in ", a.in(0));
  TANDEM_CHECK(c.lengths.size() == static_cast<size_t>(a.n_inputs), "cat: ", c.lengths.size(),
               " lengths for ", a.n_inputs, " tensors");
  TensorType& out = a.out();
  out.sizes = a.in(0).sizes;
  Promotion p;
  int64_t total = 0;
  for (int i = 0; i < a.n_inputs; ++i) {
    const TensorType& t = a.in(i);
    p.add(t);
    TANDEM_CHECK_SHAPE(t.dim() == out.dim(),
                       "cat: Tensors must have same number of dimensions: got ", out.dim(), " and ",
                       t.dim());
    for (int64_t d = 0; d < t.dim(); ++d)
      TANDEM_CHECK_SHAPE(d == c.dim || t.sizes[d] == out.sizes[d],
                         "cat: Sizes of tensors must match except in dimension ", c.dim,
                         ". Expected size ", out.sizes[d], " but got size ", t.sizes[d],
                         " for tensor number ", i, " in the list.");
    TANDEM_CHECK_SHAPE(c.lengths[i] == t.sizes[c.dim], "cat: tensor ", i, " is ", t.sizes,
                       " and not of length ", c.lengths[i]);
    TANDEM_CHECK_SHAPE(!__builtin_add_overflow(total, c.lengths[i], &total),
                       "cat: the result is too large");
  }
  out.sizes[c.dim] = total;
  out.dtype = p.result();
}

}  // namespace

TANDEM_OP(kCat) = {
    .name = "cat",
    .infer = infer_cat,
    .kernel =
        [](const KernelArgs& a) {
          kernels::concatenate(a.inputs, a.n_inputs, a.attrs<CatAttrs>().dim, a.out());
        },
    .vjp = [](const VjpArgs& a) -> Grads {
      const auto& c = a.attrs<CatAttrs>();
      Grads grads(static_cast<size_t>(a.n_inputs()));
      int64_t at = 0;
      for (int i = 0; i < a.n_inputs(); ++i) {
        if (a.needs(i)) grads[i] = a.grad().narrow(c.dim, at, c.lengths[i]);
        at += c.lengths[i];
      }
      return grads;
    },
    .attrs = attrs_of<CatAttrs>,
    .batch = batch_dim<CatAttrs>,
};

Tensor cat(TensorList tensors, int64_t dim) {
  TANDEM_CHECK(!tensors.empty(), "cat: expected a non-empty list of Tensors");
  // As in LibTorch, 1-d tensors without elements go with any shape.
  SmallVector<TensorArg, 8> args;
  const Tensor* shaped = nullptr;
  for (size_t i = 0; i < tensors.size(); ++i) {
    TANDEM_CHECK(tensors[i].defined(), "cat: tensor number ", i, " in the list is undefined");
    TANDEM_CHECK_SHAPE(tensors[i].dim() > 0, "cat: zero-dimensional tensor (at position ", i,
                       ") cannot be concatenated (use stack)");
    if (tensors[i].dim() == 1 && tensors[i].numel() == 0) continue;
    if (!shaped) shaped = &tensors[i];
    args.push_back(tensors[i]);
  }
  if (!shaped) {
    wrap_dim("cat", dim, 1);
    for (const Tensor& t : tensors) args.push_back(t);
    dim = 0;
  } else {
    dim = wrap_dim("cat", dim, shaped->dim());
  }
  CatAttrs attrs{dim, {}};
  for (const TensorArg& t : args)
    attrs.lengths.push_back(dim < t.impl->type.dim() ? t.impl->type.sizes[dim] : 0);
  return apply(kCat, args.ref(), attrs);
}
Tensor concat(TensorList tensors, int64_t dim) { return cat(tensors, dim); }
Tensor concatenate(TensorList tensors, int64_t dim) { return cat(tensors, dim); }

Tensor stack(TensorList tensors, int64_t dim) {
  TANDEM_CHECK(!tensors.empty(), "stack expects a non-empty TensorList");
  const Tensor& first = tensors[0];
  TANDEM_CHECK(first.defined(), "stack: tensor number 0 in the list is undefined");
  dim = wrap_dim("stack", dim, first.dim() + 1);
  for (size_t i = 1; i < tensors.size(); ++i)
    TANDEM_CHECK_SHAPE(tensors[i].sizes() == first.sizes(),
                       "stack expects each tensor to be equal size, but got ", first.sizes(),
                       " at entry 0 and ", tensors[i].sizes(), " at entry ", i);
  // Stacking is concatenation seen with one more dimension, unless that is the last one. A 1-d
  // tensor without elements would be passed over.
  if (dim < first.dim() && first.numel() > 0) {
    Dims sizes = first.sizes();
    sizes.insert(sizes.begin() + dim, static_cast<int64_t>(tensors.size()));
    return cat(tensors, dim).view(sizes);
  }
  std::vector<Tensor> parts;
  parts.reserve(tensors.size());
  for (const Tensor& t : tensors) parts.push_back(t.unsqueeze(dim));
  return cat(parts, dim);
}

Tensor hstack(TensorList tensors) {
  TANDEM_CHECK(!tensors.empty(), "hstack expects a non-empty TensorList");
  const std::vector<Tensor> parts = atleast_1d(tensors);
  return cat(parts, parts[0].dim() == 1 ? 0 : 1);
}
Tensor vstack(TensorList tensors) {
  TANDEM_CHECK(!tensors.empty(), "vstack expects a non-empty TensorList");
  return cat(atleast_2d(tensors), 0);
}
Tensor row_stack(TensorList tensors) { return vstack(tensors); }
Tensor dstack(TensorList tensors) {
  TANDEM_CHECK(!tensors.empty(), "dstack expects a non-empty TensorList");
  return cat(atleast_3d(tensors), 2);
}
Tensor column_stack(TensorList tensors) {
  TANDEM_CHECK(!tensors.empty(), "column_stack expects a non-empty TensorList");
  std::vector<Tensor> parts;
  for (const Tensor& t : tensors) parts.push_back(t.dim() < 2 ? t.reshape({t.numel(), 1}) : t);
  return hstack(parts);
}

Tensor block_diag(TensorList tensors) {
  std::vector<Tensor> blocks;
  Promotion p;
  int64_t rows = 0, columns = 0;
  for (const Tensor& t : tensors) {
    TANDEM_CHECK_SHAPE(t.dim() <= 2,
                       "block_diag: Input tensors must have 2 or fewer dimensions. Got ", t.dim());
    blocks.push_back(atleast_2d(t));
    p.add(t.type_of());
    rows += blocks.back().size(0);
    columns += blocks.back().size(1);
  }
  if (blocks.empty()) return empty({1, 0});
  const Tensor result = zeros({rows, columns}, blocks[0].options().dtype(p.result()));
  rows = columns = 0;
  for (const Tensor& b : blocks) {
    result.narrow(0, rows, b.size(0)).narrow(1, columns, b.size(1)).copy_(b);
    rows += b.size(0);
    columns += b.size(1);
  }
  return result;
}

Tensor utils::flatten_dense_tensors(TensorList tensors) {
  std::vector<Tensor> rows;
  for (const Tensor& t : tensors) rows.push_back(t.reshape({-1}));
  return cat(rows);
}

std::vector<Tensor> utils::unflatten_dense_tensors(const Tensor& flat, TensorList tensors) {
  std::vector<Tensor> parts;
  int64_t at = 0;
  for (const Tensor& t : tensors) {
    // Tensors without elements get memory of their own: resizing one must not reach into the row.
    parts.push_back(t.numel() ? flat.narrow(0, at, t.numel()).view(t.sizes())
                              : empty(t.sizes(), flat.options()));
    at += t.numel();
  }
  return parts;
}

// -- repeating ------------------------------------------------------------------------------------

Tensor Tensor::repeat(IntArrayRef repeats) const {
  TANDEM_CHECK_SHAPE(
      static_cast<int64_t>(repeats.size()) >= dim(),
      "repeat: Number of dimensions of repeat dims can not be smaller than number of "
      "dimensions of tensor: ",
      repeats, " for a tensor of shape ", sizes());
  // Seen as [1, s0, 1, s1, ...], expanded to [r0, s0, r1, s1, ...] and copied.
  const size_t extra = repeats.size() - sizes().size();
  Dims apart, expanded, together;
  for (size_t d = 0; d < repeats.size(); ++d) {
    TANDEM_CHECK_SHAPE(repeats[d] >= 0, "repeat: Trying to create tensor with negative dimension ",
                       repeats[d], ": ", repeats);
    const int64_t size = d < extra ? 1 : sizes()[d - extra];
    apart.push_back(1);
    apart.push_back(size);
    expanded.push_back(repeats[d]);
    expanded.push_back(size);
    together.push_back(repeats[d] * size);
  }
  return view(apart).expand(expanded).clone().view(together);
}

Tensor Tensor::tile(IntArrayRef repeats) const {
  Dims full = repeats;
  while (static_cast<int64_t>(full.size()) < dim()) full.insert(full.begin(), 1);
  return repeat(full);
}
Tensor tile(const Tensor& x, IntArrayRef repeats) { return x.tile(repeats); }

Tensor repeat_interleave(const Tensor& repeats, std::optional<int64_t> output_size) {
  TANDEM_CHECK_SHAPE(repeats.dim() == 1, "repeat_interleave only accept 1D vector as repeat");
  TANDEM_CHECK_TYPE(repeats.dtype() == kLong || repeats.dtype() == kInt,
                    "repeat_interleave: repeats has to be Long or Int tensor, not ",
                    repeats.dtype());
  const Tensor counts = repeats.detach().to(kLong).contiguous();
  const int64_t* n = counts.data_ptr<int64_t>();
  int64_t total = 0;
  for (int64_t i = 0; i < counts.numel(); ++i) {
    TANDEM_CHECK(n[i] >= 0, "repeat_interleave: repeats can not be negative, got ", n[i]);
    total += n[i];
  }
  TANDEM_CHECK(!output_size || *output_size == total, "repeat_interleave: output_size is ",
               output_size.value_or(0), " but the repeats sum to ", total);
  const Tensor result = empty({total}, kLong);
  int64_t* out = total ? result.data_ptr<int64_t>() : nullptr;
  for (int64_t i = 0; i < counts.numel(); ++i) out = std::fill_n(out, n[i], i);
  return repeats.dtype() == kLong ? result : result.to(repeats.dtype());
}

Tensor repeat_interleave(const Tensor& x, const Tensor& repeats, std::optional<int64_t> dim,
                         std::optional<int64_t> output_size) {
  const Tensor flat = dim ? x : x.flatten();
  const int64_t d = wrap_dim("repeat_interleave", dim.value_or(0), flat.dim());
  Tensor counts = repeats;
  if (repeats.numel() == 1)
    counts = repeats.reshape({1}).expand({flat.dim() ? flat.size(d) : 1});
  else
    TANDEM_CHECK_SHAPE(
        repeats.dim() == 1 && flat.dim() && repeats.numel() == flat.size(d),
        "repeat_interleave: repeats must have the same size as input along dim, but got "
        "repeats of shape ",
        repeats.sizes(), " for an input of shape ", flat.sizes(), " and dim ", d);
  return flat.index_select(d, repeat_interleave(counts, output_size).to(kLong));
}

Tensor repeat_interleave(const Tensor& x, int64_t repeats, std::optional<int64_t> dim,
                         std::optional<int64_t> output_size) {
  TANDEM_CHECK(repeats >= 0, "repeat_interleave: repeats can not be negative, got ", repeats);
  const Tensor flat = dim ? atleast_1d(x) : x.flatten();
  const int64_t d = wrap_dim("repeat_interleave", dim.value_or(0), flat.dim());
  TANDEM_CHECK(!output_size || *output_size == repeats * flat.size(d),
               "repeat_interleave: output_size is ", output_size.value_or(0), " but there are ",
               repeats * flat.size(d), " elements");
  Dims expanded = flat.sizes();
  expanded.insert(expanded.begin() + d + 1, repeats);
  return flat.unsqueeze(d + 1).expand(expanded).clone().flatten(d, d + 1);
}

Tensor Tensor::repeat_interleave(const Tensor& repeats, std::optional<int64_t> dim,
                                 std::optional<int64_t> output_size) const {
  return tandem::repeat_interleave(*this, repeats, dim, output_size);
}
Tensor Tensor::repeat_interleave(int64_t repeats, std::optional<int64_t> dim,
                                 std::optional<int64_t> output_size) const {
  return tandem::repeat_interleave(*this, repeats, dim, output_size);
}

}  // namespace tandem
