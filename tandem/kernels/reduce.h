#pragma once

#include <cstdint>

#include "tandem/core/shape.h"

/// Reductions over any set of dimensions, for any dtype and any strides.
///
/// The order in which elements are combined follows from the shape and the set of reduced
/// dimensions alone: not from the strides, the number of threads or the instruction set.
namespace tandem::kernels {

enum class ReduceFn : uint8_t {
  Sum,
  Mean,
  Prod,
  Max,  // nan if there is one
  Min,  // nan if there is one
  Any,  // some element is not zero
  All,  // no element is zero
  CountNonzero,
  NanSum,     // nan counts as zero
  Norm,       // (sum |x|^p)^(1/p); p = 0 counts, p = +-inf is the largest or smallest |x|
  SumPowers,  // sum |x|^p
};

/// out = fn over the dimensions d of `in` with reduced_dims[d].
///
/// `out` has in's rank, extent 1 where reduced, and may have any strides there. Elements are
/// converted to out's compute type before they are combined (Any, All and CountNonzero look at them
/// as they are). Over nothing: Sum 0, Prod 1, Mean nan, Max and Min the lowest and highest value.
void reduce(ReduceFn fn, const Array& in, const bool* reduced_dims, const Array& out, double p = 2);

/// Rows of at most so many elements stay in the second cache, so that their deviations can be looked
/// at when the mean is known. Longer ones are read once.
inline constexpr int64_t kLongestVarRow = 1 << 17;
/// The mean and/or the sum of squared deviations divided by max(0, n - correction) (or its square
/// root), over the reduced dimensions. Either output may be null.
void var_mean(const Array& in, const bool* reduced_dims, double correction, bool take_root,
              const Array* var, const Array* mean);

/// The greatest (or least) element along `dim` and the index of its first occurrence; nan counts as
/// greater and as less than everything. Either output may be null; indices are int64. Outputs have
/// in's rank with extent 1 at dim. dim = -1: over all elements, as if flattened; outputs have one
/// element.
void arg_reduce(const Array& in, int64_t dim, bool least, const Array* values,
                const Array* indices);

}  // namespace tandem::kernels
