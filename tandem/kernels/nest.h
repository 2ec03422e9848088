#pragma once

#include <algorithm>

#include "tandem/core/shape.h"

namespace tandem::kernels {

/// Nested loops that move K positions at once, each by strides of its own.
template <int K>
struct Nest {
  Dims sizes;
  Dims strides[K];

  /// Puts a loop inside those there are; merges it with the last one when all positions step
  /// through both without a jump.
  void add(int64_t size, const int64_t (&step)[K]) {
    if (size == 1) return;
    bool merges = !sizes.empty();
    for (int k = 0; k < K && merges; ++k) merges = strides[k].back() == step[k] * size;
    if (merges) {
      sizes.back() *= size;
      for (int k = 0; k < K; ++k) strides[k].back() = step[k];
      return;
    }
    sizes.push_back(size);
    for (int k = 0; k < K; ++k) strides[k].push_back(step[k]);
  }
  /// To be called after the last add: there is at least one loop from now on.
  void close() {
    if (!sizes.empty()) return;
    sizes.push_back(1);
    for (int k = 0; k < K; ++k) strides[k].push_back(0);
  }
  int64_t numel() const {
    int64_t n = 1;
    for (int64_t s : sizes) n *= s;
    return n;
  }
  int64_t inner() const { return sizes.back(); }
  int64_t step(int k) const { return strides[k].back(); }

  /// Calls fn(offsets, n) for each run of the innermost loop within turns [begin, end) of all
  /// loops.
  template <class F>
  void rows(int64_t begin, int64_t end, const F& fn) const {
    const int last = static_cast<int>(sizes.size()) - 1;
    Dims index(sizes.size());
    int64_t offset[K] = {};
    int64_t rest = begin;
    for (int d = last; d >= 0; --d) {
      index[d] = rest % sizes[d];
      rest /= sizes[d];
      for (int k = 0; k < K; ++k) offset[k] += index[d] * strides[k][d];
    }
    while (begin < end) {
      const int64_t n = std::min(sizes[last] - index[last], end - begin);
      fn(static_cast<const int64_t*>(offset), n);
      begin += n;
      index[last] += n;
      for (int k = 0; k < K; ++k) offset[k] += n * strides[k][last];
      for (int d = last; d > 0 && index[d] == sizes[d]; --d) {
        index[d] = 0;
        ++index[d - 1];
        for (int k = 0; k < K; ++k) offset[k] += strides[k][d - 1] - sizes[d] * strides[k][d];
      }
    }
  }
};

/// Calls fn with a value of an unsigned type of that many bytes: for what only moves elements.
template <class F>
void by_size(size_t bytes, const F& fn) {
  switch (bytes) {
    case 1:
      return fn(uint8_t());
    case 2:
      return fn(uint16_t());
    case 4:
      return fn(uint32_t());
    default:
      return fn(uint64_t());
  }
}

}  // namespace tandem::kernels
