#pragma once

#include <utility>

#include "tandem/base/memory.h"
#include "tandem/kernels/conv.h"

/// What the files conv*.cpp share. Not for other kernels: use conv.h.
namespace tandem::kernels::detail {

/// Memory for the time of a call, from the cache that tensors use too.
class Temporary {
 public:
  Temporary() = default;
  explicit Temporary(size_t bytes)
      : bytes_(bytes), data_(bytes ? memory::detail::allocate_data(bytes) : nullptr) {}
  ~Temporary() {
    if (data_) memory::detail::free_data(data_, bytes_);
  }
  Temporary(Temporary&& o) noexcept : bytes_(o.bytes_), data_(o.data_) { o.data_ = nullptr; }
  Temporary& operator=(Temporary&& o) noexcept {
    std::swap(bytes_, o.bytes_);
    std::swap(data_, o.data_);
    return *this;
  }
  void* data() const { return data_; }

 private:
  size_t bytes_ = 0;
  void* data_ = nullptr;
};

/// Computes one part by oneDNN from contiguous operands: for y from x and w, for x from y and w,
/// for w from x and y. `bias` is for y only and may be null. False, and nothing is done, if oneDNN
/// has no good way.
bool dnnl_conv(ConvPart part, const ConvForm& f, const float* a, const float* b, const float* bias,
               float* out);

/// Winograd's convolution of blocked operands: fewer multiplications for kernels of 3 x 3 that move
/// by one position. For y and x the weight is transformed, [16, results / 16, sums, 16]; the
/// gradient by the weight comes out in row-major order.
bool suits_winograd(ConvPart part, const ConvForm& f);
void winograd_conv(ConvPart part, const ConvForm& f, const float* a, const float* u,
                   const float* bias, float* out, ConvEnd end);
void winograd_conv_weight(const ConvForm& f, const float* x, const float* y, float* w);
/// The transformed weight of [out, in, 3, 3], for y, or turned round for x.
void winograd_weight(bool turned, int64_t out, int64_t in, const float* w, float* u);

}  // namespace tandem::kernels::detail
