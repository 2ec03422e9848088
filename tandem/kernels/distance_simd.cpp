#include "tandem/kernels/distance_simd.h"

#include <cmath>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tandem/kernels/distance_simd.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h comes first.
#include "tandem/kernels/simd/loops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::kernels {
namespace HWY_NAMESPACE {

template <class T>
inline constexpr int64_t kStrands = 128 / static_cast<int64_t>(sizeof(T));

// All term(a[i] - b[i]) combined; a term of 0 must change nothing.
template <class T, class Term, class Join>
HWY_INLINE T combine(const T* a, const T* b, int64_t n, const Term& term, const Join& join) {
  constexpr int64_t kN = Vec<T>::kLanes, kParts = kStrands<T> / kN;
  Vec<T> part[kParts];
  for (auto& p : part) p = Vec<T>(0.0);
  int64_t i = 0;
  for (; i + kStrands<T> <= n; i += kStrands<T>)
    for (int64_t k = 0; k < kParts; ++k)
      part[k] = join(part[k], term(load(a + i + k * kN) - load(b + i + k * kN)));
  for (int64_t k = 0; i < n; ++k, i += kN) {
    const int64_t left = n - i;
    const Vec<T> d =
        left >= kN ? load(a + i) - load(b + i) : load_part(a + i, left) - load_part(b + i, left);
    part[k] = join(part[k], term(d));
  }
  for (int64_t half = kParts / 2; half > 0; half /= 2)
    for (int64_t k = 0; k < half; ++k) part[k] = join(part[k], part[k + half]);
  T lanes[kN];
  store(part[0], lanes);
  for (int64_t half = kN / 2; half > 0; half /= 2)
    for (int64_t k = 0; k < half; ++k) lanes[k] = join(lanes[k], lanes[k + half]);
  return lanes[0];
}

struct Plus {
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return a + b;
  }
};
struct Greater {
  // A nan stays.
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    if constexpr (std::is_floating_point_v<V>)
      return b > a || b != b ? b : a;
    else
      return select((b > a) | (b != b), b, a);
  }
};

template <class T>
T norm_zero(const T* a, const T* b, T, int64_t n) {
  return combine(
      a, b, n, [](Vec<T> d) HWY_ATTR { return select(d == Vec<T>(0.0), Vec<T>(0.0), Vec<T>(1.0)); },
      Plus());
}
template <class T>
T norm_one(const T* a, const T* b, T, int64_t n) {
  return combine(
      a, b, n, [](Vec<T> d) HWY_ATTR { return abs(d); }, Plus());
}
template <class T>
T norm_two(const T* a, const T* b, T, int64_t n) {
  return std::sqrt(combine(
      a, b, n, [](Vec<T> d) HWY_ATTR { return d * d; }, Plus()));
}
template <class T>
T norm_infinity(const T* a, const T* b, T, int64_t n) {
  return combine(
      a, b, n, [](Vec<T> d) HWY_ATTR { return abs(d); }, Greater());
}
template <class T>
T norm_any(const T* a, const T* b, T p, int64_t n) {
  const Vec<T> e = Vec<T>::of(p);
  return std::pow(combine(
                      a, b, n, [e](Vec<T> d) HWY_ATTR { return math::pow(abs(d), e); }, Plus()),
                  1 / p);
}

// acc += slope(a - b).
template <class T, class F>
HWY_INLINE void accumulate(const T* a, const T* b, T* acc, int64_t n, const F& slope) {
  constexpr int64_t kN = Vec<T>::kLanes;
  for (; n >= kN; n -= kN, a += kN, b += kN, acc += kN)
    store(load(acc) + slope(load(a) - load(b)), acc);
  if (n > 0) store_part(load_part(acc, n) + slope(load_part(a, n) - load_part(b, n)), acc, n);
}

// x with the sign of d; 0 where d is.
template <class T>
HWY_INLINE Vec<T> signed_as(Vec<T> x, Vec<T> d) {
  return select(d == Vec<T>(0.0), Vec<T>(0.0), select(d < Vec<T>(0.0), -x, x));
}

template <class T>
void slope_zero(const T*, const T*, T, T, T, T*, int64_t) {}
template <class T>
void slope_one(const T* a, const T* b, T, T g, T, T* acc, int64_t n) {
  const Vec<T> v = Vec<T>::of(g);
  accumulate(a, b, acc, n, [v](Vec<T> d) HWY_ATTR { return signed_as(v, d); });
}
template <class T>
void slope_two(const T* a, const T* b, T, T g, T distance, T* acc, int64_t n) {
  const Vec<T> v = Vec<T>::of(g / distance);
  accumulate(a, b, acc, n, [v](Vec<T> d) HWY_ATTR { return d * v; });
}
template <class T>
void slope_infinity(const T* a, const T* b, T, T g, T distance, T* acc, int64_t n) {
  const Vec<T> v = Vec<T>::of(g), top = Vec<T>::of(distance), zero(0.0);
  accumulate(a, b, acc, n,
             [=](Vec<T> d) HWY_ATTR { return select(abs(d) == top, signed_as(v, d), zero); });
}
template <class T>
void slope_any(const T* a, const T* b, T p, T g, T distance, T* acc, int64_t n) {
  const Vec<T> v = Vec<T>::of(g / std::pow(distance, p - 1)), e = Vec<T>::of(p - 1);
  accumulate(a, b, acc, n,
             [=](Vec<T> d) HWY_ATTR { return signed_as(v * math::pow(abs(d), e), d); });
}

template <class T>
const DistanceOps<T>* distance_table() {
  static constexpr DistanceOps<T> kTable = {
      {norm_zero<T>, norm_one<T>, norm_two<T>, norm_infinity<T>, norm_any<T>},
      {slope_zero<T>, slope_one<T>, slope_two<T>, slope_infinity<T>, slope_any<T>}};
  return &kTable;
}
const DistanceOps<float>* distance_table_f32() { return distance_table<float>(); }
const DistanceOps<double>* distance_table_f64() { return distance_table<double>(); }

}  // namespace HWY_NAMESPACE
}  // namespace tandem::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::kernels {

HWY_EXPORT(distance_table_f32);
HWY_EXPORT(distance_table_f64);

template <>
const DistanceOps<float>& distance_ops<float>() {
  return *HWY_DYNAMIC_DISPATCH(distance_table_f32)();
}
template <>
const DistanceOps<double>& distance_ops<double>() {
  return *HWY_DYNAMIC_DISPATCH(distance_table_f64)();
}

}  // namespace tandem::kernels
#endif
