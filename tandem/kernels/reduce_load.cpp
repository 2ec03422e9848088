#include "tandem/kernels/reduce_load.h"

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tandem/kernels/reduce_load.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The loops are plain: the compiler vectorises them for each target. Only float16 needs the
// instruction that the target has for it.
template <class T, class C>
HWY_INLINE void load_unit(const T* HWY_RESTRICT p, int64_t n, C* HWY_RESTRICT out) {
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  if constexpr (std::is_same_v<T, Half> && std::is_same_v<C, float>) {
    const hn::ScalableTag<float> d;
    const hn::Rebind<hwy::float16_t, decltype(d)> d16;
    constexpr int64_t kN = static_cast<int64_t>(hn::MaxLanes(d));
    const auto* h = reinterpret_cast<const hwy::float16_t*>(p);
    for (; i + kN <= n; i += kN) hn::StoreU(hn::PromoteTo(d, hn::LoadU(d16, h + i)), d, out + i);
  }
#endif
  for (; i < n; ++i) out[i] = convert<C>(p[i]);
}

template <class T, class C>
void load_as(const void* from, int64_t stride, int64_t n, C* HWY_RESTRICT out) {
  const T* p = static_cast<const T*>(from);
  if constexpr (std::is_same_v<T, C>) {
    if (stride == 1) {
      std::memcpy(out, p, static_cast<size_t>(n) * sizeof(T));
      return;
    }
  }
  if (stride == 1) {
    load_unit(p, n, out);
  } else {
    for (int64_t i = 0; i < n; ++i) out[i] = convert<C>(p[i * stride]);
  }
}

template <class T>
void nonzero_as(const void* from, int64_t stride, int64_t n, int64_t* HWY_RESTRICT out) {
  const T* p = static_cast<const T*>(from);
  if (stride == 1) {
    for (int64_t i = 0; i < n; ++i) out[i] = static_cast<Compute<T>>(p[i]) != 0;
  } else {
    for (int64_t i = 0; i < n; ++i) out[i] = static_cast<Compute<T>>(p[i * stride]) != 0;
  }
}

template <class T, class C>
void store_as(void* to, int64_t stride, int64_t n, const C* HWY_RESTRICT in) {
  T* p = static_cast<T*>(to);
  if (stride == 1) {
    for (int64_t i = 0; i < n; ++i) p[i] = convert<T>(in[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) p[i * stride] = convert<T>(in[i]);
  }
}

template <class C>
HWY_INLINE void load_any(DType t, const void* p, int64_t stride, int64_t n, C* out) {
  dispatch(t, [&]<class T>(T) { load_as<T, C>(p, stride, n, out); });
}
template <class C>
HWY_INLINE void store_any(DType t, void* p, int64_t stride, int64_t n, const C* in) {
  dispatch(t, [&]<class T>(T) { store_as<T, C>(p, stride, n, in); });
}

void load_f32(DType t, const void* p, int64_t s, int64_t n, float* o) { load_any(t, p, s, n, o); }
void load_f64(DType t, const void* p, int64_t s, int64_t n, double* o) { load_any(t, p, s, n, o); }
void load_i64(DType t, const void* p, int64_t s, int64_t n, int64_t* o) { load_any(t, p, s, n, o); }
void load_bits(DType t, const void* p, int64_t s, int64_t n, int64_t* o) {
  dispatch(t, [&]<class T>(T) { nonzero_as<T>(p, s, n, o); });
}
int64_t count_bytes(const void* from, int64_t n) {
  const uint8_t* p = static_cast<const uint8_t*>(from);
  int64_t total = 0;
  for (int64_t i = 0; i < n; i += 4096) {
    int32_t some = 0;
    const int64_t end = i + 4096 < n ? i + 4096 : n;
    for (int64_t k = i; k < end; ++k) some += p[k] != 0;
    total += some;
  }
  return total;
}
void store_f32(DType t, void* p, int64_t s, int64_t n, const float* i) { store_any(t, p, s, n, i); }
void store_f64(DType t, void* p, int64_t s, int64_t n, const double* i) {
  store_any(t, p, s, n, i);
}
void store_i64(DType t, void* p, int64_t s, int64_t n, const int64_t* i) {
  store_any(t, p, s, n, i);
}

}  // namespace HWY_NAMESPACE
}  // namespace tandem::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::kernels {

HWY_EXPORT(load_f32);
HWY_EXPORT(load_f64);
HWY_EXPORT(load_i64);
HWY_EXPORT(load_bits);
HWY_EXPORT(count_bytes);
HWY_EXPORT(store_f32);
HWY_EXPORT(store_f64);
HWY_EXPORT(store_i64);

template <>
void load<float>(DType t, const void* p, int64_t stride, int64_t n, float* out) {
  HWY_DYNAMIC_DISPATCH(load_f32)(t, p, stride, n, out);
}
template <>
void load<double>(DType t, const void* p, int64_t stride, int64_t n, double* out) {
  HWY_DYNAMIC_DISPATCH(load_f64)(t, p, stride, n, out);
}
template <>
void load<int64_t>(DType t, const void* p, int64_t stride, int64_t n, int64_t* out) {
  HWY_DYNAMIC_DISPATCH(load_i64)(t, p, stride, n, out);
}
void load_nonzero(DType t, const void* p, int64_t stride, int64_t n, int64_t* out) {
  HWY_DYNAMIC_DISPATCH(load_bits)(t, p, stride, n, out);
}
int64_t count_nonzero_bytes(const void* p, int64_t n) {
  return HWY_DYNAMIC_DISPATCH(count_bytes)(p, n);
}
template <>
void store<float>(DType t, void* p, int64_t stride, int64_t n, const float* in) {
  HWY_DYNAMIC_DISPATCH(store_f32)(t, p, stride, n, in);
}
template <>
void store<double>(DType t, void* p, int64_t stride, int64_t n, const double* in) {
  HWY_DYNAMIC_DISPATCH(store_f64)(t, p, stride, n, in);
}
template <>
void store<int64_t>(DType t, void* p, int64_t stride, int64_t n, const int64_t* in) {
  HWY_DYNAMIC_DISPATCH(store_i64)(t, p, stride, n, in);
}

}  // namespace tandem::kernels
#endif
