#include "tandem/kernels/attention_simd.h"

#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tandem/kernels/attention_simd.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h comes first.
#include "tandem/kernels/simd/loops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::kernels {
namespace HWY_NAMESPACE {
namespace attention_detail {

template <class T>
constexpr int64_t kN = Vec<T>::kLanes;

template <class T, class F>
HWY_INLINE T fold(Vec<T> v, const F& f) {
  T lanes[kN<T>];
  store(v, lanes);
  for (int64_t width = kN<T> / 2; width > 0; width /= 2)
    for (int64_t i = 0; i < width; ++i) lanes[i] = f(lanes[i], lanes[i + width]);
  return lanes[0];
}
template <class T>
HWY_INLINE T sum_of(Vec<T> v) {
  return fold(v, [](T a, T b) { return a + b; });
}

template <class T>
T greatest(const T* x, int64_t n) {
  // max gives its second operand where either is NaN.
  Vec<T> top = Vec<T>::of(-std::numeric_limits<T>::infinity()), other = top;
  for (; n >= 2 * kN<T>; n -= 2 * kN<T>, x += 2 * kN<T>) {
    top = max(load(x), top);
    other = max(load(x + kN<T>), other);
  }
  top = max(top, other);
  T best = fold(top, [](T a, T b) { return b > a ? b : a; });
  for (int64_t i = 0; i < n; ++i)
    if (x[i] > best) best = x[i];
  return best;
}

template <class T>
T exp_sum(T* x, T shift, int64_t n) {
  const Vec<T> s = Vec<T>::of(shift);
  Vec<T> even(0.0), odd(0.0);
  for (; n >= 2 * kN<T>; n -= 2 * kN<T>, x += 2 * kN<T>) {
    const Vec<T> a = math::exp(load(x) - s), b = math::exp(load(x + kN<T>) - s);
    store(a, x);
    store(b, x + kN<T>);
    even = even + a;
    odd = odd + b;
  }
  if (n >= kN<T>) {
    const Vec<T> a = math::exp(load(x) - s);
    store(a, x);
    even = even + a;
    n -= kN<T>;
    x += kN<T>;
  }
  T sum = sum_of(even + odd);
  if (n > 0) {
    T rest[kN<T>];
    store(math::exp(load_part(x, n) - s), rest);
    for (int64_t i = 0; i < n; ++i) sum += x[i] = rest[i];
  }
  return sum;
}

template <class T>
void add(T* x, const T* y, int64_t n) {
  for (; n >= kN<T>; n -= kN<T>, x += kN<T>, y += kN<T>) store(load(x) + load(y), x);
  for (int64_t i = 0; i < n; ++i) x[i] += y[i];
}

template <class T>
void mask(T* x, const uint8_t* keep, int64_t n) {
  const Vec<T> none = Vec<T>::of(-std::numeric_limits<T>::infinity());
  for (; n >= kN<T>; n -= kN<T>, x += kN<T>, keep += kN<T>)
    store(select(load_mask<T>(keep), load(x), none), x);
  for (int64_t i = 0; i < n; ++i)
    if (!keep[i]) x[i] = -std::numeric_limits<T>::infinity();
}

template <class T>
void scale(T* x, T by, int64_t n) {
  const Vec<T> b = Vec<T>::of(by);
  for (; n >= kN<T>; n -= kN<T>, x += kN<T>) store(load(x) * b, x);
  for (int64_t i = 0; i < n; ++i) x[i] *= by;
}

template <class T>
void drop(const T* x, const uint32_t* words, uint64_t limit, T by, T* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = words[i] < limit ? x[i] * by : T(0);
}

template <class T>
void score_grad(const T* p, T shift, T* g, int64_t n) {
  const Vec<T> s = Vec<T>::of(shift);
  for (; n >= kN<T>; n -= kN<T>, p += kN<T>, g += kN<T>) store(load(p) * (load(g) - s), g);
  for (int64_t i = 0; i < n; ++i) g[i] = p[i] * (g[i] - shift);
}

template <class T>
T dot(const T* x, const T* y, int64_t n) {
  Vec<T> even(0.0), odd(0.0);
  for (; n >= 2 * kN<T>; n -= 2 * kN<T>, x += 2 * kN<T>, y += 2 * kN<T>) {
    even = fma(load(x), load(y), even);
    odd = fma(load(x + kN<T>), load(y + kN<T>), odd);
  }
  T sum = sum_of(even + odd);
  for (int64_t i = 0; i < n; ++i) sum += x[i] * y[i];
  return sum;
}

template <class T>
const AttentionOps<T>* table() {
  static constexpr AttentionOps<T> kTable = {greatest<T>, exp_sum<T>, add<T>,        mask<T>,
                                             scale<T>,    drop<T>,    score_grad<T>, dot<T>};
  return &kTable;
}

}  // namespace attention_detail

const AttentionOps<float>* attention_table_f32() { return attention_detail::table<float>(); }
const AttentionOps<double>* attention_table_f64() { return attention_detail::table<double>(); }

}  // namespace HWY_NAMESPACE
}  // namespace tandem::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::kernels {

HWY_EXPORT(attention_table_f32);
HWY_EXPORT(attention_table_f64);

template <>
const AttentionOps<float>& attention_ops<float>() {
  return *HWY_DYNAMIC_DISPATCH(attention_table_f32)();
}
template <>
const AttentionOps<double>& attention_ops<double>() {
  return *HWY_DYNAMIC_DISPATCH(attention_table_f64)();
}

}  // namespace tandem::kernels
#endif
