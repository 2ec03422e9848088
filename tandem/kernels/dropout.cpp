#include "tandem/kernels/dropout.h"

#include "tandem/base/parallel.h"

namespace tandem::kernels {
namespace {

template <class T>
void scale(const T* __restrict x, const uint8_t* __restrict mask, T a, T* __restrict out,
           int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = T(0) + (a * x[i]) * static_cast<T>(mask[i]);
}
template <class T>
void scale_in_place(T* __restrict x, const uint8_t* __restrict mask, T a, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] = T(0) + (a * x[i]) * static_cast<T>(mask[i]);
}

template <class T>
void run(const Array& x, const Array& mask, T a, const Array& out) {
  parallel_for(0, out.numel, 32768, [&](int64_t begin, int64_t end) {
    const uint8_t* m = mask.ptr<const uint8_t>() + begin;
    T* to = out.ptr<T>() + begin;
    if (x.data == out.data)
      scale_in_place(to, m, a, end - begin);
    else
      scale(x.ptr<const T>() + begin, m, a, to, end - begin);
  });
}

}  // namespace

bool masked_scale(const Array& x, const Array& mask, double a, const Array& out) {
  if (!x.contiguous || !mask.contiguous || !out.contiguous || mask.dtype != kBool ||
      x.dtype != out.dtype || x.numel != out.numel || mask.numel != out.numel)
    return false;
  if (x.dtype == kFloat)
    run(x, mask, static_cast<float>(a), out);
  else if (x.dtype == kDouble)
    run(x, mask, a, out);
  else
    return false;
  return true;
}

}  // namespace tandem::kernels
