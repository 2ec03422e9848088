#include "tandem/ops/distance.h"

#include <cmath>

#include "tandem/ops/ops.h"

namespace tandem {
namespace {

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

}  // namespace

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
  if (p == 2 && (mode == 1 || (mode == 0 && many)) && x.numel() > 0 && y.numel() > 0) {
    const Dims leading = broadcast_shapes("cdist", x.sizes().slice(0, x.sizes().size() - 2),
                                          y.sizes().slice(0, y.sizes().size() - 2));
    return euclidean_by_product(with_leading(x, leading), with_leading(y, leading));
  }
  // The rows of x against those of y: [.., P, 1, M] - [.., 1, R, M].
  return norm(x.unsqueeze(-2) - y.unsqueeze(-3), p, {-1});
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
