#include "tandem/kernels/packed.h"

#include "tandem/base/memory.h"
#include "tandem/kernels/map.h"

namespace tandem::kernels {
namespace {

bool is_packed(const Array& a, DType dtype) {
  return (a.contiguous && a.dtype == dtype) || a.numel == 0;
}

size_t bytes_of(const Array& a, DType dtype) {
  return static_cast<size_t>(a.numel) * size_of(dtype);
}

// The array `a` would be if its elements lay at `data`, side by side and of that dtype.
Array packed_array(const Array& a, const Dims& strides, void* data, DType dtype) {
  return {data, a.sizes, strides.data(), a.numel, a.ndim, dtype, true};
}

}  // namespace

Packed::Packed(const Array& a, DType dtype) : data_(a.data) {
  if (is_packed(a, dtype)) return;
  bytes_ = bytes_of(a, dtype);
  void* copied = memory::detail::allocate_data(bytes_);
  data_ = copied;
  const Dims strides = contiguous_strides(a.shape());
  copy(a, packed_array(a, strides, copied, dtype));
}

Packed::~Packed() {
  if (bytes_ > 0) memory::detail::free_data(const_cast<void*>(data_), bytes_);
}

PackedOutput::PackedOutput(const Array& a, DType dtype) : array_(a), dtype_(dtype), data_(a.data) {
  if (is_packed(a, dtype)) return;
  bytes_ = bytes_of(a, dtype);
  data_ = memory::detail::allocate_data(bytes_);
}

PackedOutput::~PackedOutput() {
  if (bytes_ > 0) memory::detail::free_data(data_, bytes_);
}

void PackedOutput::commit() {
  if (bytes_ == 0) return;
  const Dims strides = contiguous_strides(array_.shape());
  copy(packed_array(array_, strides, data_, dtype_), array_);
}

}  // namespace tandem::kernels
