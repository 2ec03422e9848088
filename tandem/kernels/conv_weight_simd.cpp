#include "tandem/kernels/conv_weight_simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tandem/kernels/conv_weight_simd.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h comes first.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tandem::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_MAX_BYTES >= 32 && HWY_TARGET != HWY_SCALAR

using D = hn::CappedTag<float, 8>;
using V = hn::Vec<D>;

/// All sums of a tile are kept in registers: kOut * kX of them, kX channels of x and one number.
template <int kOut, int kX>
void outer(const OuterRows& r, float* sums, int64_t step) {
  const D d;
  V acc[kOut][kX];
  for (int o = 0; o < kOut; ++o)
    for (int t = 0; t < kX; ++t) acc[o][t] = hn::Zero(d);
  for (int64_t i = 0; i < r.images * r.rows; ++i) {
    const int64_t image = i / r.rows, row = i % r.rows;
    const float* y = r.y + image * r.y_image + row * r.y_row;
    const float* x[kX];
    for (int t = 0; t < kX; ++t) x[t] = r.x[t] + image * r.x_image + row * r.x_row;
    for (int64_t p = 0; p < r.n; ++p) {
      V v[kX];
      for (int t = 0; t < kX; ++t) {
        v[t] = hn::LoadU(d, x[t]);
        x[t] += r.x_step;
      }
      for (int o = 0; o < kOut; ++o) {
        const V g = hn::Set(d, y[o]);
        for (int t = 0; t < kX; ++t) acc[o][t] = hn::MulAdd(g, v[t], acc[o][t]);
      }
      y += 8;
    }
  }
  for (int o = 0; o < kOut; ++o)
    for (int t = 0; t < kX; ++t) {
      float* to = sums + o * step + t * 8;
      hn::StoreU(hn::Add(hn::LoadU(d, to), acc[o][t]), d, to);
    }
}

OuterOps ops_here() { return {true, outer<4, 3>, outer<4, 2>, outer<8, 1>}; }

#else

OuterOps ops_here() { return {false, nullptr, nullptr, nullptr}; }

#endif

}  // namespace HWY_NAMESPACE
}  // namespace tandem::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::kernels {

HWY_EXPORT(ops_here);

const OuterOps& outer_ops() {
  static const OuterOps ops = HWY_DYNAMIC_DISPATCH(ops_here)();
  return ops;
}

}  // namespace tandem::kernels
#endif
