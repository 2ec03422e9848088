#include "tandem/ops/pool_detail.h"

#include <algorithm>

namespace tandem::detail {

PooledDims::PooledDims(const char* op, const TensorType& x, size_t n, int64_t channels_inner)
    : first(0), count(static_cast<int64_t>(n)), inner(channels_inner) {
  TANDEM_CHECK(n >= 1 && n <= 3, op, ": windows have 1, 2 or 3 dimensions, not ", n);
  TANDEM_CHECK(inner >= 1, op, ": channels_inner is ", inner);
  const int64_t behind = inner > 1 ? 1 : 0;
  first = x.dim() - count - behind;
  TANDEM_CHECK_SHAPE(first >= 0 && (behind == 0 || x.sizes[x.dim() - 1] == inner), op,
                     ": windows of ", n, " dimensions and ", inner,
                     " channels side by side do not go with an input ", x);
}

Dims PooledDims::extents(IntArrayRef sizes) const {
  return Dims(sizes.slice(static_cast<size_t>(first), static_cast<size_t>(count)));
}

Dims PooledDims::with(IntArrayRef sizes, IntArrayRef extents) const {
  Dims result(sizes);
  for (int64_t d = 0; d < count; ++d) result[first + d] = extents[d];
  return result;
}

void check_windows(const char* op, size_t n, IntArrayRef kernel, IntArrayRef stride,
                   IntArrayRef padding, IntArrayRef dilation) {
  constexpr int64_t kMost = int64_t{1} << 30;
  const auto check = [&](const char* what, IntArrayRef numbers, int64_t least) {
    bool fits = numbers.size() == n;
    for (const int64_t v : numbers) fits = fits && v >= least && v <= kMost;
    TANDEM_CHECK(fits, op, ": ", what, " ", numbers, ": expected ", n, " numbers of at least ",
                 least);
  };
  check("kernel_size", kernel, 1);
  check("stride", stride, 1);
  check("padding", padding, 0);
  check("dilation", dilation, 1);
  for (size_t d = 0; d < n; ++d)
    TANDEM_CHECK(padding[d] <= kernel[d] / 2, op,
                 ": pad should be at most half of kernel size, but got pad=", padding,
                 " and kernel_size=", kernel);
}

Dims pooled_extents(const char* op, IntArrayRef input, IntArrayRef kernel, IntArrayRef stride,
                    IntArrayRef padding, IntArrayRef dilation, bool ceil_mode) {
  Dims result;
  for (size_t d = 0; d < input.size(); ++d) {
    const int64_t room = input[d] + 2 * padding[d] - dilation[d] * (kernel[d] - 1) - 1;
    const int64_t up = ceil_mode ? room + stride[d] - 1 : room;
    int64_t n = (up >= 0 ? up / stride[d] : -1) + 1;
    // The last window begins inside the input or its padding before.
    if (ceil_mode && (n - 1) * stride[d] >= input[d] + padding[d]) --n;
    TANDEM_CHECK_SHAPE(input[d] > 0 && n > 0, op, ": an input of extents ", input,
                       " is too small for windows of ", kernel, " (stride ", stride, ", padding ",
                       padding, ", dilation ", dilation, "): Output size is too small");
    result.push_back(n);
  }
  return result;
}

kernels::Extents as_extents(IntArrayRef numbers, int64_t missing) {
  kernels::Extents e{missing, missing, missing};
  for (size_t i = 0; i < numbers.size(); ++i) e[3 - numbers.size() + i] = numbers[i];
  return e;
}

kernels::PoolShape pool_shape(const Array& pooled, const Array& result, size_t count,
                              int64_t channels_inner) {
  const size_t behind = channels_inner > 1 ? 1 : 0;
  const size_t first = static_cast<size_t>(pooled.ndim) - count - behind;
  kernels::PoolShape s;
  for (size_t d = 0; d < first; ++d) s.planes *= pooled.sizes[d];
  s.inner = channels_inner;
  s.in = as_extents(pooled.shape().slice(first, count), 1);
  s.out = as_extents(result.shape().slice(first, count), 1);
  return s;
}

Dims expanded(const char* op, const char* what, IntArrayRef numbers, size_t n,
              IntArrayRef missing) {
  if (numbers.empty() && !missing.empty()) return Dims(missing);
  TANDEM_CHECK(numbers.size() == 1 || numbers.size() == n, op, ": ", what,
               n == 1 ? " must be one int, not "
                      : " must either be a single int, or one for each dimension, not ",
               numbers);
  return numbers.size() == n ? Dims(numbers) : Dims(n, numbers[0]);
}

void check_pool_input(const char* op, const Tensor& x, int64_t n) {
  TANDEM_CHECK_SHAPE(x.dim() == n + 1 || x.dim() == n + 2, op, "(): Expected ", n + 1, "D or ",
                     n + 2, "D input, but got ", x.dim(), "D: ", x.sizes());
}

}  // namespace tandem::detail
