#include "tandem/io/bytes.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "tandem/ops/creation.h"

namespace tandem::io {

bool byte_size(IntArrayRef shape, size_t element_size, size_t& bytes) {
  // Zeros first: [0, 2^62, 2^62] has no elements, but the others' product must fit all the same.
  uint64_t n = element_size, limit = INT64_MAX;
  bool empty = false;
  for (const int64_t extent : shape) {
    if (extent < 0) return false;
    if (extent == 0) {
      empty = true;
      continue;
    }
    if (__builtin_mul_overflow(n, static_cast<uint64_t>(extent), &n) || n > limit) return false;
  }
  bytes = empty ? 0 : n;
  return true;
}

Tensor tensor_in_memory(char* data, DType dtype, IntArrayRef shape,
                        std::shared_ptr<const void> owner, const std::string& what) {
  size_t bytes = 0;
  TANDEM_CHECK_AS(FileError, byte_size(shape, size_of(dtype), bytes), what, ": the shape ", shape,
                  " is too large");
  if (dtype == kBool) {
    const char* bad = std::find_if(data, data + bytes, [](char c) { return c != 0 && c != 1; });
    TANDEM_CHECK_AS(FileError, bad == data + bytes, what, ": element ", bad - data,
                    " of a bool tensor is neither 0 nor 1");
  }
  if (bytes == 0 || reinterpret_cast<uintptr_t>(data) % size_of(dtype) != 0) {
    Tensor copy = empty(shape, TensorOptions(dtype));
    if (bytes > 0) std::memcpy(copy.data_ptr(), data, bytes);
    return copy;
  }
  return from_blob(
      data, shape, [owner = std::move(owner)](void*) {}, TensorOptions(dtype));
}

}  // namespace tandem::io
