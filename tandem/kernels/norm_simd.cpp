#include "tandem/kernels/norm_simd.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tandem/kernels/norm_simd.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h comes first.
#include "tandem/kernels/simd/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::kernels {
namespace HWY_NAMESPACE {

// The strands of one parameter or sum in registers.
template <class T>
struct Strands {
  static constexpr int64_t kN = Vec<T>::kLanes;
  static constexpr int64_t kCount = kNormStrands<T> / kN;
  Vec<T> v[kCount];
  HWY_INLINE explicit Strands(const T* p) {
    for (int64_t k = 0; k < kCount; ++k) v[k] = load(p + k * kN);
  }
  HWY_INLINE void put(T* p) const {
    for (int64_t k = 0; k < kCount; ++k) store(v[k], p + k * kN);
  }
};

// Calls f(k, i) for register k of the strands at element i, for whole rounds of strands; the rest
// of the run is for the caller.
template <class T, class F>
HWY_INLINE int64_t rounds(int64_t n, const F& f) {
  constexpr int64_t kS = kNormStrands<T>, kN = Vec<T>::kLanes;
  int64_t i = 0;
  for (; i + kS <= n; i += kS)
    for (int64_t k = 0; k < kS / kN; ++k) f(k, i + k * kN);
  return i;
}
// Calls whole(i) for whole registers and part(i, count) for what is left.
template <class T, class W, class P>
HWY_INLINE void registers(int64_t n, const W& whole, const P& part) {
  constexpr int64_t kN = Vec<T>::kLanes;
  int64_t i = 0;
  for (; i + kN <= n; i += kN) whole(i);
  if (i < n) part(i, n - i);
}

template <class T>
void moments(const T* x, int64_t n, const T* shift, T* sum, T* squares) {
  const Strands<T> m(shift);
  Strands<T> a(sum), q(squares);
  int64_t i = rounds<T>(n, [&](int64_t k, int64_t at) HWY_ATTR {
    const Vec<T> d = load(x + at) - m.v[k];
    a.v[k] = a.v[k] + d;
    q.v[k] = q.v[k] + d * d;
  });
  a.put(sum);
  q.put(squares);
  for (int64_t k = 0; i < n; ++i, ++k) {
    const T d = x[i] - shift[k];
    sum[k] += d;
    squares[k] += d * d;
  }
}

template <class T>
void moments_row(const T* x, int64_t n, const T* shift, T* sum, T* squares) {
  registers<T>(
      n,
      [&](int64_t i) HWY_ATTR {
        const Vec<T> d = load(x + i) - load(shift + i);
        store(load(sum + i) + d, sum + i);
        store(load(squares + i) + d * d, squares + i);
      },
      [&](int64_t i, int64_t c) HWY_ATTR {
        const Vec<T> d = load_part(x + i, c) - load_part(shift + i, c);
        store_part(load_part(sum + i, c) + d, sum + i, c);
        store_part(load_part(squares + i, c) + d * d, squares + i, c);
      });
}

template <class T>
void sums(const T* g, const T* x, int64_t n, const T* shift, T* sum, T* product) {
  const Strands<T> m(shift);
  Strands<T> a(sum), q(product);
  int64_t i = rounds<T>(n, [&](int64_t k, int64_t at) HWY_ATTR {
    const Vec<T> v = load(g + at);
    a.v[k] = a.v[k] + v;
    q.v[k] = q.v[k] + v * (load(x + at) - m.v[k]);
  });
  a.put(sum);
  q.put(product);
  for (int64_t k = 0; i < n; ++i, ++k) {
    sum[k] += g[i];
    product[k] += g[i] * (x[i] - shift[k]);
  }
}

template <class T>
void sums_row(const T* g, const T* x, int64_t n, const T* shift, T* sum, T* product) {
  registers<T>(
      n,
      [&](int64_t i) HWY_ATTR {
        const Vec<T> v = load(g + i);
        store(load(sum + i) + v, sum + i);
        store(load(product + i) + v * (load(x + i) - load(shift + i)), product + i);
      },
      [&](int64_t i, int64_t c) HWY_ATTR {
        const Vec<T> v = load_part(g + i, c);
        store_part(load_part(sum + i, c) + v, sum + i, c);
        store_part(load_part(product + i, c) + v * (load_part(x + i, c) - load_part(shift + i, c)),
                   product + i, c);
      });
}

template <class T>
void gated_sums(const T* g, const T* x, int64_t n, const T* shift, const T* scale, const T* weight,
                const T* bias, T* sum, T* product) {
  const Strands<T> m(shift), s(scale), w(weight), b(bias);
  Strands<T> a(sum), q(product);
  int64_t i = rounds<T>(n, [&](int64_t k, int64_t at) HWY_ATTR {
    const Vec<T> d = load(x + at) - m.v[k];
    const Vec<T> v = select(d * s.v[k] * w.v[k] + b.v[k] > Vec<T>(0.0), load(g + at), Vec<T>(0.0));
    a.v[k] = a.v[k] + v;
    q.v[k] = q.v[k] + v * d;
  });
  a.put(sum);
  q.put(product);
  for (int64_t k = 0; i < n; ++i, ++k) {
    const T d = x[i] - shift[k];
    if (!(d * scale[k] * weight[k] + bias[k] > 0)) continue;
    sum[k] += g[i];
    product[k] += g[i] * d;
  }
}

template <class T>
void gated_sums_row(const T* g, const T* x, int64_t n, const T* shift, const T* scale,
                    const T* weight, const T* bias, T* sum, T* product) {
  const auto gated = [](Vec<T> v, Vec<T> y)
                         HWY_ATTR { return select(y > Vec<T>(0.0), v, Vec<T>(0.0)); };
  registers<T>(
      n,
      [&](int64_t i) HWY_ATTR {
        const Vec<T> d = load(x + i) - load(shift + i);
        const Vec<T> v =
            gated(load(g + i), d * load(scale + i) * load(weight + i) + load(bias + i));
        store(load(sum + i) + v, sum + i);
        store(load(product + i) + v * d, product + i);
      },
      [&](int64_t i, int64_t c) HWY_ATTR {
        const Vec<T> d = load_part(x + i, c) - load_part(shift + i, c);
        const Vec<T> v =
            gated(load_part(g + i, c),
                  d * load_part(scale + i, c) * load_part(weight + i, c) + load_part(bias + i, c));
        store_part(load_part(sum + i, c) + v, sum + i, c);
        store_part(load_part(product + i, c) + v * d, product + i, c);
      });
}

template <class T>
void normalize(const T* x, int64_t n, const T* shift, const T* scale, const T* weight,
               const T* bias, T* out) {
  const Strands<T> m(shift), s(scale), w(weight), b(bias);
  int64_t i = rounds<T>(n, [&](int64_t k, int64_t at) HWY_ATTR {
    store((load(x + at) - m.v[k]) * s.v[k] * w.v[k] + b.v[k], out + at);
  });
  for (int64_t k = 0; i < n; ++i, ++k) out[i] = (x[i] - shift[k]) * scale[k] * weight[k] + bias[k];
}

template <class T>
void normalize_row(const T* x, int64_t n, const T* shift, const T* scale, const T* weight,
                   const T* bias, T* out) {
  registers<T>(
      n,
      [&](int64_t i) HWY_ATTR {
        store((load(x + i) - load(shift + i)) * load(scale + i) * load(weight + i) + load(bias + i),
              out + i);
      },
      [&](int64_t i, int64_t c) HWY_ATTR {
        store_part((load_part(x + i, c) - load_part(shift + i, c)) * load_part(scale + i, c) *
                           load_part(weight + i, c) +
                       load_part(bias + i, c),
                   out + i, c);
      });
}

template <class T>
void grad(const T* g, const T* x, int64_t n, const T* shift, const T* weight, const T* a,
          const T* b, const T* scale, T* out) {
  const Strands<T> m(shift), w(weight), first(a), second(b), s(scale);
  int64_t i = rounds<T>(n, [&](int64_t k, int64_t at) HWY_ATTR {
    store(((load(g + at) * w.v[k] - first.v[k]) - (load(x + at) - m.v[k]) * second.v[k]) * s.v[k],
          out + at);
  });
  for (int64_t k = 0; i < n; ++i, ++k)
    out[i] = ((g[i] * weight[k] - a[k]) - (x[i] - shift[k]) * b[k]) * scale[k];
}

template <class T>
void grad_row(const T* g, const T* x, int64_t n, const T* shift, const T* weight, const T* a,
              const T* b, const T* scale, T* out) {
  registers<T>(
      n,
      [&](int64_t i) HWY_ATTR {
        store(((load(g + i) * load(weight + i) - load(a + i)) -
               (load(x + i) - load(shift + i)) * load(b + i)) *
                  load(scale + i),
              out + i);
      },
      [&](int64_t i, int64_t c) HWY_ATTR {
        store_part(((load_part(g + i, c) * load_part(weight + i, c) - load_part(a + i, c)) -
                    (load_part(x + i, c) - load_part(shift + i, c)) * load_part(b + i, c)) *
                       load_part(scale + i, c),
                   out + i, c);
      });
}

template <class T>
void affine(const T* x, int64_t n, T shift, T rstd, const T* weight, const T* bias, T* out) {
  const Vec<T> m = Vec<T>::of(shift), s = Vec<T>::of(rstd);
  registers<T>(
      n,
      [&](int64_t i)
          HWY_ATTR { store((load(x + i) - m) * s * load(weight + i) + load(bias + i), out + i); },
      [&](int64_t i, int64_t c) HWY_ATTR {
        store_part(
            (load_part(x + i, c) - m) * s * load_part(weight + i, c) + load_part(bias + i, c),
            out + i, c);
      });
}

template <class T>
void centre(const T* x, const T* h, int64_t n, T shift, T rstd, T* d, T* product) {
  const Vec<T> m = Vec<T>::of(shift), s = Vec<T>::of(rstd);
  registers<T>(
      n,
      [&](int64_t i) HWY_ATTR {
        const Vec<T> v = (load(x + i) - m) * s;
        store(v, d + i);
        store(load(h + i) * v, product + i);
      },
      [&](int64_t i, int64_t c) HWY_ATTR {
        const Vec<T> v = (load_part(x + i, c) - m) * s;
        store_part(v, d + i, c);
        store_part(load_part(h + i, c) * v, product + i, c);
      });
}

template <class T>
void multiply(const T* g, const T* weight, int64_t n, T* out) {
  registers<T>(
      n, [&](int64_t i) HWY_ATTR { store(load(g + i) * load(weight + i), out + i); },
      [&](int64_t i, int64_t c)
          HWY_ATTR { store_part(load_part(g + i, c) * load_part(weight + i, c), out + i, c); });
}

template <class T>
void combine(const T* h, const T* d, int64_t n, T a, T b, T rstd, T* out) {
  const Vec<T> first = Vec<T>::of(a), second = Vec<T>::of(b), s = Vec<T>::of(rstd);
  registers<T>(
      n,
      [&](int64_t i)
          HWY_ATTR { store(((load(h + i) - first) - load(d + i) * second) * s, out + i); },
      [&](int64_t i, int64_t c) HWY_ATTR {
        store_part(((load_part(h + i, c) - first) - load_part(d + i, c) * second) * s, out + i, c);
      });
}

template <class T>
void param_row(const T* g, const T* x, int64_t n, T shift, T rstd, T* weight_grad, T* bias_grad) {
  const Vec<T> m = Vec<T>::of(shift), s = Vec<T>::of(rstd);
  registers<T>(
      n,
      [&](int64_t i) HWY_ATTR {
        const Vec<T> v = load(g + i);
        store(load(weight_grad + i) + v * ((load(x + i) - m) * s), weight_grad + i);
        store(load(bias_grad + i) + v, bias_grad + i);
      },
      [&](int64_t i, int64_t c) HWY_ATTR {
        const Vec<T> v = load_part(g + i, c);
        store_part(load_part(weight_grad + i, c) + v * ((load_part(x + i, c) - m) * s),
                   weight_grad + i, c);
        store_part(load_part(bias_grad + i, c) + v, bias_grad + i, c);
      });
}

template <class T>
const NormOps<T>* norm_table() {
  static constexpr NormOps<T> kTable = {
      moments<T>,        moments_row<T>, sums<T>,          sums_row<T>, gated_sums<T>,
      gated_sums_row<T>, normalize<T>,   normalize_row<T>, grad<T>,     grad_row<T>,
      affine<T>,         centre<T>,      multiply<T>,      combine<T>,  param_row<T>};
  return &kTable;
}
const NormOps<float>* norm_table_f32() { return norm_table<float>(); }
const NormOps<double>* norm_table_f64() { return norm_table<double>(); }

}  // namespace HWY_NAMESPACE
}  // namespace tandem::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::kernels {

HWY_EXPORT(norm_table_f32);
HWY_EXPORT(norm_table_f64);

template <>
const NormOps<float>& norm_ops<float>() {
  return *HWY_DYNAMIC_DISPATCH(norm_table_f32)();
}
template <>
const NormOps<double>& norm_ops<double>() {
  return *HWY_DYNAMIC_DISPATCH(norm_table_f64)();
}

}  // namespace tandem::kernels
#endif
