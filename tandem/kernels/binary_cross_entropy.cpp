#include "tandem/kernels/binary_cross_entropy.h"

#include "tandem/base/error.h"
#include "tandem/kernels/cross_entropy_simd.h"
#include "tandem/kernels/reduce_plan.h"

namespace tandem::kernels {
namespace {

constexpr int64_t kChunk = 1024;

template <class T>
[[noreturn, gnu::cold]] void refuse(const T* x, int64_t n, int64_t first) {
  int64_t i = 0;
  while (i < n && x[i] >= 0 && x[i] <= 1) ++i;
  tandem::detail::raise<ValueError>(
      str("binary_cross_entropy: all elements of input should be between 0 and 1, but element ",
          first + i, " is ", x[i]));
}

// Elements [first, first + n) of an array, side by side.
template <class T>
const T* elements(const Array& a, int64_t first, int64_t n, T* buffer) {
  if (a.contiguous && a.dtype == dtype_v<T>) return a.ptr<T>() + first;
  const char* data = static_cast<const char*>(a.data);
  const int64_t bytes = static_cast<int64_t>(size_of(a.dtype));
  if (a.contiguous) {
    load(a.dtype, data + first * bytes, 1, n, buffer);
  } else {
    for (int64_t i = 0; i < n; ++i)
      load(a.dtype, data + offset_of(a, first + i) * bytes, 1, 1, buffer + i);
  }
  return buffer;
}

template <class T>
void run(const Array& x, const Array& target, const Array& out) {
  parallel_for(0, ceil_div(x.numel, kChunk), 8, [&](int64_t begin, int64_t end) {
    T a[kChunk], b[kChunk], c[kChunk];
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      const int64_t first = chunk * kChunk, n = std::min(kChunk, x.numel - first);
      const T* from = elements(x, first, n, a);
      const bool direct = out.contiguous && out.dtype == dtype_v<T>;
      T* to = direct ? out.ptr<T>() + first : c;
      if (!cross_entropy_ops<T>().binary(from, elements(target, first, n, b), to, n))
        refuse(from, n, first);
      if (direct) continue;
      char* data = static_cast<char*>(out.data);
      const int64_t bytes = static_cast<int64_t>(size_of(out.dtype));
      for (int64_t i = 0; i < n; ++i)
        store(out.dtype, data + offset_of(out, first + i) * bytes, 1, 1, c + i);
    }
  });
}

}  // namespace

void binary_cross_entropy(const Array& x, const Array& target, const Array& out) {
  dispatch_compute(x.dtype, [&]<class T>(T) {
    if constexpr (std::is_floating_point_v<T>) run<T>(x, target, out);
  });
}

}  // namespace tandem::kernels
