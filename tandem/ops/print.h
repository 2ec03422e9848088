#pragma once

#include <iosfwd>

#include "tandem/core/tensor.h"

namespace tandem {

/// Writes values, dtype and shape, in lines of at most `linesize` characters.
/// Tensors of more than 1000 elements are abridged: of a long dimension the
/// first and last three entries are shown.
///
///    1.0000  2.5000
///    3.0000  4.0000
///   [ CPUFloatType{2,2} ]
std::ostream& print(std::ostream& out, const Tensor& t, int64_t linesize);
/// The same to the standard output.
void print(const Tensor& t, int64_t linesize = 80);

}  // namespace tandem
