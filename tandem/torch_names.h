#pragma once

/// Names that LibTorch has beside those that Tandem's own headers use.

#include <cstdint>
#include <vector>

#include "tandem/base/error.h"
#include "tandem/core/cuda.h"
#include "tandem/core/tensor.h"

namespace tandem {

inline constexpr DType kU8 = kByte;
inline constexpr DType kI8 = kChar;
inline constexpr DType kI16 = kShort;
inline constexpr DType kI32 = kInt;
inline constexpr DType kI64 = kLong;
inline constexpr DType kF16 = kHalf;
inline constexpr DType kF32 = kFloat;
inline constexpr DType kF64 = kDouble;

using IntList = IntArrayRef;

/// Threads are started when the first loop needs them, without being asked.
inline void init_num_threads() {}
/// Ops run one after another, so more threads between them would have nothing to do.
inline void set_num_interop_threads(int n) {
  TANDEM_CHECK(n > 0, "set_num_interop_threads: Expected positive number of threads, got ", n);
}

inline Tensor& addmv_(const Tensor& x, const Tensor& a, const Tensor& b, const Scalar& beta = 1,
                      const Scalar& alpha = 1) {
  return x.addmv_(a, b, beta, alpha);
}
inline Tensor& gcd_(const Tensor& x, const Tensor& y) { return x.gcd_(y); }
inline Tensor& lcm_(const Tensor& x, const Tensor& y) { return x.lcm_(y); }
inline Tensor& resize_as_(const Tensor& x, const Tensor& y) { return x.resize_as_(y); }
inline bool is_signed(const Tensor& x) { return x.is_signed(); }
inline bool is_inference(const Tensor& x) { return x.is_inference(); }
inline std::vector<Tensor> unsafe_chunk(const Tensor& x, int64_t chunks, int64_t dim = 0) {
  return x.unsafe_chunk(chunks, dim);
}
inline std::vector<Tensor> unsafe_split(const Tensor& x, int64_t size, int64_t dim = 0) {
  return x.unsafe_split(size, dim);
}
inline std::vector<Tensor> unsafe_split_with_sizes(const Tensor& x, IntArrayRef sizes,
                                                   int64_t dim = 0) {
  return x.unsafe_split_with_sizes(sizes, dim);
}

// Programs call these whether there is a GPU or not, and without one they do nothing.
namespace cuda {
inline void manual_seed(uint64_t) {}
inline void manual_seed_all(uint64_t) {}
inline void synchronize(int64_t = -1) {}
}  // namespace cuda

}  // namespace tandem
