#include "tandem/kernels/pool_simd.h"

#include <cstring>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tandem/kernels/pool_simd.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h comes first.
#include "tandem/kernels/simd/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::kernels {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class C>
HWY_INLINE void take_greater(Vec<C> v, Vec<C> n, Vec<C>& best, Vec<C>& number) {
  const auto take = (v > best) | (v != v);
  best = select(take, v, best);
  number = select(take, n, number);
}

template <class C>
void max_taps(const C* const* taps, const C* numbers, int64_t n_taps, int64_t n, C* best,
              C* number) {
  constexpr int64_t kN = Vec<C>::kLanes;
  const Vec<C> least = Vec<C>::of(-std::numeric_limits<C>::infinity());
  int64_t i = 0;
  for (; i + kN <= n; i += kN) {
    Vec<C> b = least, at = load(number + i);
    for (int64_t t = 0; t < n_taps; ++t)
      take_greater(load(taps[t] + i), Vec<C>::of(numbers[t]), b, at);
    store(b, best + i);
    store(at, number + i);
  }
  if (i == n) return;
  Vec<C> b = least, at = load_part(number + i, n - i);
  for (int64_t t = 0; t < n_taps; ++t)
    take_greater(load_part(taps[t] + i, n - i), Vec<C>::of(numbers[t]), b, at);
  store_part(b, best + i, n - i);
  store_part(at, number + i, n - i);
}

template <class C>
void average_taps(const C* const* taps, int64_t n_taps, int64_t n, const C* divisor, C* out) {
  constexpr int64_t kN = Vec<C>::kLanes;
  int64_t i = 0;
  for (; i + kN <= n; i += kN) {
    Vec<C> sum = Vec<C>::of(0);
    for (int64_t t = 0; t < n_taps; ++t) sum = sum + load(taps[t] + i);
    store(sum / load(divisor + i), out + i);
  }
  if (i == n) return;
  Vec<C> sum = Vec<C>::of(0);
  for (int64_t t = 0; t < n_taps; ++t) sum = sum + load_part(taps[t] + i, n - i);
  store_part(sum / load_part(divisor + i, n - i), out + i, n - i);
}

template <class C>
void max_pairs(const C* const* rows, const C* numbers, int64_t n_rows, int64_t n, C* best,
               C* number) {
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  constexpr int64_t kN = Vec<C>::kLanes;
  for (; i + kN <= n; i += kN) {
    Vec<C> b = Vec<C>::of(-std::numeric_limits<C>::infinity()), at = load(number + i);
    for (int64_t r = 0; r < n_rows; ++r) {
      hn::Vec<Tag<C> > left, right;
      hn::LoadInterleaved2(Tag<C>(), rows[r] + 2 * i, left, right);
      take_greater(Vec<C>(left), Vec<C>::of(numbers[2 * r]), b, at);
      take_greater(Vec<C>(right), Vec<C>::of(numbers[2 * r + 1]), b, at);
    }
    store(b, best + i);
    store(at, number + i);
  }
#endif
  for (; i < n; ++i) {
    C b = -std::numeric_limits<C>::infinity(), at = number[i];
    for (int64_t t = 0; t < 2 * n_rows; ++t) {
      const C v = rows[t / 2][2 * i + t % 2];
      if (v > b || v != v) {
        b = v;
        at = numbers[t];
      }
    }
    best[i] = b;
    number[i] = at;
  }
}

template <class C>
void average_pairs(const C* const* rows, int64_t n_rows, int64_t n, const C* divisor, C* out) {
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  constexpr int64_t kN = Vec<C>::kLanes;
  for (; i + kN <= n; i += kN) {
    Vec<C> sum = Vec<C>::of(0);
    for (int64_t r = 0; r < n_rows; ++r) {
      hn::Vec<Tag<C> > left, right;
      hn::LoadInterleaved2(Tag<C>(), rows[r] + 2 * i, left, right);
      sum = sum + Vec<C>(left) + Vec<C>(right);
    }
    store(sum / load(divisor + i), out + i);
  }
#endif
  for (; i < n; ++i) {
    C sum = 0;
    for (int64_t r = 0; r < n_rows; ++r) sum = sum + rows[r][2 * i] + rows[r][2 * i + 1];
    out[i] = sum / divisor[i];
  }
}

