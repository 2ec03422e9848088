#pragma once

#include <functional>

#include "tandem/core/tensor_impl.h"

namespace tandem {

/// The view ops that lead from a base to a view, as an attribute.
struct ViewChain {
  intrusive_ptr<ViewStep> last;

  std::vector<const ViewStep*> steps() const;  // in order of application
  /// The view of `base` that the steps describe.
  Tensor apply_to(const Tensor& base) const;
  /// The same for a plain block of memory: fills in where the view lies.
  void locate(const TensorType& base, IntArrayRef base_strides, Dims& sizes, Dims& strides,
              int64_t& offset) const;
  friend bool operator==(const ViewChain& a, const ViewChain& b);
  friend std::ostream& operator<<(std::ostream& out, const ViewChain& c);
};
/// Reads what << wrote.
void read_field(AttrReader& in, ViewChain& c);

struct ViewScatterAttrs {
  ViewChain chain;
  Dims strides;  // of the base if it was not in row-major order: some views fit one layout only
  TANDEM_FIELDS(chain, strides)
};

/// A copy of the first input in which the part that `chain` views is replaced by the second. What
/// an in-place write through a view means for the base.
extern const OpDef kViewScatter;
/// The input's values, through which no gradient flows. Programs that are differentiated op by op
/// have it where the function that they were recorded from detached a tensor.
extern const OpDef kDetach;
/// The second input's values with the first one's history: a write that autograd does not see.
extern const OpDef kHiddenWrite;

struct AsStridedAttrs {
  Dims sizes, strides;
  int64_t offset;   // from the input's first element; negative if it reaches back in the storage
  Dims in_strides;  // how the input lay
  TANDEM_FIELDS(sizes, strides, offset, in_strides)
};
/// Any window on the memory of its input.
extern const OpDef kAsStrided;

}  // namespace tandem

template <>
struct std::hash<tandem::ViewChain> {
  size_t operator()(const tandem::ViewChain& c) const;
};
