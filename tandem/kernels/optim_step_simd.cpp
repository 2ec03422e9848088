#include "tandem/kernels/optim_step_simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tandem/kernels/optim_step_simd.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h comes first.
#include "tandem/kernels/simd/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::kernels {
namespace HWY_NAMESPACE {

// The rules: from a gradient g, a parameter p and what is remembered, s, to the next p and s. The
// flags are the same for all elements, so that branches on them cost nothing.

template <class T>
struct Rule {
  using V = Vec<T>;
  explicit Rule(const StepNumbers& n)
      : rate(n.rate),
        decay(n.decay),
        shrink(n.shrink),
        beta1(n.beta1),
        rest1(n.rest1),
        beta2(n.beta2),
        rest2(n.rest2),
        eps(n.eps),
        correction(n.correction),
        flags(n) {}
  HWY_INLINE V decayed(V g, V p) const { return flags.decays ? g + decay * p : g; }
  V rate, decay, shrink, beta1, rest1, beta2, rest2, eps, correction;
  const StepNumbers& flags;
};

template <class T, int kState>
struct Sgd : Rule<T> {
  using Rule<T>::Rule;
  using V = Vec<T>;
  HWY_INLINE void operator()(V g, V& p, V* s) const {
    g = this->decayed(g, p);
    if constexpr (kState > 0) {
      s[0] = this->flags.first ? g : s[0] * this->beta1 + this->rest1 * g;
      g = this->flags.nesterov ? g + this->beta1 * s[0] : s[0];
    }
    p = p - this->rate * g;
  }
};

template <class T, int kState>
struct Adam : Rule<T> {
  using Rule<T>::Rule;
  using V = Vec<T>;
  HWY_INLINE void operator()(V g, V& p, V* s) const {
    if (this->flags.shrinks) p = p * this->shrink;
    g = this->decayed(g, p);
    s[0] = s[0] * this->beta1 + this->rest1 * g;
    s[1] = s[1] * this->beta2 + this->rest2 * g * g;
    V square = s[1];
    if constexpr (kState > 2) {
      // The larger one; nan if either is.
      s[2] = select((s[2] >= square) | (s[2] != s[2]), s[2], square);
      square = s[2];
    }
    p = p - this->rate * s[0] / (sqrt(square) / this->correction + this->eps);
  }
};

template <class T, int kState>
struct RmsProp : Rule<T> {
  using Rule<T>::Rule;
  using V = Vec<T>;
  HWY_INLINE void operator()(V g, V& p, V* s) const {
    g = this->decayed(g, p);
    s[0] = s[0] * this->beta2 + this->rest2 * g * g;
    V square = s[0];
    if constexpr (kState > 1) {
      if (this->flags.averages) {
        s[1] = s[1] * this->beta2 + this->rest2 * g;
        square = square - s[1] * s[1];
      }
    }
    const V scale = sqrt(square) + this->eps;
    if constexpr (kState > 1) {
      if (this->flags.momentum) {
        s[kState - 1] = s[kState - 1] * this->beta1 + g / scale;
        p = p - this->rate * s[kState - 1];
        return;
      }
    }
    p = p - this->rate * g / scale;
  }
};

template <class T, int kState>
struct AdaGrad : Rule<T> {
  using Rule<T>::Rule;
  using V = Vec<T>;
  HWY_INLINE void operator()(V g, V& p, V* s) const {
    g = this->decayed(g, p);
    s[0] = s[0] + g * g;
    p = p - this->rate * g / (sqrt(s[0]) + this->eps);
  }
};

template <class T, int kState>
struct Lion : Rule<T> {
  using Rule<T>::Rule;
  using V = Vec<T>;
  HWY_INLINE void operator()(V g, V& p, V* s) const {
    const V update = s[0] * this->beta1 + this->rest1 * g;
    const V zero(0.0), one(1.0);
    // The sign; 0 and nan stay what they are.
    const V sign = select(update > zero, one, select(update < zero, -one, update));
    if (this->flags.shrinks) p = p * this->shrink;
    p = p - this->rate * sign;
    s[0] = s[0] * this->beta2 + this->rest2 * g;
  }
};

template <template <class, int> class R, class T, int kState>
void loop(const StepStreams<T>& at, int64_t n, const StepNumbers& numbers) {
  using V = Vec<T>;
  constexpr int64_t kN = V::kLanes;
  const R<T, kState> rule(numbers);
  V s[kMaxStepState];
  int64_t i = 0;
  for (; i + kN <= n; i += kN) {
    V p = load(at.param + i);
    for (int k = 0; k < kState; ++k) s[k] = load(at.state[k] + i);
    rule(load(at.grad + i), p, s);
    store(p, at.param_out + i);
    for (int k = 0; k < kState; ++k) store(s[k], at.state_out[k] + i);
  }
  if (i == n) return;
  V p = load_part(at.param + i, n - i);
  for (int k = 0; k < kState; ++k) s[k] = load_part(at.state[k] + i, n - i);
  rule(load_part(at.grad + i, n - i), p, s);
  store_part(p, at.param_out + i, n - i);
  for (int k = 0; k < kState; ++k) store_part(s[k], at.state_out[k] + i, n - i);
}

template <class T>
StepLoop<T> find_loop(StepRule rule, int n_state) {
  switch (rule) {
    case StepRule::sgd:
      return n_state == 0 ? loop<Sgd, T, 0> : loop<Sgd, T, 1>;
    case StepRule::adam:
      return n_state == 2 ? loop<Adam, T, 2> : loop<Adam, T, 3>;
    case StepRule::rmsprop:
      return n_state == 1   ? loop<RmsProp, T, 1>
             : n_state == 2 ? loop<RmsProp, T, 2>
                            : loop<RmsProp, T, 3>;
    case StepRule::adagrad:
      return loop<AdaGrad, T, 1>;
    case StepRule::lion:
      break;
  }
  return loop<Lion, T, 1>;
}
StepLoop<float> find_loop_f32(StepRule rule, int n) { return find_loop<float>(rule, n); }
StepLoop<double> find_loop_f64(StepRule rule, int n) { return find_loop<double>(rule, n); }

}  // namespace HWY_NAMESPACE
}  // namespace tandem::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::kernels {

HWY_EXPORT(find_loop_f32);
HWY_EXPORT(find_loop_f64);

template <>
StepLoop<float> step_loop<float>(StepRule rule, int n_state) {
  return HWY_DYNAMIC_DISPATCH(find_loop_f32)(rule, n_state);
}
template <>
StepLoop<double> step_loop<double>(StepRule rule, int n_state) {
  return HWY_DYNAMIC_DISPATCH(find_loop_f64)(rule, n_state);
}

}  // namespace tandem::kernels
#endif
