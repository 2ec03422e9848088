// Norms over rows: the last dimensions of a tensor.
#include "tandem/ops/batch_detail.h"
#include "tandem/ops/norm_detail.h"
#include "tandem/ops/norm_op.h"
#include "tandem/ops/ops.h"

namespace tandem {
namespace {

// How a tensor falls apart into rows of its last `dims` dimensions.
struct ByRow {
  ByRow(IntArrayRef x, int64_t dims) : kept(x.begin(), x.end()) {
    const size_t first = x.size() - static_cast<size_t>(dims);
    for (size_t d = first; d < x.size(); ++d) {
      row.push_back(x[d]);
      kept[d] = 1;
      inner.push_back(static_cast<int64_t>(d));
    }
    for (size_t d = 0; d < first; ++d) outer.push_back(static_cast<int64_t>(d));
    length = numel_of(row);
  }
  /// The sum of a tensor over its rows, and over what rows share.
  Tensor row_sum(const Tensor& t) const { return t.sum(inner, true); }
  Tensor row_mean(const Tensor& t) const { return t.mean(inner, true); }
  Tensor shared_sum(const Tensor& t) const { return outer.empty() ? t : t.sum(outer); }

  Dims row;           // extents of a row
  Dims kept;          // x's extents with 1 for those of a row
  Dims inner, outer;  // dimensions within rows, and the others
  int64_t length;
};

ByRow rows_of(const Tensor& x, AttrRef attrs) { return {x.sizes(), attrs.as<RowNormAttrs>().dims}; }
int64_t length_of(const Array& x, AttrRef attrs) {
  return ByRow(x.shape(), attrs.as<RowNormAttrs>().dims).length;
}

ByRow check_rows(const InferArgs& a, int x) {
  const TensorType& t = a.in(x);
  TANDEM_CHECK_TYPE(is_floating(t.dtype), a.op.name, ": expected a floating point tensor, got ", t);
  const int64_t dims = a.attrs<RowNormAttrs>().dims;
  TANDEM_CHECK_SHAPE(dims >= 1 && dims <= t.dim(), a.op.name, ": rows of ", dims,
                     " dimensions do not fit a tensor of shape ", t.sizes);
  return {t.sizes, dims};
}

void check_weight(const InferArgs& a, int i, const char* what, const ByRow& rows) {
  if (i >= a.n_inputs) return;
  const TensorType& t = a.in(i);
  TANDEM_CHECK_SHAPE(t.sizes == rows.row, a.op.name, ": expected ", what,
                     " to be of the same shape as normalized_shape, but got ", what, " of shape ",
                     t.sizes, " and normalized_shape = ", rows.row);
  TANDEM_CHECK_TYPE(is_floating(t.dtype), a.op.name, ": expected ", what,
                    " to be of a floating point dtype, got ", t.dtype);
}

void check_moments(const InferArgs& a, int first, const ByRow& rows) {
  for (int i = first; i < first + 2; ++i)
    TANDEM_CHECK_SHAPE(a.in(i).sizes == rows.kept && is_floating(a.in(i).dtype), a.op.name,
                       ": expected moments of shape ", rows.kept, ", got ", a.in(i));
}

void type_of_moments(const InferArgs& a, int out, const Dims& sizes, DType x) {
  a.out(out).sizes = sizes;
  a.out(out).dtype = compute_dtype(x);
}

// Rows of all samples at once; weights that differ from sample to sample are applied behind it.
void batch_layer_norm(const BatchArgs& a) {
  SmallVector<Tensor, 3> in{a.sample(0)};
  bool own = false;
  for (int i = 1; i < a.n_inputs; ++i) own |= a.batched[i];
  if (!own)
    for (int i = 1; i < a.n_inputs; ++i) in.push_back(a.in(i));
  Tensor out[3];
  apply_to(a.op, in, a.attr_ref, out);
  if (own) {
    const int64_t dim = sample_dim(a);
    out[0] = out[0].to(compute_dtype(out[0].dtype())) * aligned(a, 1, dim);
    if (a.n_inputs == 3) out[0] = out[0] + aligned(a, 2, dim);
    out[0] = out[0].to(a.in().dtype());
  }
  for (int i = 0; i < 3; ++i) a.outputs[i] = out[i];
}

void batch_layer_norm_grad(const BatchArgs& a) {
  SmallVector<Tensor, 5> in;
  for (int i = 0; i < 4; ++i) in.push_back(a.sample(i));
  if (a.n_inputs == 5) {
    if (a.batched[4])
      in[0] = in[0] * aligned(a, 4, sample_dim(a, 0));
    else
      in.push_back(a.in(4));
  }
  apply_to(a.op, in, a.attr_ref, a.outputs);
}

// By public ops, which sum over each sample's rows.
void batch_layer_norm_sums(const BatchArgs& a) {
  const Tensor g = a.sample(0), x = a.sample(1);
  const DType t = compute_dtype(x.dtype());
  const Tensor weight_grad = g.to(t) * ((x.to(t) - a.sample(2)) * a.sample(3));
  const Tensor grads[] = {weight_grad, g.to(t)};
  const int64_t outer = x.dim() - 1 - a.attrs<RowNormAttrs>().dims;
  Dims dims;
  for (int64_t d = 1; d <= outer; ++d) dims.push_back(d);
  for (int i = 0; i < 2; ++i) a.outputs[i] = dims.empty() ? grads[i] : grads[i].sum(dims);
}

}  // namespace

TANDEM_OP(kLayerNormSums) = {
    .name = "layer_norm_sums",
    .infer =
        [](const InferArgs& a) {
          const ByRow rows = check_rows(a, 1);
          check_moments(a, 2, rows);
          TANDEM_CHECK_SHAPE(a.in(0).sizes == a.in(1).sizes, "layer_norm_sums: the shapes ",
                             a.in(0).sizes, " and ", a.in(1).sizes, " differ");
          type_of_moments(a, 0, rows.row, a.in(1).dtype);
          type_of_moments(a, 1, rows.row, a.in(1).dtype);
        },
    .kernel =
        [](const KernelArgs& a) {
          kernels::row_norm_sums(a.in(0), a.in(1), length_of(a.in(1), a.attr_ref), a.in(2), a.in(3),
                                 a.out(0), a.out(1));
        },
    .saves = Saves::all(Saves::in(0) | Saves::in(1) | Saves::in(2) | Saves::in(3)),
    .vjp = [](const VjpArgs& a) -> Grads {
      const Tensor g = a.input(0), x = a.input(1), mean = a.input(2), rstd = a.input(3);
      const ByRow rows = rows_of(x, a.attr_ref());
      const Tensor h = a.grad_or_zeros(0), centred = x - mean;
      const Tensor by_normal = g * h;  // by (x - mean) * rstd
      Grads r(4);
      if (a.needs(0)) r[0] = (centred * rstd * h + a.grad_or_zeros(1)).to(g.dtype());
      if (a.needs(1)) r[1] = (by_normal * rstd).to(x.dtype());
      if (a.needs(2)) r[2] = -(rows.row_sum(by_normal) * rstd);
      if (a.needs(3)) r[3] = rows.row_sum(by_normal * centred);
      return r;
    },
    .outputs = 2,
    .attrs = attrs_of<RowNormAttrs>,
    .batch = batch_layer_norm_sums,
    .inputs = 4,
};

TANDEM_OP(kLayerNormGrad) = {
    .name = "layer_norm_grad",
    .infer =
        [](const InferArgs& a) {
          const ByRow rows = check_rows(a, 1);
          TANDEM_CHECK(a.n_inputs == 4 || a.n_inputs == 5,
                       "layer_norm_grad: takes 4 or 5 inputs, got ", a.n_inputs);
          check_moments(a, 2, rows);
          check_weight(a, 4, "weight", rows);
          TANDEM_CHECK_SHAPE(a.in(0).sizes == a.in(1).sizes, "layer_norm_grad: the shapes ",
                             a.in(0).sizes, " and ", a.in(1).sizes, " differ");
          a.out().sizes = a.in(1).sizes;
          a.out().dtype = a.in(1).dtype;
        },
    .kernel =
        [](const KernelArgs& a) {
          kernels::row_norm_grad(a.in(0), a.in(1), length_of(a.in(1), a.attr_ref), a.in(2), a.in(3),
                                 optional_input(a, 4), a.out());
        },
    .saves = Saves::all(Saves::from(0)),
    .vjp = [](const VjpArgs& a) -> Grads {
      // out = (h - mean(h) - d mean(h d)) rstd with h = g weight and d = (x - mean) rstd; v is the
      // gradient by out.
      const Tensor v = a.grad(), g = a.input(0), x = a.input(1), rstd = a.input(3);
      const ByRow rows = rows_of(x, a.attr_ref());
      const bool weighted = a.n_inputs() == 5;
      const Tensor h = weighted ? g * a.input(4) : g;
      const Tensor d = (x - a.input(2)) * rstd;
      const Tensor hd = rows.row_mean(h * d), vd = rows.row_mean(v * d);
      const Tensor by_h = (v - rows.row_mean(v) - d * vd) * rstd;
      const Tensor by_d = -(v * hd + h * vd) * rstd;
      Grads r(static_cast<size_t>(a.n_inputs()));
      if (a.needs(0)) r[0] = (weighted ? by_h * a.input(4) : by_h).to(g.dtype());
      if (a.needs(1)) r[1] = (by_d * rstd).to(x.dtype());
      if (a.needs(2)) r[2] = -(rows.row_sum(by_d) * rstd);
      if (a.needs(3))
        r[3] = rows.row_sum(by_d * (x - a.input(2))) +
               rows.row_sum(v * (h - rows.row_mean(h) - d * hd));
      if (weighted && a.needs(4)) r[4] = rows.shared_sum(by_h * g).to(a.input(4).dtype());
      return r;
    },
    .attrs = attrs_of<RowNormAttrs>,
    .batch = batch_layer_norm_grad,
    .decompose =
        [](const DecomposeArgs& a) {
          const ByRow rows = rows_of(a.in(1), a.attr_ref);
          const DType t = compute_dtype(a.in(1).dtype());
          Tensor h = a.in(0).to(t);
          if (a.n_inputs == 5) h = h * a.in(4);
          const Tensor d = (a.in(1).to(t) - a.in(2)) * a.in(3);
          a.outputs[0] =
              ((h - rows.row_mean(h) - d * rows.row_mean(h * d)) * a.in(3)).to(a.in(1).dtype());
        },
};

namespace {

Grads layer_norm_vjp(const VjpArgs& a) {
  const Tensor x = a.input(0), mean = a.output(1), rstd = a.output(2);
  const ByRow rows = rows_of(x, a.attr_ref());
  const int n_inputs = a.n_inputs();
  Grads r(static_cast<size_t>(n_inputs));
  if (a.has_grad(0)) {
    const Tensor g = a.grad(0);
    if (a.needs(0))
      r[0] = n_inputs > 1 ? apply(kLayerNormGrad, {g, x, mean, rstd, a.input(1)}, a.attr_ref())
                          : apply(kLayerNormGrad, {g, x, mean, rstd}, a.attr_ref());
    if ((n_inputs > 1 && a.needs(1)) || (n_inputs > 2 && a.needs(2))) {
      const auto [w, b] = apply_n<2>(kLayerNormSums, {g, x, mean, rstd}, a.attr_ref());
      if (a.needs(1)) r[1] = w.to(a.input_type(1).dtype);
      if (n_inputs > 2 && a.needs(2)) r[2] = b.to(a.input_type(2).dtype);
    }
  }
  if (!a.needs(0)) return r;
  const auto add = [&](const Tensor& t) { r[0] = r[0].defined() ? r[0] + t : t; };
  const double n = static_cast<double>(rows.length);
  if (a.has_grad(1)) add((a.grad(1) / n).expand(x.sizes()).to(x.dtype()));
  if (a.has_grad(2)) add(((x - mean) * (a.grad(2) * rstd.pow(3) * (-1 / n))).to(x.dtype()));
  return r;
}

}  // namespace

TANDEM_OP(kLayerNorm) = {
    .name = "layer_norm",
    .infer =
        [](const InferArgs& a) {
          const ByRow rows = check_rows(a, 0);
          TANDEM_CHECK(a.n_inputs <= 3, "layer_norm: takes up to 3 inputs, got ", a.n_inputs);
          check_weight(a, 1, "weight", rows);
          check_weight(a, 2, "bias", rows);
          a.out().sizes = a.in().sizes;
          a.out().dtype = a.in().dtype;
          type_of_moments(a, 1, rows.kept, a.in().dtype);
          type_of_moments(a, 2, rows.kept, a.in().dtype);
        },
    .kernel =
        [](const KernelArgs& a) {
          kernels::row_norm(a.in(), length_of(a.in(), a.attr_ref), optional_input(a, 1),
                            optional_input(a, 2), a.attrs<RowNormAttrs>().eps, a.out(0), a.out(1),
                            a.out(2));
        },
    .saves = Saves::all(Saves::in(0) | Saves::in(1) | Saves::out(1) | Saves::out(2)),
    .vjp = layer_norm_vjp,
    .outputs = 3,
    .attrs = attrs_of<RowNormAttrs>,
    .batch = batch_layer_norm,
    .decompose =
        [](const DecomposeArgs& a) {
          const ByRow rows = rows_of(a.in(), a.attr_ref);
          const Tensor x = a.in().to(compute_dtype(a.in().dtype()));
          const Tensor mean = rows.row_mean(x), centred = x - mean;
          const Tensor var = rows.row_mean(centred * centred);
          const Tensor rstd = (var + a.attrs<RowNormAttrs>().eps).rsqrt();
          Tensor y = centred * rstd;
          if (a.n_inputs > 1) y = y * a.in(1);
          if (a.n_inputs > 2) y = y + a.in(2);
          a.outputs[0] = y.to(a.in().dtype());
          a.outputs[1] = mean;
          a.outputs[2] = rstd;
        },
};

std::tuple<Tensor, Tensor, Tensor> native_layer_norm(const Tensor& input,
                                                     IntArrayRef normalized_shape,
                                                     const std::optional<Tensor>& weight,
                                                     const std::optional<Tensor>& bias,
                                                     double eps) {
  TANDEM_CHECK_SHAPE(!normalized_shape.empty(),
                     "layer_norm: expected normalized_shape to be at least 1-dimensional, i.e., "
                     "containing at least one element, but got normalized_shape = []");
  const size_t dims = normalized_shape.size(), ndim = static_cast<size_t>(input.dim());
  bool fits = ndim >= dims;
  for (size_t d = 0; fits && d < dims; ++d)
    fits = input.sizes()[ndim - dims + d] == normalized_shape[d];
  TANDEM_CHECK_SHAPE(fits, "layer_norm: given normalized_shape=", normalized_shape,
                     ", expected an input whose last dimensions are these, but got input of size ",
                     input.sizes());
  Tensor w = value_or_none(weight), b = value_or_none(bias);
  if (b.defined() && !w.defined()) w = ones_like(b.detach());
  const RowNormAttrs attrs{static_cast<int64_t>(dims), eps};
  auto [y, mean, rstd] = b.defined()   ? apply_n<3>(kLayerNorm, {input, w, b}, attrs)
                         : w.defined() ? apply_n<3>(kLayerNorm, {input, w}, attrs)
                                       : apply_n<3>(kLayerNorm, {input}, attrs);
  return {std::move(y), std::move(mean), std::move(rstd)};
}

Tensor layer_norm(const Tensor& input, IntArrayRef normalized_shape,
                  const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                  double eps, bool) {
  return std::get<0>(native_layer_norm(input, normalized_shape, weight, bias, eps));
}

}  // namespace tandem
