#pragma once

#include <string>

#include "tandem/core/tensor.h"

namespace tandem {

// -- sums and products (reduction.cpp) ----------------------------------------------------------
// `dim` is one dimension, several, or none given: all. Integers are summed as int64.

Tensor sum(const Tensor& x, std::optional<DType> dtype = std::nullopt);
Tensor sum(const Tensor& x, OptionalIntArrayRef dim, bool keepdim = false,
           std::optional<DType> dtype = std::nullopt);
/// nan counts as zero.
Tensor nansum(const Tensor& x, OptionalIntArrayRef dim = std::nullopt, bool keepdim = false,
              std::optional<DType> dtype = std::nullopt);
Tensor mean(const Tensor& x, std::optional<DType> dtype = std::nullopt);
Tensor mean(const Tensor& x, OptionalIntArrayRef dim, bool keepdim = false,
            std::optional<DType> dtype = std::nullopt);
/// The mean of what is not nan.
Tensor nanmean(const Tensor& x, OptionalIntArrayRef dim = std::nullopt, bool keepdim = false,
               std::optional<DType> dtype = std::nullopt);
Tensor prod(const Tensor& x, std::optional<DType> dtype = std::nullopt);
Tensor prod(const Tensor& x, int64_t dim, bool keepdim = false,
            std::optional<DType> dtype = std::nullopt);
Tensor any(const Tensor& x);
Tensor any(const Tensor& x, int64_t dim, bool keepdim = false);
Tensor all(const Tensor& x);
Tensor all(const Tensor& x, int64_t dim, bool keepdim = false);
Tensor count_nonzero(const Tensor& x, IntArrayRef dim);
Tensor count_nonzero(const Tensor& x, int64_t dim);
Tensor count_nonzero(const Tensor& x, std::optional<int64_t> dim = std::nullopt);

// -- extremes (reduction_extreme.cpp) -----------------------------------------------------------

/// The greatest element; nan if there is one.
Tensor max(const Tensor& x);
/// The greatest elements along a dimension and their indices.
std::tuple<Tensor, Tensor> max(const Tensor& x, int64_t dim, bool keepdim = false);
/// The greater of two, element by element.
Tensor max(const Tensor& x, const Tensor& y);
Tensor min(const Tensor& x);
std::tuple<Tensor, Tensor> min(const Tensor& x, int64_t dim, bool keepdim = false);
Tensor min(const Tensor& x, const Tensor& y);
/// Like max, over several dimensions; the gradient is shared by all that are greatest.
Tensor amax(const Tensor& x, IntArrayRef dim = {}, bool keepdim = false);
Tensor amin(const Tensor& x, IntArrayRef dim = {}, bool keepdim = false);
std::tuple<Tensor, Tensor> aminmax(const Tensor& x, std::optional<int64_t> dim = std::nullopt,
                                   bool keepdim = false);
/// The index of the first greatest element; without a dimension, in the flattened tensor.
Tensor argmax(const Tensor& x, std::optional<int64_t> dim = std::nullopt, bool keepdim = false);
Tensor argmin(const Tensor& x, std::optional<int64_t> dim = std::nullopt, bool keepdim = false);

// -- moments and norms (reduction_moments.cpp) --------------------------------------------------

/// Sum of squared deviations over n - correction; unbiased means a correction of 1, the default.
/// Where only `unbiased` is given it must be a bool: var(x, 0) means dimension 0.
template <class B>
requires(std::is_same_v<B, bool>) Tensor var(const Tensor& x, B unbiased) {
  return x.var(unbiased);
}
Tensor var(const Tensor& x, OptionalIntArrayRef dim, bool unbiased, bool keepdim = false);
Tensor var(const Tensor& x, OptionalIntArrayRef dim = std::nullopt,
           std::optional<int64_t> correction = std::nullopt, bool keepdim = false);
template <class B>
requires(std::is_same_v<B, bool>) Tensor std(const Tensor& x, B unbiased) {
  return x.std(unbiased);
}
Tensor std(const Tensor& x, OptionalIntArrayRef dim, bool unbiased, bool keepdim = false);
Tensor std(const Tensor& x, OptionalIntArrayRef dim = std::nullopt,
           std::optional<int64_t> correction = std::nullopt, bool keepdim = false);
std::tuple<Tensor, Tensor> var_mean(const Tensor& x, OptionalIntArrayRef dim, bool unbiased,
                                    bool keepdim = false);
template <class B>
requires(std::is_same_v<B, bool>) std::tuple<Tensor, Tensor> var_mean(const Tensor& x, B unbiased) {
  return var_mean(x, std::nullopt, unbiased, false);
}
std::tuple<Tensor, Tensor> var_mean(const Tensor& x, OptionalIntArrayRef dim = std::nullopt,
                                    std::optional<int64_t> correction = std::nullopt,
                                    bool keepdim = false);
std::tuple<Tensor, Tensor> std_mean(const Tensor& x, OptionalIntArrayRef dim, bool unbiased,
                                    bool keepdim = false);
template <class B>
requires(std::is_same_v<B, bool>) std::tuple<Tensor, Tensor> std_mean(const Tensor& x, B unbiased) {
  return std_mean(x, std::nullopt, unbiased, false);
}
std::tuple<Tensor, Tensor> std_mean(const Tensor& x, OptionalIntArrayRef dim = std::nullopt,
                                    std::optional<int64_t> correction = std::nullopt,
                                    bool keepdim = false);
/// (sum |x|^p)^(1/p); p may be 0 (how many are not zero), inf and -inf.
Tensor norm(const Tensor& x, const Scalar& p = 2);
Tensor norm(const Tensor& x, const std::optional<Scalar>& p, DType dtype);
Tensor norm(const Tensor& x, const std::optional<Scalar>& p, IntArrayRef dim, bool keepdim = false);
Tensor norm(const Tensor& x, const std::optional<Scalar>& p, IntArrayRef dim, bool keepdim,
            DType dtype);
Tensor frobenius_norm(const Tensor& x, IntArrayRef dim = {}, bool keepdim = false);
Tensor linalg_vector_norm(const Tensor& x, const Scalar& ord = 2,
                          OptionalIntArrayRef dim = std::nullopt, bool keepdim = false,
                          std::optional<DType> dtype = std::nullopt);
/// log(sum(exp(x))) without overflow.
Tensor logsumexp(const Tensor& x, IntArrayRef dim, bool keepdim = false);
Tensor softmax(const Tensor& x, int64_t dim, std::optional<DType> dtype = std::nullopt);
Tensor log_softmax(const Tensor& x, int64_t dim, std::optional<DType> dtype = std::nullopt);

// -- made of the above (reduction_stats.cpp) ----------------------------------------------------

/// Slices along `dim` whose p-norm exceeds maxnorm are scaled down to it.
Tensor renorm(const Tensor& x, const Scalar& p, int64_t dim, const Scalar& maxnorm);
/// norm(x - y, p).
Tensor dist(const Tensor& x, const Tensor& y, const Scalar& p = 2);
/// Distances between all rows of x [.., P, M] and of y [.., R, M]: [.., P, R].
Tensor cdist(const Tensor& x, const Tensor& y, double p = 2,
             std::optional<int64_t> compute_mode = std::nullopt);
/// The differences of neighbours along a dimension, n times.
Tensor diff(const Tensor& x, int64_t n = 1, int64_t dim = -1,
            const std::optional<Tensor>& prepend = std::nullopt,
            const std::optional<Tensor>& append = std::nullopt);
/// Covariances of the rows, which are variables; columns are observations.
Tensor cov(const Tensor& x, int64_t correction = 1,
           const std::optional<Tensor>& fweights = std::nullopt,
           const std::optional<Tensor>& aweights = std::nullopt);
Tensor corrcoef(const Tensor& x);
/// The integral by the trapezoidal rule.
Tensor trapezoid(const Tensor& y, const Tensor& x, int64_t dim = -1);
Tensor trapezoid(const Tensor& y, const Scalar& dx = 1, int64_t dim = -1);
Tensor trapz(const Tensor& y, const Tensor& x, int64_t dim = -1);
Tensor trapz(const Tensor& y, double dx = 1, int64_t dim = -1);
Tensor cumulative_trapezoid(const Tensor& y, const Tensor& x, int64_t dim = -1);
Tensor cumulative_trapezoid(const Tensor& y, const Scalar& dx = 1, int64_t dim = -1);

}  // namespace tandem
