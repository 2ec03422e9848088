#include "tandem/kernels/reduce_load.h"

#include <algorithm>

namespace tandem::kernels {
namespace {

constexpr int64_t kChunk = 256;

// Elements of equal type go straight; others meet in a small buffer when they are not side by side.
template <class C>
void load_any(DType t, const void* from, int64_t stride, int64_t n, C* out) {
  constexpr DType kTo = dtype_v<C>;
  if (stride == 1) {
    convert_fn(t, kTo)(from, out, n);
    return;
  }
  if (t == kTo) {
    gather(sizeof(C), from, stride, out, n);
    return;
  }
  const size_t size = size_of(t);
  const ConvertFn convert = convert_fn(t, kTo);
  alignas(8) char buffer[kChunk * 8];
  const char* p = static_cast<const char*>(from);
  for (int64_t i = 0; i < n; i += kChunk) {
    const int64_t m = std::min(kChunk, n - i);
    gather(size, p + i * stride * static_cast<int64_t>(size), stride, buffer, m);
    convert(buffer, out + i, m);
  }
}

template <class C>
void store_any(DType t, void* to, int64_t stride, int64_t n, const C* in) {
  constexpr DType kFrom = dtype_v<C>;
  if (stride == 1) {
    convert_fn(kFrom, t)(in, to, n);
    return;
  }
  if (t == kFrom) {
    scatter(sizeof(C), in, to, stride, n);
    return;
  }
  const size_t size = size_of(t);
  const ConvertFn convert = convert_fn(kFrom, t);
  alignas(8) char buffer[kChunk * 8];
  char* p = static_cast<char*>(to);
  for (int64_t i = 0; i < n; i += kChunk) {
    const int64_t m = std::min(kChunk, n - i);
    convert(in + i, buffer, m);
    scatter(size, buffer, p + i * stride * static_cast<int64_t>(size), stride, m);
  }
}

}  // namespace

template <>
void load<float>(DType t, const void* p, int64_t stride, int64_t n, float* out) {
  load_any(t, p, stride, n, out);
}
template <>
void load<double>(DType t, const void* p, int64_t stride, int64_t n, double* out) {
  load_any(t, p, stride, n, out);
}
template <>
void load<int64_t>(DType t, const void* p, int64_t stride, int64_t n, int64_t* out) {
  load_any(t, p, stride, n, out);
}
template <>
void store<float>(DType t, void* p, int64_t stride, int64_t n, const float* in) {
  store_any(t, p, stride, n, in);
}
template <>
void store<double>(DType t, void* p, int64_t stride, int64_t n, const double* in) {
  store_any(t, p, stride, n, in);
}
template <>
void store<int64_t>(DType t, void* p, int64_t stride, int64_t n, const int64_t* in) {
  store_any(t, p, stride, n, in);
}

void load_nonzero(DType t, const void* from, int64_t stride, int64_t n, int64_t* out) {
  const size_t size = size_of(t);
  const ConvertFn truth = convert_fn(t, kBool), widen = convert_fn(kBool, kLong);
  alignas(8) char buffer[kChunk * 8];
  bool bits[kChunk];
  const char* p = static_cast<const char*>(from);
  for (int64_t i = 0; i < n; i += kChunk) {
    const int64_t m = std::min(kChunk, n - i);
    const char* part = p + i * stride * static_cast<int64_t>(size);
    if (stride != 1) {
      gather(size, part, stride, buffer, m);
      part = buffer;
    }
    truth(part, bits, m);
    widen(bits, out + i, m);
  }
}

int64_t count_nonzero_bytes(const void* from, int64_t n) {
  const uint8_t* p = static_cast<const uint8_t*>(from);
  int64_t total = 0;
  for (int64_t i = 0; i < n; i += 4096) {
    int32_t some = 0;
    const int64_t end = std::min(i + 4096, n);
    for (int64_t k = i; k < end; ++k) some += p[k] != 0;
    total += some;
  }
  return total;
}

}  // namespace tandem::kernels
