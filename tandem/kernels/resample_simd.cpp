#include "tandem/kernels/resample_simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tandem/kernels/resample_simd.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h comes first.
#include "tandem/kernels/simd/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::kernels {
namespace HWY_NAMESPACE {

template <class C>
void combine(const C* const* rows, const C* weights, int64_t n_rows, int64_t n, C* out) {
  constexpr int64_t kN = Vec<C>::kLanes;
  int64_t i = 0;
  for (; i + kN <= n; i += kN) {
    Vec<C> sum = load(rows[0] + i) * Vec<C>::of(weights[0]);
    for (int64_t r = 1; r < n_rows; ++r) sum = sum + load(rows[r] + i) * Vec<C>::of(weights[r]);
    store(sum, out + i);
  }
  if (i == n) return;
  Vec<C> sum = load_part(rows[0] + i, n - i) * Vec<C>::of(weights[0]);
  for (int64_t r = 1; r < n_rows; ++r)
    sum = sum + load_part(rows[r] + i, n - i) * Vec<C>::of(weights[r]);
  store_part(sum, out + i, n - i);
}

template <class C>
void add_scaled(const C* x, C weight, int64_t n, C* out) {
  constexpr int64_t kN = Vec<C>::kLanes;
  const Vec<C> w = Vec<C>::of(weight);
  int64_t i = 0;
  for (; i + kN <= n; i += kN)
    store(load(static_cast<const C*>(out) + i) + load(x + i) * w, out + i);
  if (i < n)
    store_part(load_part(static_cast<const C*>(out) + i, n - i) + load_part(x + i, n - i) * w,
               out + i, n - i);
}

template <class C>
void two_taps(const C* x, const int32_t* at, const C* weight, int64_t n, C* out) {
  for (int64_t i = 0; i < n; ++i) {
    const C a = x[at[2 * i]] * weight[2 * i], b = x[at[2 * i + 1]] * weight[2 * i + 1];
    out[i] = a + b;
  }
}

template <class C>
void gather(const C* x, const int32_t* at, const C* weight, int64_t n_taps, int64_t pitch,
            int64_t n, C* out) {
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  if constexpr (sizeof(C) == 4) {
    constexpr int64_t kN = Vec<C>::kLanes;
    const Tag<C> d;
    const hn::Rebind<int32_t, Tag<C> > di;
    for (; i + kN <= n; i += kN) {
      Vec<C> sum = Vec<C>::of(0);
      for (int64_t t = 0; t < n_taps; ++t) {
        const auto place = hn::LoadU(di, at + t * pitch + i);
        const auto outside = hn::RebindMask(d, hn::Lt(place, hn::Zero(di)));
        const auto value = hn::GatherIndex(d, x, hn::Max(place, hn::Zero(di)));
        sum = sum + Vec<C>(hn::IfThenZeroElse(outside, value)) * load(weight + t * pitch + i);
      }
      store(sum, out + i);
    }
  }
#endif
  for (; i < n; ++i) {
    C sum = 0;
    for (int64_t t = 0; t < n_taps; ++t) {
      const int32_t place = at[t * pitch + i];
      sum += (place < 0 ? C(0) : x[place]) * weight[t * pitch + i];
    }
    out[i] = sum;
  }
}

template <class C>
const ResampleOps<C>* resample_table() {
  static constexpr ResampleOps<C> kTable = {combine<C>, add_scaled<C>, two_taps<C>, gather<C>};
  return &kTable;
}
const ResampleOps<float>* resample_table_f32() { return resample_table<float>(); }
const ResampleOps<double>* resample_table_f64() { return resample_table<double>(); }

}  // namespace HWY_NAMESPACE
}  // namespace tandem::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::kernels {

HWY_EXPORT(resample_table_f32);
HWY_EXPORT(resample_table_f64);

template <>
const ResampleOps<float>& resample_ops<float>() {
  return *HWY_DYNAMIC_DISPATCH(resample_table_f32)();
}
template <>
const ResampleOps<double>& resample_ops<double>() {
  return *HWY_DYNAMIC_DISPATCH(resample_table_f64)();
}

}  // namespace tandem::kernels
#endif
