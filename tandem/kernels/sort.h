#pragma once

#include <cstdint>
#include <vector>

#include "tandem/core/shape.h"

/// Sorting and what is made from it. A nan counts as greater than every number; -0.0 equals 0.0.
namespace tandem::kernels {

/// Sorts along dim, stably: equal elements keep their order, also when descending. `values` has
/// in's dtype and shape, `indices` is int64; either may be null.
void sort(const Array& in, int64_t dim, bool descending, const Array* values, const Array* indices);

/// The k first elements along dim of what sort() gives (descending iff `largest`); outputs have
/// extent k at dim.
void topk(const Array& in, int64_t dim, int64_t k, bool largest, const Array* values,
          const Array* indices);

enum class RankFn : uint8_t {
  Kth,        // the k-th smallest, from 0
  Median,     // the lower median; nan if there is one
  NanMedian,  // the lower median of what is not nan
  Mode,       // the commonest, the smallest of several; the index of its last occurrence
};
/// One element along dim and its index; outputs have extent 1 at dim. Either may be null.
void rank(RankFn fn, const Array& in, int64_t dim, int64_t k, const Array* values,
          const Array* indices);

/// Which elements of a row-major sequence are the same.
struct Unique {
  std::vector<int64_t> first;    // for each distinct element, the number of its first occurrence
  std::vector<int64_t> inverse;  // for each element, which distinct one it is
  std::vector<int64_t> counts;   // for each distinct element, how often it occurs
};
/// Distinct elements in ascending order; two nans are different.
Unique unique(const Array& in);
/// Runs of equal neighbours, in order.
Unique unique_consecutive(const Array& in);
/// Distinct slices along dim, in lexicographic order (or runs of equal neighbours).
Unique unique_slices(const Array& in, int64_t dim, bool consecutive);

/// out[..., i] = how many elements of the row `sorted` are < values[..., i] (<= when `right`).
/// `sorted` has one dimension, or values' leading dimensions. `sorter` (int64, sorted's shape, may
/// be null) gives the order in which `sorted` is ascending. `out` is int64 or int32.
void search_sorted(const Array& sorted, const Array& values, bool right, const Array* sorter,
                   const Array& out);

/// out[b] = how many elements fall in the b-th of out.numel equal parts of [low, high]. Elements
/// outside are ignored.
void histogram(const Array& in, double low, double high, const Array& out);

/// out[v] += weight of each element v of `in` (1 without weights). Elements are within out's
/// extent.
void bincount(const Array& in, const Array* weights, const Array& out);

}  // namespace tandem::kernels
