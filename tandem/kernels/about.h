#pragma once

#include <string>

/// What the kernels stand on, for people who ask.
namespace tandem::kernels {

/// The instruction set whose loops were chosen for this machine: "AVX2".
std::string instruction_set();
/// "3.0.0"
std::string dnnl_version();
/// OpenBLAS's own words about itself.
std::string blas_version();

}  // namespace tandem::kernels
