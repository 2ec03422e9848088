#pragma once

#include "tandem/core/tensor.h"

namespace tandem {

// Windows for spectral analysis, of n values: periodic ones are the first n of n + 1.
Tensor bartlett_window(int64_t n, const TensorOptions& o = {});
Tensor bartlett_window(int64_t n, bool periodic, const TensorOptions& o = {});
Tensor blackman_window(int64_t n, const TensorOptions& o = {});
Tensor blackman_window(int64_t n, bool periodic, const TensorOptions& o = {});
Tensor hann_window(int64_t n, const TensorOptions& o = {});
Tensor hann_window(int64_t n, bool periodic, const TensorOptions& o = {});
/// alpha - beta cos(2 pi i / (n - 1))
Tensor hamming_window(int64_t n, const TensorOptions& o = {});
Tensor hamming_window(int64_t n, bool periodic, const TensorOptions& o = {});
Tensor hamming_window(int64_t n, bool periodic, double alpha, const TensorOptions& o = {});
Tensor hamming_window(int64_t n, bool periodic, double alpha, double beta,
                      const TensorOptions& o = {});
Tensor kaiser_window(int64_t n, const TensorOptions& o = {});
Tensor kaiser_window(int64_t n, bool periodic, const TensorOptions& o = {});
Tensor kaiser_window(int64_t n, bool periodic, double beta, const TensorOptions& o = {});

}  // namespace tandem
