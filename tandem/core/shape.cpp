#include "tandem/core/shape.h"

namespace tandem {

int64_t numel_of(IntArrayRef sizes) {
  int64_t n = 1;
  bool overflow = false;
  bool empty = false;
  for (int64_t s : sizes) {
    TANDEM_CHECK_SHAPE(s >= 0, "a tensor cannot have negative dimension ", s, ": ", sizes);
    if (s == 0) empty = true;
    overflow |= __builtin_mul_overflow(n, s, &n);
  }
  if (empty) return 0;
  TANDEM_CHECK_SHAPE(!overflow && n <= INT64_MAX / 8, "a tensor of shape ", sizes,
                     " has more elements than can be addressed");
  return n;
}

Dims contiguous_strides(IntArrayRef sizes) {
  Dims strides(sizes.size());
  int64_t step = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = step;
    // An empty tensor may have extents whose product overflows; its strides are never followed.
    if (__builtin_mul_overflow(step, std::max<int64_t>(sizes[i], 1), &step)) step = 1;
  }
  return strides;
}

bool is_contiguous(IntArrayRef sizes, IntArrayRef strides) {
  int64_t step = 1;
  bool in_order = true;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] == 0) return true;  // whatever the strides of the other dimensions are
    if (sizes[i] == 1 || !in_order) continue;
    // Only an empty tensor's product can overflow.
    in_order = strides[i] == step && !__builtin_mul_overflow(step, sizes[i], &step);
  }
  return in_order;
}

Dims broadcast_shapes(const char* op, IntArrayRef a, IntArrayRef b) {
  const size_t n = std::max(a.size(), b.size());
  Dims out(n);
  for (size_t i = 0; i < n; ++i) {
    const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    TANDEM_CHECK_SHAPE(x == y || x == 1 || y == 1, op, ": shapes ", a, " and ", b,
                       " do not broadcast: The size of tensor a (", x,
                       ") must match the size of tensor b (", y, ") at non-singleton dimension ",
                       n - 1 - i);
    out[n - 1 - i] = x == 1 ? y : x;
  }
  return out;
}

int64_t wrap_dim(const char* op, int64_t dim, int64_t ndim) {
  const int64_t range = std::max<int64_t>(ndim, 1);
  TANDEM_CHECK_INDEX(dim >= -range && dim < range, op,
                     ": Dimension out of range (expected to be in range of [", -range, ", ",
                     range - 1, "], but got ", dim, ")");
  return dim < 0 ? dim + range : dim;
}

}  // namespace tandem