template <class C>
void spread_taps(C* const* taps, int64_t n_taps, int64_t n, const C* g, const C* divisor) {
  constexpr int64_t kN = Vec<C>::kLanes;
  int64_t i = 0;
  for (; i + kN <= n; i += kN) {
    const Vec<C> share = load(g + i) / load(divisor + i);
    for (int64_t t = 0; t < n_taps; ++t) store(load(taps[t] + i) + share, taps[t] + i);
  }
  if (i == n) return;
  const Vec<C> share = load_part(g + i, n - i) / load_part(divisor + i, n - i);
  for (int64_t t = 0; t < n_taps; ++t)
    store_part(load_part(taps[t] + i, n - i) + share, taps[t] + i, n - i);
}

template <class C>
void pick(const C* x, int64_t stride, int64_t n, C* out) {
  if (stride == 1) {
    memcpy(out, x, static_cast<size_t>(n) * sizeof(C));
    return;
  }
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  constexpr int64_t kN = Vec<C>::kLanes;
  // The last element's neighbour may lie outside.
  if (stride == 2)
    for (; i + kN < n; i += kN) {
      hn::Vec<Tag<C> > even, odd;
      hn::LoadInterleaved2(Tag<C>(), x + 2 * i, even, odd);
      store(Vec<C>(even), out + i);
    }
#endif
  for (; i < n; ++i) out[i] = x[i * stride];
}

// Calls f(tag, c) for the channels from c on that a register of that tag holds. Blocks of channels
// fill registers without a mask: a masked load waits for masked stores beside it, as if they
// overlapped.
template <class C, class F>
HWY_INLINE void each_block(int64_t inner, const F& f) {
  const hn::CappedTag<C, 8> block;
  constexpr int64_t kN = static_cast<int64_t>(hn::MaxLanes(hn::CappedTag<C, 8>()));
  int64_t c = 0;
  for (; c + kN <= inner; c += kN) f(block, c);
  for (; c < inner; ++c) f(hn::CappedTag<C, 1>(), c);
}

template <class D, class V>
HWY_INLINE void take_greater(D d, V v, hn::TFromD<D> n, V& best, V& number) {
  // Highway's Ne is false for nans with AVX-512.
  const auto take = hn::Or(hn::Gt(v, best), hn::Not(hn::Eq(v, v)));
  best = hn::IfThenElse(take, v, best);
  number = hn::IfThenElse(take, hn::Set(d, n), number);
}

template <class C>
void max_run(const C* x, int64_t step, int64_t n, int64_t inner, C first_number, C* best,
             C* number) {
  if (inner == 1) {
    C b = *best, at = *number;
    for (int64_t i = 0; i < n; ++i) {
      const C v = x[i * step];
      if (v > b || v != v) {
        b = v;
        at = first_number + static_cast<C>(i);
      }
    }
    *best = b;
    *number = at;
    return;
  }
  each_block<C>(inner, [&](auto d, int64_t c) HWY_ATTR {
    auto b = hn::LoadU(d, best + c), at = hn::LoadU(d, number + c);
    for (int64_t i = 0; i < n; ++i)
      take_greater(d, hn::LoadU(d, x + i * step + c), first_number + static_cast<C>(i), b, at);
    hn::StoreU(b, d, best + c);
    hn::StoreU(at, d, number + c);
  });
}

// Calls f(offset in x, number) for each element of a window, whose first is at offset `at`.
template <class C, class F>
HWY_INLINE void each_element(const WindowRow& w, int64_t at, C first_number, C row_number,
                             const F& f) {
  for (int64_t r = 0; r < w.rows; ++r) {
    C number = first_number + static_cast<C>(r) * row_number;
    for (int64_t i = 0; i < w.n; ++i, number += 1) f(at + r * w.row_step + i * w.step, number);
  }
}

template <class C>
void max_windows(const WindowRow& w, const C* x, C first_number, C row_number, C* best, C* number) {
  for (int64_t o = 0; o < w.windows; ++o, best += w.inner, number += w.inner)
    each_block<C>(w.inner, [&](auto d, int64_t c) HWY_ATTR {
      auto b = hn::LoadU(d, best + c), at = hn::LoadU(d, number + c);
      each_element(w, o * w.window_step + c, first_number, row_number,
                   [&](int64_t i, C n)
                       HWY_ATTR { take_greater(d, hn::LoadU(d, x + i), n, b, at); });
      hn::StoreU(b, d, best + c);
      hn::StoreU(at, d, number + c);
    });
}

