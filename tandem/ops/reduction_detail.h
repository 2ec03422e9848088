#pragma once

#include "tandem/core/apply.h"

/// Shared by the reduction*.cpp, scan.cpp and sort*.cpp files.
namespace tandem {

/// Dimensions to reduce over, wrapped, sorted, without repetitions. Nothing or an empty list means
/// all.
Dims reduced_dims(const char* op, OptionalIntArrayRef dim, int64_t ndim);
/// The shape that is left when `dims` go away (or become 1).
Dims reduced_sizes(IntArrayRef sizes, IntArrayRef dims, bool keepdim);
/// Number of elements along these dimensions.
int64_t extent_of(IntArrayRef sizes, IntArrayRef dims);

/// A result without its reduced dimensions, or a gradient by it, with them: extent 1.
Tensor with_dims(const Tensor& reduced, IntArrayRef sizes, IntArrayRef dims, bool keepdim);
/// The same repeated to the whole shape.
Tensor spread(const Tensor& reduced, IntArrayRef sizes, IntArrayRef dims, bool keepdim);

/// An output of a reduction as kernels want it: with the input's rank.
struct KeptArray {
  KeptArray(const Array& out, const Array& in, IntArrayRef dims, bool keepdim);
  KeptArray(const KeptArray&) = delete;
  KeptArray& operator=(const KeptArray&) = delete;
  SmallVector<bool, 8> reduced;
  Array array;

 private:
  Dims sizes_, strides_;
};

/// What the fuser is told of a reduction with attributes A over these dimensions.
template <class A, ReductionInfo::Fn fn>
ReductionInfo reduction_info(AttrRef attrs, int) {
  ReductionInfo info{fn, 0};
  for (int64_t d : attrs.as<A>().dims) info.dims |= uint64_t{1} << d;
  return info;
}

/// LibTorch's complaint about reducing over nothing where that has no answer.
void check_not_empty(const char* op, IntArrayRef sizes, IntArrayRef dims);

}  // namespace tandem
