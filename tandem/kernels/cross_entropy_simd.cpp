#include "tandem/kernels/cross_entropy_simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tandem/kernels/cross_entropy_simd.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h comes first.
#include "tandem/kernels/simd/loops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::kernels {
namespace HWY_NAMESPACE {

template <class T>
inline constexpr int64_t kStrands = 128 / static_cast<int64_t>(sizeof(T));

// Calls f with registers of x and their place; the last one is filled up with `rest`.
template <class T, class F>
HWY_INLINE void registers(const T* x, int64_t n, T rest, const F& f) {
  constexpr int64_t kN = Vec<T>::kLanes;
  int64_t i = 0;
  for (; i + kN <= n; i += kN) f(load(x + i), i);
  if (i == n) return;
  T last[kN];
  for (int64_t k = 0; k < kN; ++k) last[k] = i + k < n ? x[i + k] : rest;
  f(load(last), i);
}

template <class T>
T top(const T* x, int64_t n) {
  constexpr int64_t kN = Vec<T>::kLanes;
  Vec<T> a(-HUGE_VAL), b = a, c = a, d = a;
  int64_t i = 0;
  for (; i + 4 * kN <= n; i += 4 * kN) {
    a = max(load(x + i), a);
    b = max(load(x + i + kN), b);
    c = max(load(x + i + 2 * kN), c);
    d = max(load(x + i + 3 * kN), d);
  }
  registers(x + i, n - i, static_cast<T>(-HUGE_VAL),
            [&](Vec<T> v, int64_t) HWY_ATTR { a = max(v, a); });
  T lanes[kN];
  store(max(max(a, b), max(c, d)), lanes);
  T most = lanes[0];
  for (T lane : lanes) most = lane > most ? lane : most;
  return most;
}

template <class T>
T sum_exp(const T* x, T shift, int64_t n) {
  constexpr int64_t kN = Vec<T>::kLanes, kParts = kStrands<T> / kN;
  const Vec<T> s = Vec<T>::of(shift);
  Vec<T> part[kParts];
  for (auto& p : part) p = Vec<T>(0.0);
  int64_t i = 0;
  for (; i + kStrands<T> <= n; i += kStrands<T>)
    for (int64_t k = 0; k < kParts; ++k) part[k] = part[k] + math::exp(load(x + i + k * kN) - s);
  // What is missing is exp(-inf), and strands that get nothing stay as they are.
  T strands[kStrands<T>];
  for (int64_t k = 0; k < kParts; ++k) store(part[k], strands + k * kN);
  registers(x + i, n - i, static_cast<T>(-HUGE_VAL), [&](Vec<T> v, int64_t at) HWY_ATTR {
    store(load(strands + at) + math::exp(v - s), strands + at);
  });
  for (int64_t half = kStrands<T> / 2; half > 0; half /= 2)
    for (int64_t k = 0; k < half; ++k) strands[k] += strands[k + half];
  return strands[0];
}

template <class T>
void slope(const T* x, T shift, T scale, T less, T* out, int64_t n) {
  constexpr int64_t kN = Vec<T>::kLanes;
  const Vec<T> s = Vec<T>::of(shift), f = Vec<T>::of(scale), l = Vec<T>::of(less);
  for (; n >= kN; n -= kN, x += kN, out += kN) store(math::exp(load(x) - s) * f - l, out);
  if (n > 0) store_part(math::exp(load_part(x, n) - s) * f - l, out, n);
}

template <class T>
T log_one(T x) {
  T lanes[Vec<T>::kLanes];
  store(math::log(Vec<T>::of(x)), lanes);
  return lanes[0];
}

template <class T>
void tops(T* to, const T* x, int64_t n) {
  constexpr int64_t kN = Vec<T>::kLanes;
  for (; n >= kN; n -= kN, x += kN, to += kN) store(max(load(x), load(to)), to);
  if (n > 0) store_part(max(load_part(x, n), load_part(to, n)), to, n);
}

template <class T>
void add_exp(T* sum, const T* x, const T* shift, int64_t n) {
  constexpr int64_t kN = Vec<T>::kLanes;
  for (; n >= kN; n -= kN, x += kN, shift += kN, sum += kN)
    store(load(sum) + math::exp(load(x) - load(shift)), sum);
  if (n > 0)
    store_part(load_part(sum, n) + math::exp(load_part(x, n) - load_part(shift, n)), sum, n);
}

template <class T>
void logs(T* x, int64_t n) {
  constexpr int64_t kN = Vec<T>::kLanes;
  for (; n >= kN; n -= kN, x += kN) store(math::log(load(x)), x);
  if (n > 0) store_part(math::log(load_part(x, n)), x, n);
}

template <class T>
void slopes(const T* x, const T* shift, const T* scale, const T* less, T share, T* out, int64_t n) {
  constexpr int64_t kN = Vec<T>::kLanes;
  const Vec<T> s = Vec<T>::of(share);
  for (; n >= kN; n -= kN, x += kN, shift += kN, scale += kN, less += kN, out += kN)
    store(math::exp(load(x) - load(shift)) * load(scale) - load(less) * s, out);
  if (n > 0)
    store_part(math::exp(load_part(x, n) - load_part(shift, n)) * load_part(scale, n) -
                   load_part(less, n) * s,
               out, n);
}

template <class T>
HWY_INLINE Vec<T> binary_of(Vec<T> x, Vec<T> t) {
  const Vec<T> least(-100.0), one(1.0);
  return (t - one) * max(least, math::log1p(-x)) - t * max(least, math::log(x));
}

template <class T>
bool binary(const T* x, const T* t, T* out, int64_t n) {
  constexpr int64_t kN = Vec<T>::kLanes;
  const Vec<T> zero(0.0), one(1.0);
  Vec<T> bad = zero;
  for (; n >= kN; n -= kN, x += kN, t += kN, out += kN) {
    const Vec<T> v = load(x);
    bad = select((v >= zero) & (v <= one), bad, one);
    store(binary_of(v, load(t)), out);
  }
  if (n > 0) {
    const Vec<T> v = load_part(x, n);
    bad = select((v >= zero) & (v <= one), bad, one);
    store_part(binary_of(v, load_part(t, n)), out, n);
  }
  T lanes[kN];
  store(bad, lanes);
  for (T lane : lanes)
    if (lane != 0) return false;
  return true;
}

template <class T>
const CrossEntropyOps<T>* cross_entropy_table() {
  static constexpr CrossEntropyOps<T> kTable = {
      top<T>, sum_exp<T>, slope<T>, log_one<T>, tops<T>, add_exp<T>, logs<T>, slopes<T>, binary<T>};
  return &kTable;
}
const CrossEntropyOps<float>* cross_entropy_table_f32() { return cross_entropy_table<float>(); }
const CrossEntropyOps<double>* cross_entropy_table_f64() { return cross_entropy_table<double>(); }

}  // namespace HWY_NAMESPACE
}  // namespace tandem::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::kernels {

HWY_EXPORT(cross_entropy_table_f32);
HWY_EXPORT(cross_entropy_table_f64);

template <>
const CrossEntropyOps<float>& cross_entropy_ops<float>() {
  return *HWY_DYNAMIC_DISPATCH(cross_entropy_table_f32)();
}
template <>
const CrossEntropyOps<double>& cross_entropy_ops<double>() {
  return *HWY_DYNAMIC_DISPATCH(cross_entropy_table_f64)();
}

}  // namespace tandem::kernels
#endif
