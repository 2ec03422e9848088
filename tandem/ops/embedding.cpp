#include "tandem/ops/embedding.h"

#include "tandem/core/apply.h"
#include "tandem/core/mode.h"
#include "tandem/kernels/embedding.h"
#include "tandem/kernels/map.h"
#include "tandem/ops/attr_checks_detail.h"
#include "tandem/ops/batch_detail.h"
#include "tandem/ops/ops.h"

namespace tandem {
namespace {

struct EmbeddingAttrs {
  int64_t padding = -1;
  bool by_frequency = false;
  TANDEM_FIELDS(padding, by_frequency)
};
struct EmbeddingGradAttrs {
  int64_t rows = 0;
  int64_t padding = -1;
  bool by_frequency = false;
  TANDEM_FIELDS(rows, padding, by_frequency)
};
struct RenormAttrs {
  double max_norm = 1, p = 2;
  TANDEM_FIELDS(max_norm, p)
};
struct BagAttrs {
  kernels::BagMode mode = kernels::BagMode::Sum;
  bool include_last = false;
  int64_t padding = -1;
  bool by_frequency = false;
  TANDEM_FIELDS(mode, include_last, padding, by_frequency)
};

void check_table(const InferArgs& a) {
  TANDEM_CHECK_SHAPE(a.in().dim() == 2, a.op.name,
                     ": 'weight' must be 2-D, [rows, features], got shape ", a.in().sizes);
}
void check_indices(const InferArgs& a, int i) {
  TANDEM_CHECK_TYPE(a.in(i).dtype == kLong, a.op.name, ": expected indices to be int64, got ",
                    a.in(i).dtype);
}

// Row numbers for tables that lie one behind the other, a table for each sample.
Tensor shifted_indices(const Tensor& indices, int64_t samples, int64_t rows) {
  Dims sizes(static_cast<size_t>(indices.dim()), 1);
  sizes[0] = samples;
  return indices + arange(samples, TensorOptions().dtype(kLong)).reshape(sizes) * rows;
}

}  // namespace

TANDEM_OP(kEmbeddingGrad) = {
    .name = "embedding_backward",
    .infer =
        [](const InferArgs& a) {
          const auto& e = a.attrs<EmbeddingGradAttrs>();
          check_indices(a, 1);
          const TensorType &g = a.in(0), &index = a.in(1);
          TANDEM_CHECK_TYPE(is_floating(g.dtype),
                            "embedding_backward: expected a floating point gradient, got ", g);
          bool fits = g.dim() == index.dim() + 1;
          for (size_t d = 0; fits && d < index.sizes.size(); ++d)
            fits = g.sizes[d] == index.sizes[d];
          TANDEM_CHECK_SHAPE(fits, "embedding_backward: a gradient of shape ", g.sizes,
                             " does not belong to indices of shape ", index.sizes);
          TANDEM_CHECK(e.rows >= 0, "embedding_backward: a table cannot have ", e.rows, " rows");
          a.out().sizes = {e.rows, g.sizes.back()};
          a.out().dtype = g.dtype;
        },
    .kernel =
        [](const KernelArgs& a) {
          const auto& e = a.attrs<EmbeddingGradAttrs>();
          kernels::embedding_grad(a.in(0), a.in(1), e.padding, e.by_frequency, a.out());
        },
    .saves = Saves::all(Saves::in(1)),
    .vjp = [](const VjpArgs& a) -> Grads {
      const auto& e = a.attrs<EmbeddingGradAttrs>();
      const Tensor index = a.input(1), h = a.grad();
      Tensor g = embedding(h, index);
      if (e.by_frequency) {
        const Tensor flat = index.reshape({-1});
        const Tensor one = ones({flat.numel()}, h.options().requires_grad(false));
        const Tensor count = zeros({e.rows}, one.options()).index_add(0, flat, one);
        g = g / embedding(count.unsqueeze(1), index);
      }
      if (e.padding >= 0) g = g.masked_fill((index == e.padding).unsqueeze(-1), 0);
      return {g, Tensor()};
    },
    .checks_values = true,
    .attrs = attrs_of<EmbeddingGradAttrs>,
    .batch =
        [](const BatchArgs& a) {
          EmbeddingGradAttrs e = a.attrs<EmbeddingGradAttrs>();
          const Tensor index = a.sample(1);
          Tensor g = a.sample(0);
          if (e.padding >= 0) g = g.masked_fill((index == e.padding).unsqueeze(-1), 0);
          e.padding = -1;
          const int64_t rows = e.rows;
          e.rows *= a.size;
          const Tensor all = apply(a.op, {g, shifted_indices(index, a.size, rows)}, e);
          a.outputs[0] = all.reshape({a.size, rows, g.size(-1)});
        },
    .inputs = 2,
};

TANDEM_OP(kEmbedding) = {
    .name = "embedding",
    .infer =
        [](const InferArgs& a) {
          check_table(a);
          check_indices(a, 1);
          a.out().sizes = a.in(1).sizes;
          a.out().sizes.push_back(a.in(0).sizes[1]);
          a.out().dtype = a.in(0).dtype;
        },
    .kernel = [](const KernelArgs& a) { kernels::embedding(a.in(0), a.in(1), a.out()); },
    .saves = Saves::all(Saves::in(1)),
    .vjp = [](const VjpArgs& a) -> Grads {
      const auto& e = a.attrs<EmbeddingAttrs>();
      return {apply(kEmbeddingGrad, {a.grad(), a.input(1)},
                    EmbeddingGradAttrs{a.input_type(0).sizes[0], e.padding, e.by_frequency}),
              Tensor()};
    },
    .checks_values = true,
    .attrs = attrs_of<EmbeddingAttrs>,
    .batch =
        [](const BatchArgs& a) {
          EmbeddingAttrs e = a.attrs<EmbeddingAttrs>();
          const Tensor index = a.sample(1);
          // One table for all, unless gradients depend on how often each sample uses a row.
          if (!a.batched[0] && !e.by_frequency) {
            a.outputs[0] = apply(a.op, {a.in(0), index}, e);
            return;
          }
          const Tensor table = a.sample(0);
          const int64_t rows = table.size(1), padding = e.padding;
          e.padding = -1;
          const Tensor y = apply(
              a.op, {table.reshape({-1, table.size(2)}), shifted_indices(index, a.size, rows)}, e);
          a.outputs[0] = padding < 0 ? y : where((index == padding).unsqueeze(-1), y.detach(), y);
        },
    .inputs = 2,
};

TANDEM_OP(kEmbeddingRenorm) = {
    .name = "embedding_renorm",
    .infer =
        [](const InferArgs& a) {
          check_table(a);
          check_indices(a, 1);
          TANDEM_CHECK_TYPE(is_floating(a.in().dtype),
                            "embedding_renorm_: expected a floating point table, got ", a.in());
          a.out().sizes = a.in().sizes;
          a.out().dtype = a.in().dtype;
        },
    .kernel =
        [](const KernelArgs& a) {
          if (a.out().data != a.in().data) kernels::copy(a.in(), a.out());
          const auto& r = a.attrs<RenormAttrs>();
          kernels::embedding_renorm(a.out(), a.in(1), r.max_norm, r.p);
        },
    .inplace = true,
    .checks_values = true,
    .attrs = attrs_of<RenormAttrs>,
    .batch =
        [](const BatchArgs& a) {
          const Tensor table = a.sample(0);
          const Tensor index = shifted_indices(a.sample(1), a.size, table.size(1));
          a.outputs[0] = apply(a.op, {table.reshape({-1, table.size(2)}), index}, a.attr_ref)
                             .reshape(table.sizes());
        },
    .inputs = 2,
};

namespace {

Grads bag_vjp(const VjpArgs& a) {
  const auto& b = a.attrs<BagAttrs>();
  Grads r(static_cast<size_t>(a.n_inputs()));
  if (!a.has_grad(0)) return r;
  const Tensor g = a.grad(0), weight = a.input(0), index = a.input(1);
  if (b.mode == kernels::BagMode::Max) {
    // Bags without rows name none.
    const Tensor chosen = a.output(3).detach(), none = chosen < 0;
    r[0] = zeros_like(weight.detach()).scatter_add(0, chosen.clamp_min(0), g.masked_fill(none, 0));
    return r;
  }
  Tensor rows = g;
  if (b.mode == kernels::BagMode::Mean)
    rows = g / a.output(2).detach().clamp_min(1).unsqueeze(1).to(g.dtype());
  rows = embedding(rows, a.output(1).detach());
  const bool weighted = a.n_inputs() == 4;
  if (a.needs(0))
    r[0] = apply(kEmbeddingGrad,
                 {weighted ? rows * a.input(3).unsqueeze(1).to(rows.dtype()) : rows, index},
                 EmbeddingGradAttrs{weight.size(0), b.padding, b.by_frequency});
  if (weighted && a.needs(3)) {
    Tensor by_index = (rows * embedding(weight, index)).sum(1);
    if (b.padding >= 0) by_index = by_index.masked_fill(index == b.padding, 0);
    r[3] = by_index.to(a.input_type(3).dtype);
  }
  return r;
}

// The bags of all samples one behind the other.
void batch_bag(const BatchArgs& a) {
  BagAttrs b = a.attrs<BagAttrs>();
  const bool own = a.batched[0] || b.by_frequency;
  // A row that counts for nothing has another number in each sample's table.
  if (own && b.padding >= 0) return batch_loop(a);
  const Tensor index = a.sample(1), offsets = a.sample(2);
  const int64_t n = index.size(1), bags = offsets.size(1);
  Tensor table = own ? a.sample(0) : a.in(0);
  const int64_t rows = table.size(own ? 1 : 0), d = table.size(-1);
  if (own) table = table.reshape({-1, d});
  // The end of the last bag becomes a bag of its own, which is left out again.
  const int64_t wanted = bags - (b.include_last ? 1 : 0);
  b.include_last = false;
  SmallVector<Tensor, 4> in{table,
                            (own ? shifted_indices(index, a.size, rows) : index).reshape({-1}),
                            shifted_indices(offsets, a.size, n).reshape({-1})};
  if (a.n_inputs > 3) in.push_back(a.sample(3).reshape({-1}));
  Tensor out[4];
  apply_to(a.op, in, b, out);
  const auto first = arange(a.size, TensorOptions().dtype(kLong)).reshape({-1, 1});
  a.outputs[0] = out[0].reshape({a.size, bags, d}).narrow(1, 0, wanted);
  a.outputs[1] =
      (out[1].reshape({a.size, n}) - first * bags).clamp_max(std::max<int64_t>(wanted - 1, 0));
  a.outputs[2] = out[2].reshape({a.size, bags}).narrow(1, 0, wanted);
  if (b.mode != kernels::BagMode::Max) {
    a.outputs[3] = zeros({a.size, 0, d}, TensorOptions().dtype(kLong));
    return;
  }
  const Tensor chosen = out[3].reshape({a.size, bags, d}).narrow(1, 0, wanted);
  a.outputs[3] = own ? where(chosen < 0, chosen, chosen - (first * rows).unsqueeze(2)) : chosen;
}

}  // namespace

TANDEM_OP(kEmbeddingBag) = {
    .name = "embedding_bag",
    .infer =
        [](const InferArgs& a) {
          const auto& b = a.attrs<BagAttrs>();
          check_table(a);
          check_indices(a, 1);
          check_indices(a, 2);
          detail::check_choice(a, b.mode, kernels::BagMode::Max);
          TANDEM_CHECK_TYPE(is_floating(a.in().dtype),
                            "embedding_bag: expected a floating point table, got ", a.in());
          TANDEM_CHECK_SHAPE(a.in(1).dim() == 1 && a.in(2).dim() == 1,
                             "embedding_bag: indices and offsets must be 1-D, got shapes ",
                             a.in(1).sizes, " and ", a.in(2).sizes);
          const int64_t n = a.in(1).sizes[0];
          if (a.n_inputs > 3) {
            TANDEM_CHECK_SHAPE(a.in(3).sizes == a.in(1).sizes,
                               "embedding_bag: expected per_sample_weights of the shape of the "
                               "indices, ",
                               a.in(1).sizes, ", got ", a.in(3).sizes);
            TANDEM_CHECK_TYPE(is_floating(a.in(3).dtype),
                              "embedding_bag: expected floating point per_sample_weights, got ",
                              a.in(3).dtype);
            TANDEM_CHECK(b.mode == kernels::BagMode::Sum,
                         "embedding_bag: per_sample_weights was not null, which is only supported "
                         "for mode='sum'");
          }
          TANDEM_CHECK_SHAPE(!b.include_last || a.in(2).sizes[0] >= 1,
                             "embedding_bag: include_last_offset needs at least one offset");
          const int64_t bags = a.in(2).sizes[0] - (b.include_last ? 1 : 0), d = a.in().sizes[1];
          a.out(0).sizes = {bags, d};
          a.out(0).dtype = a.in().dtype;
          a.out(1).sizes = {n};
          a.out(2).sizes = {bags};
          a.out(3).sizes = {b.mode == kernels::BagMode::Max ? bags : 0, d};
          for (int i = 1; i < 4; ++i) a.out(i).dtype = kLong;
        },
    .kernel =
        [](const KernelArgs& a) {
          const auto& b = a.attrs<BagAttrs>();
          kernels::embedding_bag(a.in(0), a.in(1), a.in(2), a.n_inputs > 3 ? &a.in(3) : nullptr,
                                 {b.mode, b.include_last, b.padding}, a.out(0), a.out(1), a.out(2),
                                 a.out(3));
        },
    .saves = Saves::all(Saves::in(0) | Saves::in(1) | Saves::in(3) | Saves::out(1) | Saves::out(2) |
                        Saves::out(3)),
    .vjp = bag_vjp,
    .outputs = 4,
    .checks_values = true,
    .attrs = attrs_of<BagAttrs>,
    .batch = batch_bag,
};

// -- functions --------------------------------------------------------------------------------

namespace {

Tensor as_index(const char* op, const Tensor& t) {
  TANDEM_CHECK_TYPE(t.dtype() == kLong || t.dtype() == kInt, op,
                    ": expected indices of dtype int64 or int32, got ", t.dtype());
  return t.to(kLong);
}

}  // namespace

Tensor embedding(const Tensor& weight, const Tensor& indices, int64_t padding_idx,
                 bool scale_grad_by_freq, bool) {
  return apply(kEmbedding, {weight, as_index("embedding", indices)},
               EmbeddingAttrs{padding_idx, scale_grad_by_freq});
}

Tensor embedding_dense_backward(const Tensor& grad_output, const Tensor& indices,
                                int64_t num_weights, int64_t padding_idx, bool scale_grad_by_freq) {
  return apply(kEmbeddingGrad, {grad_output, as_index("embedding_dense_backward", indices)},
               EmbeddingGradAttrs{num_weights, padding_idx, scale_grad_by_freq});
}

Tensor& embedding_renorm_(const Tensor& weight, const Tensor& indices, double max_norm,
                          double norm_type) {
  const NoGradGuard no_grad;
  return apply_inplace(kEmbeddingRenorm, weight, {weight, as_index("embedding_renorm_", indices)},
                       RenormAttrs{max_norm, norm_type});
}

std::tuple<Tensor, Tensor, Tensor, Tensor> embedding_bag(
    const Tensor& weight, const Tensor& indices, const Tensor& offsets, bool scale_grad_by_freq,
    int64_t mode, bool, const std::optional<Tensor>& per_sample_weights, bool include_last_offset,
    std::optional<int64_t> padding_idx) {
  TANDEM_CHECK(mode >= 0 && mode <= 2, "embedding_bag: mode is 0 (sum), 1 (mean) or 2 (max), not ",
               mode);
  int64_t padding = padding_idx.value_or(-1);
  if (padding_idx && weight.dim() == 2) {
    const int64_t rows = weight.size(0);
    TANDEM_CHECK_INDEX(padding >= -rows && padding < rows, "embedding_bag: padding_idx ", padding,
                       " is not a row of a table of ", rows);
    if (padding < 0) padding += rows;
  }
  const BagAttrs attrs{static_cast<kernels::BagMode>(mode), include_last_offset, padding,
                       scale_grad_by_freq};
  const Tensor index = as_index("embedding_bag", indices),
               from = as_index("embedding_bag", offsets);
  auto [y, bag, size, chosen] =
      per_sample_weights && per_sample_weights->defined()
          ? apply_n<4>(kEmbeddingBag, {weight, index, from, *per_sample_weights}, attrs)
          : apply_n<4>(kEmbeddingBag, {weight, index, from}, attrs);
  return {std::move(y), std::move(bag), std::move(size), std::move(chosen)};
}

}  // namespace tandem
