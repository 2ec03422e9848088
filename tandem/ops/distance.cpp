#include "tandem/ops/distance.h"

#include <cmath>

#include "tandem/core/apply.h"
#include "tandem/kernels/distance.h"
#include "tandem/ops/batch_detail.h"
#include "tandem/ops/ops.h"

namespace tandem {

extern const OpDef kCdistBackward;

namespace {

struct CdistAttrs {
  double p = 2;
  TANDEM_FIELDS(p)
};

void check_points(const InferArgs& a, int first) {
  const TensorType &x = a.in(first), &y = a.in(first + 1);
  TANDEM_CHECK_SHAPE(
      x.dim() == 3 && y.dim() == 3 && x.sizes[0] == y.sizes[0] && x.sizes[2] == y.sizes[2],
      a.op.name, ": points of shapes ", x.sizes, " and ", y.sizes);
  TANDEM_CHECK_TYPE(is_floating(x.dtype) && x.dtype == y.dtype, a.op.name,
                    ": expected points of one floating point dtype, got ", x, " and ", y);
  TANDEM_CHECK(a.attrs<CdistAttrs>().p >= 0, a.op.name, ": only supports non-negative p values");
}

// Derivatives of the gradient. With r the distance and v its gradient by d = x - y, they are
// (p - 1) (|d|^(p - 2) / r^(p - 1) - v v' / r), or nothing where the norm is made of straight
// lines.
Grads cdist_second(const VjpArgs& a) {
  const double p = a.attrs<CdistAttrs>().p;
  const Tensor u = a.grad().unsqueeze(2), g = a.input(0), r = a.input(3).unsqueeze(-1);
  const Tensor x = a.input(1), y = a.input(2), d = x.unsqueeze(2) - y.unsqueeze(1);
  // What is 0 must not be divided by, nor its powers be differentiated.
  const Tensor apart = r != 0, far = where(apart, r, 1), step = where(d != 0, d, 1);
  const auto direction = [&] {
    if (p == 0) return zeros_like(d);
    if (p == 1) return where(apart, d.sign(), 0);
    if (p == 2) return where(apart, d / far, 0);
    if (std::isinf(p)) return where((d.abs() == r).logical_and(apart), d.sign(), 0);
    return where((d != 0).logical_and(apart), step.sign() * step.abs().pow(p - 1) / far.pow(p - 1),
                 0);
  };
  const Tensor v = direction(), along = (u * v).sum(-1);
  Grads grads(4);
  if (a.needs(0)) grads[0] = along;
  if (p == 0 || p == 1 || std::isinf(p)) {
    if (a.needs(1)) grads[1] = zeros_like(x);
    if (a.needs(2)) grads[2] = zeros_like(y);
    return grads;
  }
  const Tensor bend =
      p == 2 ? u / far : where(d != 0, step.abs().pow(p - 2), 0) * u / far.pow(p - 1);
  const Tensor w =
      where(apart, (bend - along.unsqueeze(-1) * v / far) * (p - 1) * g.unsqueeze(-1), 0);
  if (a.needs(1)) grads[1] = w.sum(2);
  if (a.needs(2)) grads[2] = -w.sum(1);
  return grads;
}

// Samples of vmap are batches like others.
void batch_cdist(const BatchArgs& a) {
  SmallVector<Tensor, 4> inputs = samples(a);
  for (Tensor& t : inputs) t = t.flatten(0, 1);
  Tensor out;
  apply_to(a.op, inputs, a.attr_ref, &out);
  Dims sizes(out.sizes().begin(), out.sizes().end());
  sizes[0] = a.size ? sizes[0] / a.size : sample_sizes(a, 0)[0];
  sizes.insert(sizes.begin(), a.size);
  a.outputs[0] = out.view(sizes);
}

// |x - y|^2 = |x|^2 - 2 x y + |y|^2 as one matrix product of rows with two more columns.
Tensor euclidean_by_product(const Tensor& x, const Tensor& y) {
  const Tensor x2 = x.square().sum(-1, true), y2 = y.square().sum(-1, true);
  const Tensor left = cat({x * -2, x2, ones_like(x2)}, -1);
  const Tensor right = cat({y, ones_like(y2), y2}, -1);
  return matmul(left, right.transpose(-2, -1)).clamp_min(1e-30).sqrt();
}

Tensor with_leading(const Tensor& t, IntArrayRef leading) {
  Dims sizes(leading.begin(), leading.end());
  sizes.push_back(t.size(-2));
  sizes.push_back(t.size(-1));
  return t.expand(sizes);
}

Tensor as_batch(const Tensor& t, IntArrayRef leading) {
  return with_leading(t, leading).reshape({numel_of(leading), t.size(-2), t.size(-1)});
}

}  // namespace

TANDEM_OP(kCdist) = {
    .name = "cdist",
    .infer =
        [](const InferArgs& a) {
          check_points(a, 0);
          a.out().sizes = {a.in(0).sizes[0], a.in(0).sizes[1], a.in(1).sizes[1]};
          a.out().dtype = a.in(0).dtype;
        },
    .kernel =
        [](const KernelArgs& a) {
          kernels::cdist(a.in(0), a.in(1), a.attrs<CdistAttrs>().p, a.out());
        },
    .saves = Saves::all(Saves::in(0) | Saves::in(1) | Saves::out(0)),
    .vjp = [](const VjpArgs& a) -> Grads {
      const Tensor x = a.input(0), y = a.input(1), g = a.grad(), distance = a.output();
      Grads grads(2);
      if (a.needs(0)) grads[0] = apply(kCdistBackward, {g, x, y, distance}, a.attr_ref());
      if (a.needs(1))
        grads[1] = apply(kCdistBackward, {g.transpose(1, 2), y, x, distance.transpose(1, 2)},
                         a.attr_ref());
      return grads;
    },
    .attrs = attrs_of<CdistAttrs>,
    .batch = batch_cdist,
    .inputs = 2,
};

// Gradient by the distances, x, y, the distances -> gradient by x.
TANDEM_OP(kCdistBackward) = {
    .name = "cdist_backward",
    .infer =
        [](const InferArgs& a) {
          check_points(a, 1);
          const Dims pairs{a.in(1).sizes[0], a.in(1).sizes[1], a.in(2).sizes[1]};
          for (int i : {0, 3})
            TANDEM_CHECK_SHAPE(a.in(i).sizes == pairs && a.in(i).dtype == a.in(1).dtype, a.op.name,
                               ": distances ", a.in(i), " of points ", a.in(1), " and ", a.in(2));
          a.out().sizes = a.in(1).sizes;
          a.out().dtype = a.in(1).dtype;
        },
    .kernel =
        [](const KernelArgs& a) {
          kernels::cdist_backward(a.in(0), a.in(1), a.in(2), a.attrs<CdistAttrs>().p, a.in(3),
                                  a.out());
        },
    .saves = Saves::all(Saves::from(0)),
    .vjp = cdist_second,
    .attrs = attrs_of<CdistAttrs>,
    .batch = batch_cdist,
    .inputs = 4,
};

Tensor cdist(const Tensor& x, const Tensor& y, double p, std::optional<int64_t> compute_mode) {
  TANDEM_CHECK_SHAPE(x.dim() >= 2 && y.dim() >= 2,
                     "cdist: only supports at least 2D tensors, X1 got: ", x.dim(),
                     "D and X2 got: ", y.dim(), "D");
  TANDEM_CHECK_SHAPE(x.size(-1) == y.size(-1),
                     "cdist: X1 and X2 must have the same number of columns. X1: ", x.size(-1),
                     " X2: ", y.size(-1));
  TANDEM_CHECK_TYPE(is_floating(x.dtype()) && is_floating(y.dtype()),
                    "cdist: only supports floating-point dtypes, X1 got: ", x.dtype(),
                    " and X2 got: ", y.dtype());
  TANDEM_CHECK(p >= 0, "cdist: only supports non-negative p values, got ", p);
  const int64_t mode = compute_mode.value_or(0);
  TANDEM_CHECK(mode >= 0 && mode <= 2, "cdist: possible modes: 0, 1, 2, but was: ", mode);
  // Few rows are not worth the digits that a product loses.
  const bool many = x.size(-2) > 25 || y.size(-2) > 25;
  const Dims leading = broadcast_shapes("cdist", x.sizes().slice(0, x.sizes().size() - 2),
                                        y.sizes().slice(0, y.sizes().size() - 2));
  if (p == 2 && (mode == 1 || (mode == 0 && many)) && x.numel() > 0 && y.numel() > 0)
    return euclidean_by_product(with_leading(x, leading), with_leading(y, leading));
  const DType dtype = promote_types(x.dtype(), y.dtype());
  const Tensor out = apply(kCdist, {as_batch(x.to(dtype), leading), as_batch(y.to(dtype), leading)},
                           CdistAttrs{p});
  Dims sizes = leading;
  sizes.push_back(x.size(-2));
  sizes.push_back(y.size(-2));
  return out.view(sizes);
}

Tensor pdist(const Tensor& x, double p) {
  TANDEM_CHECK_SHAPE(x.dim() == 2, "pdist: only supports 2D tensors, got: ", x.dim(), "D");
  TANDEM_CHECK_TYPE(is_floating(x.dtype()),
                    "pdist: only supports floating-point dtypes, got: ", x.dtype());
  TANDEM_CHECK(p >= 0, "pdist: only supports non-negative p values, got ", p);
  const int64_t n = x.size(0), pairs = n * (n - 1) / 2;
  std::vector<int64_t> first, second;
  first.reserve(static_cast<size_t>(pairs));
  second.reserve(static_cast<size_t>(pairs));
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = i + 1; j < n; ++j) {
      first.push_back(i);
      second.push_back(j);
    }
  const auto rows = [&](const std::vector<int64_t>& list) {
    return x.index_select(0, tensor(list, kLong).to(x.device()));
  };
  return norm(rows(first) - rows(second), p, {1});
}

Tensor pairwise_distance(const Tensor& x1, const Tensor& x2, double p, double eps, bool keepdim) {
  TANDEM_CHECK(x1.defined() && x2.defined(), "pairwise_distance: expected two tensors");
  broadcast_shapes("pairwise_distance", x1.sizes(), x2.sizes());
  return norm(x1 - x2 + eps, p, {-1}, keepdim);
}

Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, int64_t dim, double eps) {
  TANDEM_CHECK(x1.defined() && x2.defined(), "cosine_similarity: expected two tensors");
  TANDEM_CHECK_TYPE(is_floating(x1.dtype()) && is_floating(x2.dtype()),
                    "cosine_similarity: expected floating point tensors, got ", x1.type_of(),
                    " and ", x2.type_of());
  const Dims sizes = broadcast_shapes("cosine_similarity", x1.sizes(), x2.sizes());
  const Tensor a = x1.expand(sizes), b = x2.expand(sizes);
  // A bounded norm has no gradient: nothing is divided by 0.
  const auto bounded = [&](const Tensor& v) { return norm(v, 2, {dim}).clamp_min(eps); };
  return (a * b).sum(dim) / (bounded(a) * bounded(b));
}

}  // namespace tandem
