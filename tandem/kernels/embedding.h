#pragma once

#include <cstdint>

#include "tandem/core/shape.h"

/// Tables of rows, read and written by row number. Indices are int64 and contiguous; one that is
/// out of range is an IndexError. Results have the same bits for any number of threads.
namespace tandem::kernels {

/// out[i] = weight[indices[i]]; out is contiguous.
void embedding(const Array& weight, const Array& indices, const Array& out);

/// out[r] = the sum of g[i] over all i with indices[i] = r, in the order of i; divided by their
/// number if by_frequency. Row `padding` stays 0.
void embedding_grad(const Array& g, const Array& indices, int64_t padding, bool by_frequency,
                    const Array& out);

/// Rows of `weight` that the indices name are scaled down to the norm max_norm if theirs is
/// greater.
void embedding_renorm(const Array& weight, const Array& indices, double max_norm, double p);

enum class BagMode : uint8_t { Sum, Mean, Max };
struct Bags {
  BagMode mode = BagMode::Sum;
  bool include_last = false;
  int64_t padding = -1;
};
/// out[b] = the rows of bag b summed, averaged, or their maxima. bag_of: [n] the bag of each index;
/// sizes: [bags] how many indices count; chosen: [bags, d], which row a maximum came from (-1:
/// none), only for maxima. Weights of single indices may be null.
void embedding_bag(const Array& weight, const Array& indices, const Array& offsets,
                   const Array* index_weights, const Bags& how, const Array& out,
                   const Array& bag_of, const Array& sizes, const Array& chosen);

}  // namespace tandem::kernels
