#include "tandem/kernels/rnn_gates.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tandem/kernels/rnn_gates.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h comes first.
#include "tandem/kernels/simd/loops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::kernels {
namespace HWY_NAMESPACE {

// Whole registers, or the first `left` lanes of one.
template <class T>
struct WholeLanes {
  HWY_INLINE Vec<T> get(const T* p) const { return load(p); }
  HWY_INLINE void put(Vec<T> x, T* p) const { store(x, p); }
};
template <class T>
struct FirstLanes {
  int64_t left;
  HWY_INLINE Vec<T> get(const T* p) const { return load_part(p, left); }
  HWY_INLINE void put(Vec<T> x, T* p) const { store_part(x, p, left); }
};

// Calls f(lanes, i) for the elements i, i + 1, ... of a register's worth at a time.
template <class T, class F>
HWY_INLINE void each(int64_t n, const F& f) {
  constexpr int64_t kN = Vec<T>::kLanes;
  int64_t i = 0;
  for (; i + kN <= n; i += kN) f(WholeLanes<T>{}, i);
  if (i < n) f(FirstLanes<T>{n - i}, i);
}

template <class T>
void lstm(int64_t n, int64_t s, const T* gx, int64_t hs, const T* h, const T* c_before, T* gates,
          T* c, T* out) {
  each<T>(n, [=](auto lanes, int64_t i) HWY_ATTR {
    const Vec<T> in = math::sigmoid(lanes.get(gx + i) + lanes.get(h + i));
    const Vec<T> forget = math::sigmoid(lanes.get(gx + s + i) + lanes.get(h + hs + i));
    const Vec<T> cell = math::tanh(lanes.get(gx + 2 * s + i) + lanes.get(h + 2 * hs + i));
    const Vec<T> show = math::sigmoid(lanes.get(gx + 3 * s + i) + lanes.get(h + 3 * hs + i));
    const Vec<T> after = forget * lanes.get(c_before + i) + in * cell;
    lanes.put(in, gates + i);
    lanes.put(forget, gates + s + i);
    lanes.put(cell, gates + 2 * s + i);
    lanes.put(show, gates + 3 * s + i);
    lanes.put(after, c + i);
    lanes.put(show * math::tanh(after), out + i);
  });
}

template <class T>
void gru(int64_t n, int64_t s, const T* gx, int64_t hs, const T* h, const T* bias,
         const T* h_before, T* gates, T* out) {
  each<T>(n, [=](auto lanes, int64_t i) HWY_ATTR {
    Vec<T> hr = lanes.get(h + i), hz = lanes.get(h + hs + i), hn = lanes.get(h + 2 * hs + i);
    if (bias) {
      hr = hr + lanes.get(bias + i);
      hz = hz + lanes.get(bias + s + i);
      hn = hn + lanes.get(bias + 2 * s + i);
    }
    const Vec<T> reset = math::sigmoid(lanes.get(gx + i) + hr);
    const Vec<T> update = math::sigmoid(lanes.get(gx + s + i) + hz);
    const Vec<T> fresh = math::tanh(lanes.get(gx + 2 * s + i) + reset * hn);
    lanes.put(reset, gates + i);
    lanes.put(update, gates + s + i);
    lanes.put(fresh, gates + 2 * s + i);
    lanes.put(hn, gates + 3 * s + i);
    lanes.put((lanes.get(h_before + i) - fresh) * update + fresh, out + i);
  });
}

template <class T>
void plain_tanh(int64_t n, const T* gx, const T* h, T* out) {
  each<T>(n, [=](auto lanes, int64_t i) HWY_ATTR {
    lanes.put(math::tanh(lanes.get(gx + i) + lanes.get(h + i)), out + i);
  });
}

template <class T>
void plain_relu(int64_t n, const T* gx, const T* h, T* out) {
  // The order of the operands lets a nan through.
  each<T>(n, [=](auto lanes, int64_t i) HWY_ATTR {
    lanes.put(max(Vec<T>(0.0), lanes.get(gx + i) + lanes.get(h + i)), out + i);
  });
}

template <class T>
void lstm_backward(int64_t n, int64_t s, const T* gates, const T* c, const T* c_before,
                   const T* dh_, T* dc_, T* dgates) {
  each<T>(n, [=](auto lanes, int64_t i) HWY_ATTR {
    const Vec<T> one(1.0);
    const Vec<T> in = lanes.get(gates + i), forget = lanes.get(gates + s + i);
    const Vec<T> cell = lanes.get(gates + 2 * s + i), show = lanes.get(gates + 3 * s + i);
    const Vec<T> bent = math::tanh(lanes.get(c + i)), dh = lanes.get(dh_ + i);
    const Vec<T> dc = lanes.get(dc_ + i) + dh * show * (one - bent * bent);
    lanes.put(dc * cell * ((one - in) * in), dgates + i);
    lanes.put(dc * lanes.get(c_before + i) * ((one - forget) * forget), dgates + s + i);
    lanes.put(dc * in * (one - cell * cell), dgates + 2 * s + i);
    lanes.put(dh * bent * ((one - show) * show), dgates + 3 * s + i);
    lanes.put(dc * forget, dc_ + i);
  });
}

template <class T>
void gru_backward(int64_t n, int64_t s, const T* gates, const T* h_before, const T* dh_, T* dgates,
                  T* dnew, T* carry) {
  each<T>(n, [=](auto lanes, int64_t i) HWY_ATTR {
    const Vec<T> one(1.0);
    const Vec<T> reset = lanes.get(gates + i), update = lanes.get(gates + s + i);
    const Vec<T> fresh = lanes.get(gates + 2 * s + i), dh = lanes.get(dh_ + i);
    const Vec<T> dfresh = dh * (one - update) * (one - fresh * fresh);
    const Vec<T> dupdate = dh * (lanes.get(h_before + i) - fresh);
    const Vec<T> dreset = dfresh * lanes.get(gates + 3 * s + i);
    lanes.put(dreset * ((one - reset) * reset), dgates + i);
    lanes.put(dupdate * ((one - update) * update), dgates + s + i);
    lanes.put(dfresh, dgates + 2 * s + i);
    lanes.put(dfresh * reset, dnew + i);
    lanes.put(dh * update, carry + i);
  });
}

template <class T>
void tanh_backward(int64_t n, const T* y_, const T* dh, T* dgates) {
  each<T>(n, [=](auto lanes, int64_t i) HWY_ATTR {
    const Vec<T> y = lanes.get(y_ + i);
    lanes.put(lanes.get(dh + i) * (Vec<T>(1.0) - y * y), dgates + i);
  });
}

template <class T>
void relu_backward(int64_t n, const T* y, const T* dh, T* dgates) {
  each<T>(n, [=](auto lanes, int64_t i) HWY_ATTR {
    const Vec<T> zero(0.0);
    lanes.put(select(lanes.get(y + i) <= zero, zero, lanes.get(dh + i)), dgates + i);
  });
}

template <class T>
void lstm_state(int64_t n, const T* o, const T* c, T* out) {
  each<T>(n, [=](auto lanes, int64_t i)
                 HWY_ATTR { lanes.put(lanes.get(o + i) * math::tanh(lanes.get(c + i)), out + i); });
}

template <class T>
const GateOps<T>* gate_table() {
  static constexpr GateOps<T> kTable = {
      .lstm = lstm<T>,
      .gru = gru<T>,
      .tanh = plain_tanh<T>,
      .relu = plain_relu<T>,
      .lstm_backward = lstm_backward<T>,
      .gru_backward = gru_backward<T>,
      .tanh_backward = tanh_backward<T>,
      .relu_backward = relu_backward<T>,
      .lstm_state = lstm_state<T>,
  };
  return &kTable;
}
const GateOps<float>* gate_table_f32() { return gate_table<float>(); }
const GateOps<double>* gate_table_f64() { return gate_table<double>(); }

}  // namespace HWY_NAMESPACE
}  // namespace tandem::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::kernels {

HWY_EXPORT(gate_table_f32);
HWY_EXPORT(gate_table_f64);

template <>
const GateOps<float>& gate_ops<float>() {
  return *HWY_DYNAMIC_DISPATCH(gate_table_f32)();
}
template <>
const GateOps<double>& gate_ops<double>() {
  return *HWY_DYNAMIC_DISPATCH(gate_table_f64)();
}

}  // namespace tandem::kernels
#endif
