#include "tandem/kernels/reduce_softmax_simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tandem/kernels/reduce_softmax_simd.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h comes first.
#include "tandem/kernels/simd/loops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::kernels {
namespace HWY_NAMESPACE {

template <class T, class F>
HWY_INLINE void each(const T* x, T* out, int64_t n, const F& f) {
  constexpr int64_t kN = Vec<T>::kLanes;
  for (; n >= kN; n -= kN, x += kN, out += kN) store(f(load(x)), out);
  if (n > 0) store_part(f(load_part(x, n)), out, n);
}

template <class T>
void exp_shifted(const T* x, T shift, T* out, int64_t n) {
  const Vec<T> s = Vec<T>::of(shift);
  each(x, out, n, [s](Vec<T> v) HWY_ATTR { return math::exp(v - s); });
}
template <class T>
void divide(const T* x, T by, T* out, int64_t n) {
  const Vec<T> b = Vec<T>::of(by);
  each(x, out, n, [b](Vec<T> v) HWY_ATTR { return v / b; });
}
template <class T>
void subtract(const T* x, T shift, T by, T* out, int64_t n) {
  const Vec<T> s = Vec<T>::of(shift), b = Vec<T>::of(by);
  each(x, out, n, [s, b](Vec<T> v) HWY_ATTR { return v - s - b; });
}
template <class T>
T log_one(T x) {
  T lanes[Vec<T>::kLanes];
  store(math::log(Vec<T>::of(x)), lanes);
  return lanes[0];
}

template <class T>
const SoftmaxOps<T>* softmax_table() {
  static constexpr SoftmaxOps<T> kTable = {exp_shifted<T>, divide<T>, subtract<T>, log_one<T>};
  return &kTable;
}
const SoftmaxOps<float>* softmax_table_f32() { return softmax_table<float>(); }
const SoftmaxOps<double>* softmax_table_f64() { return softmax_table<double>(); }

}  // namespace HWY_NAMESPACE
}  // namespace tandem::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::kernels {

HWY_EXPORT(softmax_table_f32);
HWY_EXPORT(softmax_table_f64);

template <>
const SoftmaxOps<float>& softmax_ops<float>() {
  return *HWY_DYNAMIC_DISPATCH(softmax_table_f32)();
}
template <>
const SoftmaxOps<double>& softmax_ops<double>() {
  return *HWY_DYNAMIC_DISPATCH(softmax_table_f64)();
}

}  // namespace tandem::kernels
#endif
