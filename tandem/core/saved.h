#pragma once

#include "tandem/core/tensor.h"
#include "tandem/core/tensor_impl.h"

/// How values are kept for backward.
///
/// Note: saved values have no history
/// A tensor that was saved may be written in place later, by something computed from what saved it:
///   y = h * w;  h.add_(y);
/// h's history now leads to y's node. If that node kept h itself the two would own each other for
/// ever. So a node keeps the values alone, and takes their history from its own edges, which say
/// where the values came from when they were saved.
namespace tandem {

/// What is kept of a tensor. Of what no write can give another history that is the tensor itself.
intrusive_ptr<TensorImpl> values_of(TensorImpl* t);

/// The kept values, seen as a tensor that came from `edge`.
Tensor with_history(TensorImpl* values, const Edge& edge);

}  // namespace tandem
