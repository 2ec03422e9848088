#pragma once

#include <optional>
#include <string_view>

#include "tandem/core/tensor.h"

// Tensors with a border. A padding has two numbers for each dimension, what is added before and
// after, and begins with the last dimension. Negative numbers cut off.
namespace tandem {

/// x with elements of one value around it.
Tensor constant_pad_nd(const Tensor& x, IntArrayRef pad, const Scalar& value = 0);
/// Any of the following, by name: "constant", "reflect", "replicate", "circular".
Tensor pad(const Tensor& x, IntArrayRef pad, std::string_view mode = "constant",
           std::optional<double> value = std::nullopt);

/// Mirrored at the border, whose elements are not repeated. The last 1, 2 or 3 dimensions of an
/// input with channels, and samples if there is one dimension more.
Tensor reflection_pad1d(const Tensor& x, IntArrayRef padding);
Tensor reflection_pad2d(const Tensor& x, IntArrayRef padding);
Tensor reflection_pad3d(const Tensor& x, IntArrayRef padding);
/// The elements at the border repeated.
Tensor replication_pad1d(const Tensor& x, IntArrayRef padding);
Tensor replication_pad2d(const Tensor& x, IntArrayRef padding);
Tensor replication_pad3d(const Tensor& x, IntArrayRef padding);
/// What lies at the other end comes again.
Tensor _pad_circular(const Tensor& x, IntArrayRef pad);

}  // namespace tandem
