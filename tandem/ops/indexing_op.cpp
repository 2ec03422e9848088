#include "tandem/ops/indexing_op.h"

#include "tandem/kernels/index.h"
#include "tandem/kernels/map.h"
#include "tandem/ops/attr_checks_detail.h"
#include "tandem/ops/batch_detail.h"
#include "tandem/ops/creation.h"
#include "tandem/ops/view.h"

namespace tandem {
namespace {

// `values` seen in a larger shape.
struct Broadcast {
  Dims strides;
  Array array;
  Broadcast(const Array& a, const Dims& sizes) : strides(sizes.size(), 0), array(a) {
    const size_t extra = sizes.size() - static_cast<size_t>(a.ndim);
    for (int d = 0; d < a.ndim; ++d)
      if (a.sizes[d] != 1) strides[extra + static_cast<size_t>(d)] = a.strides[d];
    array.sizes = sizes.data();
    array.strides = strides.data();
    array.ndim = static_cast<int32_t>(sizes.size());
    array.numel = numel_of(sizes);
    array.contiguous = is_contiguous(sizes, strides);
  }
};

// One index tensor for each of the dimensions, all of one shape.
void check_indices(const InferArgs& a, IntArrayRef dims, int first) {
  detail::check_rising_dims(a, dims);
  TANDEM_CHECK(!dims.empty() && static_cast<int>(dims.size()) == a.n_inputs - first, a.op.name,
               ": ", a.n_inputs - first, " indices for the dimensions ", dims);
  for (int i = first; i < a.n_inputs; ++i)
    TANDEM_CHECK_INDEX(a.in(i).dtype == kLong && a.in(i).sizes == a.in(first).sizes, a.op.name,
                       ": indices ", a.in(first), " and ", a.in(i),
                       ", which must be int64 and of one shape");
}

// The index tensors of a node, which are its inputs from `first` on.
std::vector<Tensor> saved_indices(const VjpArgs& a, int first) {
  std::vector<Tensor> indices;
  for (int i = first; i < a.n_inputs(); ++i) indices.push_back(a.input(i));
  return indices;
}

SmallVector<TensorArg, 6> arguments(const Tensor& x, const Tensor* values, TensorList indices) {
  SmallVector<TensorArg, 6> args;
  args.push_back(x);
  if (values) args.push_back(*values);
  for (const Tensor& i : indices) args.push_back(i);
  return args;
}

void index_put_kernel(const KernelArgs& a) {
  const auto& p = a.attrs<IndexPutAttrs>();
  const Array &x = a.in(0), &out = a.out();
  if (x.data != out.data || x.stride() != out.stride()) kernels::copy(x, out);
  const Dims sizes = kernels::indexed_shape(x.shape(), p.dims, a.in(2).shape());
  kernels::index_put(out, p.dims, a.inputs + 2, Broadcast(a.in(1), sizes).array, p.accumulate,
                     p.from_end);
}

// -- batches: the number of the sample is one more index --------------------------------------

bool neighbours(IntArrayRef dims) {
  for (size_t i = 1; i < dims.size(); ++i)
    if (dims[i] != dims[i - 1] + 1) return false;
  return true;
}

Dims moved_on(IntArrayRef dims) {
  Dims moved(dims);
  for (int64_t& d : moved) ++d;
  return moved;
}

// Index tensors with the samples in front, the first of which is the number of the sample.
void add_numbered(const BatchArgs& a, int first, SmallVector<Tensor, 4>& inputs) {
  Dims shape{a.size};
  shape.resize(static_cast<size_t>(1 + sample_dim(a, first)), 1);
  const Tensor numbers = arange(a.size, TensorOptions(kLong).device(a.in(first).device()));
  inputs.push_back(numbers.view(shape).expand(batched_sizes(a, sample_sizes(a, first))));
  for (int i = first; i < a.n_inputs; ++i) inputs.push_back(a.sample(i));
}

Dims numbered_dims(IntArrayRef dims) {
  Dims all{0};
  for (int64_t d : dims) all.push_back(d + 1);
  return all;
}

// Of [samples, first.., second.., rest..] with the second before the first.
Tensor swapped(const Tensor& x, int64_t first, int64_t second) {
  Dims order{0};
  for (int64_t d = 0; d < second; ++d) order.push_back(1 + first + d);
  for (int64_t d = 0; d < first; ++d) order.push_back(1 + d);
  for (int64_t d = 1 + first + second; d < x.dim(); ++d) order.push_back(d);
  return x.permute(order);
}

void index_batch(const BatchArgs& a) {
  const auto& [dims, from_end] = a.attrs<IndexAttrs>();
  const int64_t index_dim = sample_dim(a, 1);
  const int64_t place = neighbours(dims) ? dims[0] : 0;  // of the index's dimensions in a sample
  bool same_places = true;
  for (int i = 1; i < a.n_inputs; ++i) same_places &= !a.batched[i];
  if (same_places) {
    apply_to(a.op, {a.inputs, static_cast<size_t>(a.n_inputs)},
             IndexAttrs{moved_on(dims), from_end}, a.outputs);
    if (!neighbours(dims)) a.outputs[0] = a.outputs[0].movedim(index_dim, 0);
    return;
  }
  SmallVector<Tensor, 4> inputs{a.in()};
  if (a.batched[0]) {
    add_numbered(a, 1, inputs);
    apply_to(a.op, inputs, IndexAttrs{numbered_dims(dims), from_end}, a.outputs);
    if (place > 0) a.outputs[0] = swapped(a.outputs[0], index_dim, place);
    return;
  }
  for (int i = 1; i < a.n_inputs; ++i) inputs.push_back(a.sample(i));
  apply_to(a.op, inputs, IndexAttrs{dims, from_end}, a.outputs);
  if (place > 0) a.outputs[0] = a.outputs[0].movedim(place, 0);
}

void index_put_batch(const BatchArgs& a) {
  const auto& p = a.attrs<IndexPutAttrs>();
  const Dims shape = kernels::indexed_shape(sample_sizes(a), p.dims, sample_sizes(a, 2));
  const int64_t place = neighbours(p.dims) ? p.dims[0] : 0;
  Tensor values = aligned(a, 1, static_cast<int64_t>(shape.size()));
  if (place > 0) values = swapped(values.expand(batched_sizes(a, shape)), place, sample_dim(a, 2));
  SmallVector<Tensor, 4> inputs{a.sample(0), values};
  add_numbered(a, 2, inputs);
  apply_to(a.op, inputs, IndexPutAttrs{numbered_dims(p.dims), p.accumulate, p.from_end}, a.outputs);
}

}  // namespace

TANDEM_OP(kIndex) = {
    .name = "index",
    .infer =
        [](const InferArgs& a) {
          check_indices(a, a.attrs<IndexAttrs>().dims, 1);
          a.out().sizes =
              kernels::indexed_shape(a.in().sizes, a.attrs<IndexAttrs>().dims, a.in(1).sizes);
          a.out().dtype = a.in().dtype;
        },
    .kernel =
        [](const KernelArgs& a) {
          const auto& i = a.attrs<IndexAttrs>();
          kernels::index(a.in(), i.dims, a.inputs + 1, a.out(), i.from_end);
        },
    .saves = Saves::each(Saves::from(1)),
    .vjp = [](const VjpArgs& a) -> Grads {
      const TensorType& in = a.input_type();
      const Tensor grad = zeros(in.sizes, TensorOptions(in.dtype).device(in.device));
      const auto indices = saved_indices(a, 1);
      return {apply_inplace(kIndexPut, grad, arguments(grad, &a.grad(), indices).ref(),
                            IndexPutAttrs{a.attrs<IndexAttrs>().dims, true})};
    },
    .checks_values = true,
    .attrs = attrs_of<IndexAttrs>,
    .batch = index_batch,
};

TANDEM_OP(kIndexPut) = {
    .name = "index_put",
    .infer =
        [](const InferArgs& a) {
          const Dims& dims = a.attrs<IndexPutAttrs>().dims;
          check_indices(a, dims, 2);
          const Dims part = kernels::indexed_shape(a.in().sizes, dims, a.in(2).sizes);
          TANDEM_CHECK_SHAPE(a.in(1).dim() <= static_cast<int64_t>(part.size()) &&
                                 broadcast_shapes("index_put", part, a.in(1).sizes) == part,
                             "index_put: values of shape ", a.in(1).sizes, " for a part of shape ",
                             part);
          TANDEM_CHECK_TYPE(a.in(1).dtype == a.in().dtype, "index_put: ", a.in(1), " put into ",
                            a.in());
          a.out().sizes = a.in().sizes;
          a.out().dtype = a.in().dtype;
        },
    .kernel = index_put_kernel,
    .saves = Saves::each(Saves::from(2), Saves::from(2)),
    .vjp = [](const VjpArgs& a) -> Grads {
      const auto& p = a.attrs<IndexPutAttrs>();
      const auto indices = saved_indices(a, 2);
      Grads grads(2);
      if (a.needs(0)) {
        grads[0] = a.grad();
        if (!p.accumulate) {
          const Tensor zero = zeros({}, a.grad().options());
          grads[0] = apply(kIndexPut, arguments(a.grad(), &zero, indices).ref(), p);
        }
      }
      if (a.needs(1))
        grads[1] = apply(kIndex, arguments(a.grad(), nullptr, indices).ref(), IndexAttrs{p.dims});
      return grads;
    },
    .inplace = true,
    .checks_values = true,
    .attrs = attrs_of<IndexPutAttrs>,
    .batch = index_put_batch,
};

// -- calls ----------------------------------------------------------------------------------------

namespace {

// Index tensors as the ops want them: int64 and of one shape.
std::vector<Tensor> prepared(const char* op, const Tensor& x, IntArrayRef dims,
                             TensorList indices) {
  TANDEM_CHECK(indices.size() + 2 < Saves::kMaxInputs, op, ": at most ", Saves::kMaxInputs - 3,
               " dimensions can be indexed by tensors at once");
  std::vector<Tensor> result;
  Dims shape;
  for (size_t i = 0; i < indices.size(); ++i) {
    const Tensor& t = indices[i];
    TANDEM_CHECK_TYPE(isIntegralType(t.dtype()), op,
                      ": tensors used as indices must be long, byte or bool tensors, not ",
                      t.dtype());
    for (size_t d = 1; d <= shape.size() && d <= static_cast<size_t>(t.dim()); ++d) {
      const int64_t a = shape[shape.size() - d], b = t.size(-static_cast<int64_t>(d));
      if (a == b || a == 1 || b == 1) continue;
      std::string shapes;
      for (const Tensor& s : indices) shapes += str(shapes.empty() ? "" : ", ", s.sizes());
      TANDEM_CHECK_INDEX(
          false, op,
          ": shape mismatch: indexing tensors could not be broadcast together with shapes ",
          shapes);
    }
    shape = broadcast_shapes(op, shape, t.sizes());
  }
  for (size_t i = 0; i < indices.size(); ++i) {
    const Tensor t = indices[i].to(kLong);
    result.push_back(t.sizes() == IntArrayRef(shape) ? t : t.expand(shape));
    TANDEM_CHECK_INDEX(x.sizes()[dims[i]] > 0 || result.back().numel() == 0, op,
                       ": index is out of bounds for dimension with size 0");
  }
  return result;
}

void check_values(const char* op, const Tensor& x, IntArrayRef dims, const Tensor& index,
                  const Tensor& values) {
  TANDEM_CHECK_TYPE(values.dtype() == x.dtype(), op,
                    ": Index put requires the source and destination dtypes match, got ", x.dtype(),
                    " for the destination and ", values.dtype(), " for the source.");
  const Dims shape = kernels::indexed_shape(x.sizes(), dims, index.sizes());
  const size_t extra = shape.size() - values.sizes().size();
  bool fits = values.sizes().size() <= shape.size();
  for (size_t d = 0; fits && d < values.sizes().size(); ++d)
    fits = values.sizes()[d] == 1 || values.sizes()[d] == shape[extra + d];
  TANDEM_CHECK_SHAPE(fits, op, ": shape mismatch: value tensor of shape ", values.sizes(),
                     " cannot be broadcast to indexing result of shape ", shape);
}

}  // namespace

Tensor index_at(const char* op, const Tensor& x, IntArrayRef dims, TensorList indices,
                bool from_end) {
  const auto ready = prepared(op, x, dims, indices);
  return naming(op, [&] {
    return apply(kIndex, arguments(x, nullptr, ready).ref(), IndexAttrs{dims, from_end});
  });
}

Tensor index_put_at(const char* op, const Tensor& x, IntArrayRef dims, TensorList indices,
                    const Tensor& values, bool accumulate, bool from_end) {
  const auto ready = prepared(op, x, dims, indices);
  check_values(op, x, dims, ready[0], values);
  return naming(op, [&] {
    return apply(kIndexPut, arguments(x, &values, ready).ref(),
                 IndexPutAttrs{dims, accumulate, from_end});
  });
}

Tensor& index_put_at_(const char* op, const Tensor& x, IntArrayRef dims, TensorList indices,
                      const Tensor& values, bool accumulate, bool from_end) {
  const auto ready = prepared(op, x, dims, indices);
  check_values(op, x, dims, ready[0], values);
  return naming(op, [&]() -> Tensor& {
    return apply_inplace(kIndexPut, x, arguments(x, &values, ready).ref(),
                         IndexPutAttrs{dims, accumulate, from_end});
  });
}

}  // namespace tandem
