#include <cmath>
#include <utility>

#include "tandem/ops/ops.h"

namespace tandem {
namespace {

void check_input(const Tensor& x, const std::optional<Tensor>& weight) {
  TANDEM_CHECK_TYPE(x.dtype() == kFloat || x.dtype() == kDouble,
                    "histogram: expected a float or double tensor, got ", x.dtype());
  if (!weight || !weight->defined()) return;
  TANDEM_CHECK_SHAPE(weight->sizes() == x.sizes(),
                     "histogram: if weight tensor is provided it should have the same shape as the "
                     "input tensor, got ",
                     weight->sizes(), " and ", x.sizes());
  TANDEM_CHECK_TYPE(weight->dtype() == x.dtype(),
                    "histogram: if weight tensor is provided, input tensor and weight tensor "
                    "should have the same dtype, got ",
                    x.dtype(), " and ", weight->dtype());
}

// The ends of the bins: those given, or the least and the greatest element.
std::pair<double, double> ends_of(const Tensor& x, std::optional<ArrayRef<double>> range) {
  double low = 0, high = 1;
  if (range) {
    TANDEM_CHECK(range->size() == 2, "histogram: range should have 2 elements, got ",
                 range->size());
    low = (*range)[0];
    high = (*range)[1];
  } else if (x.numel() > 0) {
    low = x.detach().min().item<double>();
    high = x.detach().max().item<double>();
  }
  TANDEM_CHECK(std::isfinite(low) && std::isfinite(high), "histogram: range of [", low, ", ", high,
               "] is not finite");
  TANDEM_CHECK(low <= high, "histogram: min ", low, " should not exceed max ", high);
  if (low == high) return {low - 0.5, high + 0.5};
  return {low, high};
}

Tensor count(const Tensor& x, const Tensor& edges, const std::optional<Tensor>& weight,
             bool density) {
  NoGradGuard no_grad;
  const int64_t bins = edges.numel() - 1;
  const Tensor flat = x.detach().reshape({-1});
  const Tensor inside = (flat >= edges[0]) & (flat <= edges[bins]);
  const Tensor bin = (bucketize(flat, edges, /*out_int32=*/false, /*right=*/true) - 1)
                         .clamp(Scalar(0), Scalar(bins - 1));
  const Tensor each =
      weight && weight->defined() ? weight->detach().reshape({-1}) : ones_like(flat);
  const Tensor held =
      zeros({bins}, x.options()).scatter_add(0, bin, where(inside, each, zeros_like(each)));
  return density ? held / (held.sum() * (edges.slice(0, 1) - edges.slice(0, 0, bins))) : held;
}

}  // namespace

std::tuple<Tensor, Tensor> histogram(const Tensor& x, int64_t bins,
                                     std::optional<ArrayRef<double>> range,
                                     const std::optional<Tensor>& weight, bool density) {
  check_input(x, weight);
  TANDEM_CHECK(bins > 0, "histogram: bins must be > 0, got ", bins);
  const auto [low, high] = ends_of(x, range);
  const Tensor edges = linspace(low, high, bins + 1, x.options());
  return {count(x, edges, weight, density), edges};
}

std::tuple<Tensor, Tensor> histogram(const Tensor& x, const Tensor& bins,
                                     const std::optional<Tensor>& weight, bool density) {
  check_input(x, weight);
  TANDEM_CHECK_SHAPE(bins.dim() == 1 && bins.numel() > 1,
                     "histogram: bins tensor should have one dimension and more than one element, "
                     "got shape ",
                     bins.sizes());
  TANDEM_CHECK_TYPE(bins.dtype() == x.dtype(),
                    "histogram: input tensor and bins tensor should have the same dtype, got ",
                    x.dtype(), " and ", bins.dtype());
  return {count(x, bins, weight, density), bins.clone()};
}

std::tuple<Tensor, Tensor> Tensor::histogram(int64_t bins, std::optional<ArrayRef<double>> range,
                                             const std::optional<Tensor>& weight,
                                             bool density) const {
  return tandem::histogram(*this, bins, range, weight, density);
}
std::tuple<Tensor, Tensor> Tensor::histogram(const Tensor& bins,
                                             const std::optional<Tensor>& weight,
                                             bool density) const {
  return tandem::histogram(*this, bins, weight, density);
}

}  // namespace tandem
