#pragma once

#include "tandem/core/shape.h"

// Reading and writing at places that other arrays name. Indices are int64. Where elements may be
// met twice (index_put, scatter_along) they are met in row-major order of the index, whatever the
// number of threads.
namespace tandem::kernels {

/// Where the dimensions of an index go: those of x that are indexed, in rising order, are replaced
/// by the index's dimensions, which come at the place of the first if they are neighbours, else in
/// front.
Dims indexed_shape(IntArrayRef x, IntArrayRef dims, IntArrayRef index_shape);

/// out[.., b, ..] = x[.., index[0][b], .., index[1][b], ..]: index[k] is for dimension dims[k], all
/// have the same shape, out has indexed_shape. Negative indices count from the end if `from_end`;
/// what is out of bounds is an IndexError.
void index(const Array& x, IntArrayRef dims, const Array* index, const Array& out,
           bool from_end = true);
/// The same places written: x[..] = src, or += src.
void index_put(const Array& x, IntArrayRef dims, const Array* index, const Array& src,
               bool accumulate, bool from_end = true);

/// out[i, j, k] = x[i, index[i, j, k], k] for dim 1, and so on; out has the shape of index, which
/// in all other dimensions is at most that of x. Indices are not negative.
void gather_along(const Array& x, int64_t dim, const Array& index, const Array& out);

enum class ScatterFn : uint8_t { Set, Add, Mul, Min, Max };
/// x[i, index[i, j, k], k] = src[i, j, k] or x combined with it; index is in no dimension greater
/// than src.
void scatter_along(ScatterFn fn, const Array& x, int64_t dim, const Array& index, const Array& src);

/// How many elements of a bool array are true.
int64_t count_true(const Array& mask);
/// The indices of the true elements in row-major order, one row each: out is [count_true, ndim].
void find_true(const Array& mask, const Array& out);

/// out = x where the column minus the row is <= diagonal (lower) or >= diagonal (upper), else 0;
/// the last two dimensions are the matrix.
void triangle(const Array& x, const Array& out, int64_t diagonal, bool upper);
/// out = x with the order of these dimensions reversed.
void flip(const Array& x, const Array& out, IntArrayRef dims);
/// out = the inputs one after another along a dimension, converted to its dtype.
void concatenate(const Array* in, int n, int64_t dim, const Array& out);
/// out = x moved on by shift along a dimension; what leaves at the end comes in at the start.
void roll(const Array& x, const Array& out, int64_t dim, int64_t shift);

}  // namespace tandem::kernels
