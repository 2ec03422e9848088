#include "tandem/kernels/map_walk.h"

namespace tandem::kernels {

Walk::Walk(const Array& out, const Array* in, int n_in) : operands(n_in + 1), numel(out.numel) {
  TANDEM_ASSERT(operands <= kMaxWalkOperands, "too many operands: ", n_in);
  // Dimensions of extent 1 say nothing; an input that lacks one or has extent 1 there stands still.
  for (int d = 0; d < out.ndim; ++d) {
    if (out.sizes[d] == 1) continue;
    sizes.push_back(out.sizes[d]);
    strides[0].push_back(out.strides[d]);
    for (int k = 0; k < n_in; ++k) {
      const int j = d - (out.ndim - in[k].ndim);
      const bool moves = j >= 0 && in[k].sizes[j] != 1;
      TANDEM_ASSERT(!moves || in[k].sizes[j] == out.sizes[d], "operand ", k, " of shape ",
                    in[k].shape(), " does not broadcast to ", out.shape());
      strides[k + 1].push_back(moves ? in[k].strides[j] : 0);
    }
  }
  ndim = static_cast<int>(sizes.size());
  // Insertion sort by the output's stride, largest first: nearly always sorted already.
  for (int i = 1; i < ndim; ++i) {
    for (int j = i; j > 0 && strides[0][j - 1] < strides[0][j]; --j) {
      std::swap(sizes[j - 1], sizes[j]);
      for (int k = 0; k < operands; ++k) std::swap(strides[k][j - 1], strides[k][j]);
    }
  }
  int kept = 0;
  for (int d = 1; d < ndim; ++d) {
    bool merges = true;
    for (int k = 0; k < operands; ++k) merges &= strides[k][kept] == strides[k][d] * sizes[d];
    if (!merges) ++kept;
    sizes[kept] = merges ? sizes[kept] * sizes[d] : sizes[d];
    for (int k = 0; k < operands; ++k) strides[k][kept] = strides[k][d];
  }
  if (ndim == 0) {
    sizes.push_back(1);
    for (int k = 0; k < operands; ++k) strides[k].push_back(k == 0 ? 1 : 0);
    ndim = 1;
  } else {
    ndim = kept + 1;
  }
}

namespace {
template <class T>
void gather_as(const void* src_, int64_t stride, void* dst_, int64_t n) {
  const T* src = static_cast<const T*>(src_);
  T* dst = static_cast<T*>(dst_);
  for (int64_t i = 0; i < n; ++i) dst[i] = src[i * stride];
}
template <class T>
void scatter_as(const void* src_, void* dst_, int64_t stride, int64_t n) {
  const T* src = static_cast<const T*>(src_);
  T* dst = static_cast<T*>(dst_);
  for (int64_t i = 0; i < n; ++i) dst[i * stride] = src[i];
}
}  // namespace

void gather(size_t size, const void* src, int64_t stride, void* dst, int64_t n) {
  switch (size) {
    case 1:
      return gather_as<uint8_t>(src, stride, dst, n);
    case 2:
      return gather_as<uint16_t>(src, stride, dst, n);
    case 4:
      return gather_as<uint32_t>(src, stride, dst, n);
    default:
      return gather_as<uint64_t>(src, stride, dst, n);
  }
}
void scatter(size_t size, const void* src, void* dst, int64_t stride, int64_t n) {
  switch (size) {
    case 1:
      return scatter_as<uint8_t>(src, dst, stride, n);
    case 2:
      return scatter_as<uint16_t>(src, dst, stride, n);
    case 4:
      return scatter_as<uint32_t>(src, dst, stride, n);
    default:
      return scatter_as<uint64_t>(src, dst, stride, n);
  }
}

}  // namespace tandem::kernels
