#pragma once

#include <string>

#include "tandem/core/tensor.h"

namespace tandem {

// A nan counts as greater than every number. Every sort is stable: equal elements keep their order.

/// The elements along a dimension in order, and where they were.
std::tuple<Tensor, Tensor> sort(const Tensor& x, int64_t dim = -1, bool descending = false);
std::tuple<Tensor, Tensor> sort(const Tensor& x, std::optional<bool> stable, int64_t dim = -1,
                                bool descending = false);
Tensor argsort(const Tensor& x, int64_t dim = -1, bool descending = false);
Tensor argsort(const Tensor& x, bool stable, int64_t dim = -1, bool descending = false);
/// sort along the first dimension, values only.
Tensor msort(const Tensor& x);
/// The k greatest (or least) along a dimension, in order, and where they were.
std::tuple<Tensor, Tensor> topk(const Tensor& x, int64_t k, int64_t dim = -1, bool largest = true,
                                bool sorted = true);
/// The k-th smallest (from 1) along a dimension, and where it was.
std::tuple<Tensor, Tensor> kthvalue(const Tensor& x, int64_t k, int64_t dim = -1,
                                    bool keepdim = false);
/// The lower of the two middle elements; nan if there is one.
Tensor median(const Tensor& x);
std::tuple<Tensor, Tensor> median(const Tensor& x, int64_t dim, bool keepdim = false);
/// The median of what is not nan.
Tensor nanmedian(const Tensor& x);
std::tuple<Tensor, Tensor> nanmedian(const Tensor& x, int64_t dim, bool keepdim = false);
/// The commonest element along a dimension, and where it last was.
std::tuple<Tensor, Tensor> mode(const Tensor& x, int64_t dim = -1, bool keepdim = false);
/// The elements below which a part q of all lie. interpolation: linear, lower, higher, midpoint,
/// nearest.
Tensor quantile(const Tensor& x, const Tensor& q, std::optional<int64_t> dim = std::nullopt,
                bool keepdim = false, const std::string& interpolation = "linear");
Tensor quantile(const Tensor& x, double q, std::optional<int64_t> dim = std::nullopt,
                bool keepdim = false, const std::string& interpolation = "linear");
Tensor nanquantile(const Tensor& x, const Tensor& q, std::optional<int64_t> dim = std::nullopt,
                   bool keepdim = false, const std::string& interpolation = "linear");
Tensor nanquantile(const Tensor& x, double q, std::optional<int64_t> dim = std::nullopt,
                   bool keepdim = false, const std::string& interpolation = "linear");

// -- distinct elements (sort_unique.cpp): values, which one each element is, how often each occurs;
// what was not asked for is empty.

std::tuple<Tensor, Tensor> _unique(const Tensor& x, bool sorted = true,
                                   bool return_inverse = false);
std::tuple<Tensor, Tensor, Tensor> _unique2(const Tensor& x, bool sorted = true,
                                            bool return_inverse = false,
                                            bool return_counts = false);
/// Distinct slices along a dimension.
std::tuple<Tensor, Tensor, Tensor> unique_dim(const Tensor& x, int64_t dim, bool sorted = true,
                                              bool return_inverse = false,
                                              bool return_counts = false);
/// Runs of equal neighbours become one.
std::tuple<Tensor, Tensor, Tensor> unique_consecutive(const Tensor& x, bool return_inverse = false,
                                                      bool return_counts = false,
                                                      std::optional<int64_t> dim = std::nullopt);
std::tuple<Tensor, Tensor, Tensor> unique_dim_consecutive(const Tensor& x, int64_t dim,
                                                          bool return_inverse = false,
                                                          bool return_counts = false);

// -- places in sorted sequences, counts (sort_search.cpp) ---------------------------------------

/// Where to insert each value so that the sequence stays sorted: before equal elements, or after
/// them (right).
Tensor searchsorted(const Tensor& sorted_sequence, const Tensor& values, bool out_int32 = false,
                    bool right = false, const std::optional<std::string>& side = std::nullopt,
                    const std::optional<Tensor>& sorter = std::nullopt);
Tensor searchsorted(const Tensor& sorted_sequence, const Scalar& value, bool out_int32 = false,
                    bool right = false, const std::optional<std::string>& side = std::nullopt,
                    const std::optional<Tensor>& sorter = std::nullopt);
/// Which of the boundaries' intervals each element falls in.
Tensor bucketize(const Tensor& x, const Tensor& boundaries, bool out_int32 = false,
                 bool right = false);
Tensor bucketize(const Scalar& x, const Tensor& boundaries, bool out_int32 = false,
                 bool right = false);
/// How many elements fall in each of `bins` equal parts of [min, max]; of the elements' own range
/// if both are 0.
Tensor histc(const Tensor& x, int64_t bins = 100, const Scalar& min = 0, const Scalar& max = 0);
/// How many elements, or how much weight, each bin holds, and the bins' edges. Bins are equal parts
/// of the range, by default the elements' own, or lie between the edges given; the last one
/// includes its end. With `density` the sum over the bins' widths is 1.
std::tuple<Tensor, Tensor> histogram(const Tensor& x, int64_t bins = 100,
                                     std::optional<ArrayRef<double>> range = std::nullopt,
                                     const std::optional<Tensor>& weight = std::nullopt,
                                     bool density = false);
std::tuple<Tensor, Tensor> histogram(const Tensor& x, const Tensor& bins,
                                     const std::optional<Tensor>& weight = std::nullopt,
                                     bool density = false);
/// How often each whole number occurs, or the sum of its weights.
Tensor bincount(const Tensor& x, const std::optional<Tensor>& weights = std::nullopt,
                int64_t minlength = 0);

}  // namespace tandem
