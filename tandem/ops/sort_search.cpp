// Places in sorted sequences, and counts.
#include <cmath>

#include "tandem/core/apply.h"
#include "tandem/kernels/sort.h"
#include "tandem/ops/batch_detail.h"
#include "tandem/ops/ops.h"

namespace tandem {
namespace {

struct SearchAttrs {
  bool right;
  DType dtype;
  TANDEM_FIELDS(right, dtype)
};

struct HistogramAttrs {
  int64_t bins;
  double low, high;
  TANDEM_FIELDS(bins, low, high)
};

struct BincountAttrs {
  int64_t bins;
  TANDEM_FIELDS(bins)
};

void searchsorted_batch(const BatchArgs& a) {
  const bool one_sequence = sample_dim(a) == 1;
  if (one_sequence && !a.batched[0] && (a.n_inputs == 2 || !a.batched[2]))
    return apply_to(a.op, {a.inputs, static_cast<size_t>(a.n_inputs)}, a.attr_ref, a.outputs);
  SmallVector<Tensor, 4> inputs = samples(a);
  const Dims sizes = sample_sizes(a, 1);
  if (one_sequence) inputs[1] = inputs[1].reshape({a.size, numel_of(sizes)});
  apply_to(a.op, inputs, a.attr_ref, a.outputs);
  a.outputs[0] = a.outputs[0].view(batched_sizes(a, sizes));
}

}  // namespace

TANDEM_OP(kSearchsorted) = {
    .name = "searchsorted",
    .infer =
        [](const InferArgs& a) {
          const TensorType &sorted = a.in(0), &values = a.in(1);
          TANDEM_CHECK_SHAPE(sorted.dim() > 0,
                             "searchsorted: the sorted sequence must have at least one dimension");
          if (sorted.dim() > 1) {
            bool fits = sorted.dim() == values.dim();
            for (int64_t d = 0; fits && d + 1 < sorted.dim(); ++d)
              fits = sorted.sizes[static_cast<size_t>(d)] == values.sizes[static_cast<size_t>(d)];
            TANDEM_CHECK_SHAPE(
                fits,
                "searchsorted: boundaries tensor should be 1 dimension or the first N-1 dimensions "
                "of boundaries tensor and input value tensor must match, but we got boundaries "
                "tensor ",
                sorted.sizes, " and input value tensor ", values.sizes);
          }
          if (a.n_inputs == 3) {
            TANDEM_CHECK_TYPE(a.in(2).dtype == kLong,
                              "searchsorted: sorter must be a tensor of long dtype but got ",
                              a.in(2).dtype);
            TANDEM_CHECK_SHAPE(a.in(2).sizes == sorted.sizes,
                               "searchsorted: boundary and sorter must have the same size, but got "
                               "boundary tensor ",
                               sorted.sizes, " and got sorter tensor ", a.in(2).sizes);
          }
          a.out().sizes = values.sizes;
          a.out().dtype = a.attrs<SearchAttrs>().dtype;
        },
    .kernel =
        [](const KernelArgs& a) {
          kernels::search_sorted(a.in(0), a.in(1), a.attrs<SearchAttrs>().right,
                                 a.n_inputs == 3 ? &a.in(2) : nullptr, a.out());
        },
    .checks_values = true,
    .attrs = attrs_of<SearchAttrs>,
    .batch = searchsorted_batch,
};

TANDEM_OP(kHistc) = {
    .name = "histc",
    .infer =
        [](const InferArgs& a) {
          const auto& h = a.attrs<HistogramAttrs>();
          TANDEM_CHECK(h.bins > 0 && h.low < h.high && std::isfinite(h.high - h.low),
                       "histc: ", h.bins, " bins from ", h.low, " to ", h.high);
          a.out().sizes = {h.bins};
          a.out().dtype = a.in().dtype;
        },
    .kernel =
        [](const KernelArgs& a) {
          const auto& h = a.attrs<HistogramAttrs>();
          kernels::histogram(a.in(), h.low, h.high, a.out());
        },
    .attrs = attrs_of<HistogramAttrs>,
    .batch = batch_loop,
    .inputs = 1,
};

TANDEM_OP(kBincount) = {
    .name = "bincount",
    .infer =
        [](const InferArgs& a) {
          TANDEM_CHECK(a.n_inputs <= 2, "bincount: takes values and weights, ", a.n_inputs,
                       " inputs given");
          TANDEM_CHECK_SHAPE(
              a.in(0).dim() == 1 && (a.n_inputs == 1 || a.in(1).sizes == a.in(0).sizes),
              "bincount: values and weights are rows of equal length");
          a.out().sizes = {a.attrs<BincountAttrs>().bins};
          a.out().dtype = a.n_inputs == 1 ? kLong : a.in(1).dtype == kFloat ? kFloat : kDouble;
        },
    .kernel =
        [](const KernelArgs& a) {
          kernels::bincount(a.in(0), a.n_inputs == 2 ? &a.in(1) : nullptr, a.out());
        },
    .attrs = attrs_of<BincountAttrs>,
    .batch =
        [](const BatchArgs& a) {
          // Each sample counts in bins of its own.
          const int64_t bins = a.attrs<BincountAttrs>().bins;
          const Tensor first = arange(a.size, TensorOptions(kLong)).view({a.size, 1}) * bins;
          SmallVector<Tensor, 4> inputs{(a.sample(0).to(kLong) + first).reshape({-1})};
          if (a.n_inputs == 2) inputs.push_back(a.sample(1).reshape({-1}));
          apply_to(a.op, inputs, BincountAttrs{a.size * bins}, a.outputs);
          a.outputs[0] = a.outputs[0].view({a.size, bins});
        },
};

Tensor searchsorted(const Tensor& sorted_sequence, const Tensor& values, bool out_int32, bool right,
                    const std::optional<std::string>& side, const std::optional<Tensor>& sorter) {
  if (side) {
    TANDEM_CHECK_AS(ValueError, *side == "left" || *side == "right",
                    "searchsorted: side can only be 'left' or 'right' but got ", *side);
    TANDEM_CHECK(*side == "right" || !right,
                 "searchsorted: side and right can't be set to opposites, got side of left while "
                 "right was True");
    right = *side == "right";
  }
  const SearchAttrs attrs = {right, out_int32 ? kInt : kLong};
  if (sorter && sorter->defined())
    return apply(kSearchsorted, {sorted_sequence, values, *sorter}, attrs);
  return apply(kSearchsorted, {sorted_sequence, values}, attrs);
}
Tensor searchsorted(const Tensor& sorted_sequence, const Scalar& value, bool out_int32, bool right,
                    const std::optional<std::string>& side, const std::optional<Tensor>& sorter) {
  TANDEM_CHECK_SHAPE(sorted_sequence.dim() == 1,
                     "searchsorted: input value can be a scalar only when boundaries tensor "
                     "dimension is 1, but we got boundaries tensor dim(",
                     sorted_sequence.dim(), ")");
  return searchsorted(sorted_sequence, full({}, value), out_int32, right, side, sorter);
}
Tensor bucketize(const Tensor& x, const Tensor& boundaries, bool out_int32, bool right) {
  TANDEM_CHECK_SHAPE(boundaries.dim() == 1,
                     "bucketize: boundaries tensor must be 1 dimension, but "
                     "got dim(",
                     boundaries.dim(), ")");
  return searchsorted(boundaries, x, out_int32, right);
}
Tensor bucketize(const Scalar& x, const Tensor& boundaries, bool out_int32, bool right) {
  return bucketize(full({}, x), boundaries, out_int32, right);
}

Tensor histc(const Tensor& x, int64_t bins, const Scalar& min, const Scalar& max) {
  TANDEM_CHECK(bins > 0, "histc: bins must be > 0, got ", bins);
  TANDEM_CHECK_TYPE(x.dtype() == kFloat || x.dtype() == kDouble,
                    "histc: expected a float or double tensor, got ", x.dtype());
  double low = min.toDouble(), high = max.toDouble();
  if (low == high && x.numel() > 0) {
    low = x.detach().min().item<double>();
    high = x.detach().max().item<double>();
  }
  if (low == high) {
    low -= 1;
    high += 1;
  }
  TANDEM_CHECK(std::isfinite(low) && std::isfinite(high), "histc: range of [", low, ", ", high,
               "] is not finite");
  TANDEM_CHECK(low < high, "histc: max must be larger than min, got min ", low, " and max ", high);
  return apply(kHistc, {x}, HistogramAttrs{bins, low, high});
}

Tensor bincount(const Tensor& x, const std::optional<Tensor>& weights, int64_t minlength) {
  TANDEM_CHECK(minlength >= 0, "bincount: minlength should be >= 0, got ", minlength);
  TANDEM_CHECK(x.dim() == 1 && isIntegralType(x.dtype()),
               "bincount: only supports 1-d non-negative integral inputs, got ", x.type_of());
  int64_t bins = minlength;
  x.impl()->need_values("bincount");
  if (x.numel() > 0) {
    TANDEM_CHECK_AS(ValueError, x.min().item<int64_t>() >= 0,
                    "bincount: only supports 1-d non-negative integral inputs, got the value ",
                    x.min().item<int64_t>());
    bins = std::max(bins, x.max().item<int64_t>() + 1);
  }
  if (!weights || !weights->defined()) return apply(kBincount, {x}, BincountAttrs{bins});
  TANDEM_CHECK_SHAPE(weights->sizes() == x.sizes(),
                     "bincount: weights should be 1-d and have the same length as input, got ",
                     weights->sizes(), " and ", x.sizes());
  return apply(kBincount, {x, *weights}, BincountAttrs{bins});
}

Tensor Tensor::histc(int64_t bins, const Scalar& min, const Scalar& max) const {
  return tandem::histc(*this, bins, min, max);
}
Tensor Tensor::bincount(const std::optional<Tensor>& weights, int64_t minlength) const {
  return tandem::bincount(*this, weights, minlength);
}

}  // namespace tandem
