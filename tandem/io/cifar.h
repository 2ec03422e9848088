#pragma once

#include <string>

#include "tandem/core/tensor.h"

namespace tandem::io {

/// Records of a CIFAR file in its binary form: bytes [n, 3, 32, 32], and the labels that stand
/// before each image, int64 [n, number of labels].
struct CIFARRecords {
  Tensor images, labels;
};

/// `classes` has the number of classes for each label of a record: {10} for CIFAR-10, {20, 100} for
/// CIFAR-100. Labels outside of them are refused.
CIFARRecords read_cifar(const std::string& path, IntArrayRef classes);

}  // namespace tandem::io
