#include "tandem/kernels/map_convert.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tandem/kernels/map_convert.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h comes first.
#include <hwy/highway.h>

#include <atomic>
#include <cstring>

#ifndef TANDEM_KERNELS_MAP_CONVERT_TABLE
#define TANDEM_KERNELS_MAP_CONVERT_TABLE
namespace tandem::kernels {
struct ConvertTable {
  ConvertFn fn[kNumDTypes][kNumDTypes];
};
}  // namespace tandem::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace tandem::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The compiler makes vectors of most of these by itself.
template <class From, class To>
void convert_loop(const void* src_, void* dst_, int64_t n) {
  if constexpr (std::is_same_v<From, To>) {
    memmove(dst_, src_, n * sizeof(From));
  } else {
    const auto* src = static_cast<const From*>(src_);
    auto* dst = static_cast<To*>(dst_);
    for (int64_t i = 0; i < n; ++i) dst[i] = convert_value<To>(src[i]);
  }
}

#if HWY_TARGET != HWY_SCALAR
// The 16-bit floats have instructions that the compiler does not find.
template <class H>
hn::Vec<hn::Rebind<H, hn::ScalableTag<float>>> demote(hn::Vec<hn::ScalableTag<float>> v) {
  return hn::DemoteTo(hn::Rebind<H, hn::ScalableTag<float>>(), v);
}
template <class Stored, class H>
void widen_loop(const void* src_, void* dst_, int64_t n) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<H, hn::ScalableTag<float>> dh;
  const auto* src = static_cast<const H*>(src_);
  auto* dst = static_cast<float*>(dst_);
  const int64_t lanes = hn::Lanes(d);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(hn::PromoteTo(d, hn::LoadU(dh, src + i)), d, dst + i);
  convert_loop<Stored, float>(static_cast<const Stored*>(src_) + i, dst + i, n - i);
}
void narrow_half_loop(const void* src_, void* dst_, int64_t n) {
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, hn::ScalableTag<float>> dh;
  const auto* src = static_cast<const float*>(src_);
  auto* dst = static_cast<hwy::float16_t*>(dst_);
  const int64_t lanes = hn::Lanes(d);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(hn::DemoteTo(dh, hn::LoadU(d, src + i)), dh, dst + i);
  convert_loop<float, Half>(src + i, static_cast<Half*>(dst_) + i, n - i);
}
#endif

template <class From>
void enter_row(ConvertFn* row) {
#define TANDEM_CASE(T, name) row[static_cast<int>(DType::name)] = &convert_loop<From, T>;
  TANDEM_FOR_EACH_DTYPE(TANDEM_CASE)
#undef TANDEM_CASE
}
void enter_convert(ConvertTable& table) {
#define TANDEM_CASE(T, name) enter_row<T>(table.fn[static_cast<int>(DType::name)]);
  TANDEM_FOR_EACH_DTYPE(TANDEM_CASE)
#undef TANDEM_CASE
#if HWY_TARGET != HWY_SCALAR
  const int f32 = static_cast<int>(kFloat), f16 = static_cast<int>(kHalf),
            bf16 = static_cast<int>(kBFloat16);
  table.fn[f16][f32] = &widen_loop<Half, hwy::float16_t>;
  table.fn[bf16][f32] = &widen_loop<BFloat16, hwy::bfloat16_t>;
  table.fn[f32][f16] = &narrow_half_loop;
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace tandem::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::kernels {
HWY_EXPORT(enter_convert);

ConvertFn convert_fn(DType from, DType to) {
  static const ConvertTable table = [] {
    ConvertTable t;
    HWY_DYNAMIC_DISPATCH(enter_convert)(t);
    return t;
  }();
  return table.fn[static_cast<int>(from)][static_cast<int>(to)];
}

}  // namespace tandem::kernels
#endif
