#include "tandem/kernels/ctc_simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tandem/kernels/ctc_simd.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h comes first.
#include "tandem/kernels/simd/loops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::kernels {
namespace HWY_NAMESPACE {

// log(exp(a) + exp(b) + exp(c)); -inf if all are.
template <class T>
HWY_INLINE Vec<T> log_sum(Vec<T> a, Vec<T> b, Vec<T> c) {
  const Vec<T> none(-HUGE_VAL), top = max(max(a, b), c);
  const Vec<T> shift = select(top == none, Vec<T>(0.0), top);
  return math::log(math::exp(a - shift) + math::exp(b - shift) + math::exp(c - shift)) + shift;
}

template <class T>
void forward(const T* from, const T* skip, const T* emit, T* to, int64_t n) {
  for (int64_t s = 0; s < n; s += Vec<T>::kLanes) {
    const Vec<T> sum =
        log_sum(load(from + s), load(from + s - 1), load(from + s - 2) + load(skip + s));
    store(sum + load(emit + s), to + s);
  }
}

template <class T>
void backward(const T* from, const T* skip, const T* emit, const T* alpha, T loss, T* to, T* share,
              int64_t n) {
  const Vec<T> l = Vec<T>::of(loss);
  for (int64_t s = 0; s < n; s += Vec<T>::kLanes) {
    const Vec<T> sum =
        log_sum(load(from + s), load(from + s + 1), load(from + s + 2) + load(skip + s + 2));
    store(math::exp(load(alpha + s) + sum + l), share + s);
    store(sum + load(emit + s), to + s);
  }
}

template <class T>
void exp_minus(const T* x, const T* share, T* out, int64_t n) {
  constexpr int64_t kN = Vec<T>::kLanes;
  for (; n >= kN; n -= kN, x += kN, share += kN, out += kN)
    store(math::exp(load(x)) - load(share), out);
  if (n > 0) store_part(math::exp(load_part(x, n)) - load_part(share, n), out, n);
}

template <class T>
const CtcOps<T>* ctc_table() {
  static_assert(kCtcLanes % Vec<T>::kLanes == 0);
  static constexpr CtcOps<T> kTable = {forward<T>, backward<T>, exp_minus<T>};
  return &kTable;
}
const CtcOps<float>* ctc_table_f32() { return ctc_table<float>(); }
const CtcOps<double>* ctc_table_f64() { return ctc_table<double>(); }

}  // namespace HWY_NAMESPACE
}  // namespace tandem::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::kernels {

HWY_EXPORT(ctc_table_f32);
HWY_EXPORT(ctc_table_f64);

template <>
const CtcOps<float>& ctc_ops<float>() {
  return *HWY_DYNAMIC_DISPATCH(ctc_table_f32)();
}
template <>
const CtcOps<double>& ctc_ops<double>() {
  return *HWY_DYNAMIC_DISPATCH(ctc_table_f64)();
}

}  // namespace tandem::kernels
#endif
