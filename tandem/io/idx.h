#pragma once

#include <string>

#include "tandem/core/tensor.h"

namespace tandem::io {

/// An idx file of unsigned bytes with that many dimensions, -1 for any number, plain or gzipped, as
/// MNIST's images and labels are. Memory grows with what is really in the file, whatever its header
/// claims.
Tensor read_idx(const std::string& path, int dims = -1);

/// Images and their classes: bytes [n, 28, 28] and int64 [n].
struct LabelledImages {
  Tensor images, labels;
};

/// Reads PREFIX-images-idx3-ubyte and PREFIX-labels-idx1-ubyte from a folder, with or without .gz
/// at the end, and checks that they belong together.
LabelledImages read_idx_pair(const std::string& folder, const std::string& prefix);

}  // namespace tandem::io