template <class C>
void spread_windows(const WindowRow& w, C* x, C first_number, C row_number, const C* g,
                    const C* number) {
  for (int64_t o = 0; o < w.windows; ++o, g += w.inner, number += w.inner)
    each_block<C>(w.inner, [&](auto d, int64_t c) HWY_ATTR {
      const auto share = hn::LoadU(d, g + c), at = hn::LoadU(d, number + c);
      each_element(w, o * w.window_step + c, first_number, row_number,
                   [&](int64_t i, C n) HWY_ATTR {
                     const auto mine = hn::IfThenElseZero(hn::Eq(at, hn::Set(d, n)), share);
                     hn::StoreU(hn::Add(hn::LoadU(d, x + i), mine), d, x + i);
                   });
    });
}

template <class C>
void add_run(const C* x, int64_t step, int64_t n, int64_t inner, C* sum) {
  constexpr int64_t kN = Vec<C>::kLanes;
  if (inner == 1) {
    int64_t i = 0;
    C total = *sum;
    if (step == 1 && n >= 2 * kN) {
      Vec<C> lanes = load(x);
      for (i = kN; i + kN <= n; i += kN) lanes = lanes + load(x + i);
      C parts[kN];
      store(lanes, parts);
      for (int64_t l = 0; l < kN; ++l) total += parts[l];
    }
    for (; i < n; ++i) total += x[i * step];
    *sum = total;
    return;
  }
  each_block<C>(inner, [&](auto d, int64_t c) HWY_ATTR {
    auto s = hn::LoadU(d, sum + c);
    for (int64_t i = 0; i < n; ++i) s = hn::Add(s, hn::LoadU(d, x + i * step + c));
    hn::StoreU(s, d, sum + c);
  });
}

// The sum of the lanes, by halves.
template <class C>
HWY_INLINE C sum_lanes(Vec<C> v) {
  C parts[Vec<C>::kLanes];
  store(v, parts);
  for (int64_t half = Vec<C>::kLanes / 2; half > 0; half /= 2)
    for (int64_t l = 0; l < half; ++l) parts[l] += parts[l + half];
  return parts[0];
}

template <class C>
void average_planes(const C* x, int64_t planes, int64_t n, C* out) {
  constexpr int64_t kN = Vec<C>::kLanes;
  for (int64_t p = 0; p < planes; ++p, x += n) {
    Vec<C> a = Vec<C>::of(0), b = Vec<C>::of(0);
    int64_t i = 0;
    for (; i + 2 * kN <= n; i += 2 * kN) {
      a = a + load(x + i);
      b = b + load(x + i + kN);
    }
    if (i + kN <= n) {
      a = a + load(x + i);
      i += kN;
    }
    if (i < n) b = b + load_part(x + i, n - i);
    out[p] = sum_lanes(a + b) / static_cast<C>(n);
  }
}

template <class C>
void spread_run(C* x, int64_t step, int64_t n, int64_t inner, const C* value) {
  if (inner == 1) {
    const C v = *value;
    int64_t i = 0;
    if (step == 1) {
      const Vec<C> all = Vec<C>::of(v);
      for (; i + Vec<C>::kLanes <= n; i += Vec<C>::kLanes)
        store(load(static_cast<const C*>(x) + i) + all, x + i);
    }
    for (; i < n; ++i) x[i * step] += v;
    return;
  }
  each_block<C>(inner, [&](auto d, int64_t c) HWY_ATTR {
    const auto v = hn::LoadU(d, value + c);
    for (int64_t i = 0; i < n; ++i) {
      C* p = x + i * step + c;
      hn::StoreU(hn::Add(hn::LoadU(d, p), v), d, p);
    }
  });
}

template <class C>
const PoolOps<C>* pool_table() {
  static constexpr PoolOps<C> kTable = {max_taps<C>,      average_taps<C>,   max_pairs<C>,
                                        average_pairs<C>, spread_taps<C>,    pick<C>,
                                        max_run<C>,       max_windows<C>,    spread_windows<C>,
                                        add_run<C>,       average_planes<C>, spread_run<C>};
  return &kTable;
}
const PoolOps<float>* pool_table_f32() { return pool_table<float>(); }
const PoolOps<double>* pool_table_f64() { return pool_table<double>(); }

}  // namespace HWY_NAMESPACE
}  // namespace tandem::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::kernels {

HWY_EXPORT(pool_table_f32);
HWY_EXPORT(pool_table_f64);

template <>
const PoolOps<float>& pool_ops<float>() {
  return *HWY_DYNAMIC_DISPATCH(pool_table_f32)();
}
template <>
const PoolOps<double>& pool_ops<double>() {
  return *HWY_DYNAMIC_DISPATCH(pool_table_f64)();
}

}  // namespace tandem::kernels
#endif
