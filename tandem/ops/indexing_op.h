#pragma once

#include "tandem/core/apply.h"

namespace tandem {

struct IndexAttrs {
  Dims dims;  // of the first input that are indexed, in rising order; one index tensor each
  bool from_end = true;  // True iff negative indices count from the end; else they are errors
  TANDEM_FIELDS(dims, from_end)
};
struct IndexPutAttrs {
  Dims dims;
  bool accumulate;
  bool from_end = true;
  TANDEM_FIELDS(dims, accumulate, from_end)
};

/// Runs f; an index that is out of bounds is told with the name of the function it was given to.
template <class F>
decltype(auto) naming(const char* op, const F& f) {
  try {
    return f();
  } catch (const IndexError& e) {
    throw IndexError(str(op, ": ", e.what()));
  }
}

/// x, then int64 index tensors of one shape: what advanced indexing reads.
extern const OpDef kIndex;
/// x, values, then index tensors: a copy of x with the values written, or added, at these places.
extern const OpDef kIndexPut;

/// The calls. Index tensors may have any integer dtype and broadcast; values broadcast to what the
/// index reads. The name in errors is `op`.
Tensor index_at(const char* op, const Tensor& x, IntArrayRef dims, TensorList indices,
                bool from_end = true);
Tensor index_put_at(const char* op, const Tensor& x, IntArrayRef dims, TensorList indices,
                    const Tensor& values, bool accumulate, bool from_end = true);
Tensor& index_put_at_(const char* op, const Tensor& x, IntArrayRef dims, TensorList indices,
                      const Tensor& values, bool accumulate, bool from_end = true);

}  // namespace tandem
