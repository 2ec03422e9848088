#include "tandem/kernels/random_philox.h"

#include <bit>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tandem/kernels/random_philox.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::kernels {
namespace HWY_NAMESPACE {

constexpr uint64_t kM0 = 0xD2511F53, kM1 = 0xCD9E8D57;
constexpr uint32_t kW0 = 0x9E3779B9, kW1 = 0xBB67AE85;

// Constants of the formulas, for both widths.
template <class T>
struct Real;
template <>
struct Real<float> {
  using Word = uint32_t;
  using Int = int32_t;
  static constexpr int kMantissa = 23;
  static constexpr Int kRootHalf = 0x3f3504f3;  // the bits of sqrt(1/2)
  // ln 2 in two parts: the first times an exponent is exact.
  static constexpr float kLn2High = 0.693145752f, kLn2Low = 1.42860677e-6f;
  static constexpr float kTurn = static_cast<float>(6.28318530717958647693 * 0x1p-32);
  static constexpr int kLogTerms = 5, kSineTerms = 4, kCosineTerms = 4;
};
template <>
struct Real<double> {
  using Word = uint64_t;
  using Int = int64_t;
  static constexpr int kMantissa = 52;
  static constexpr Int kRootHalf = 0x3fe6a09e667f3bcd;
  static constexpr double kLn2High = 0x1.62e42fee00000p-1, kLn2Low = 0x1.a39ef35793c76p-33;
  static constexpr double kTurn = 6.28318530717958647693 * 0x1p-64;
  static constexpr int kLogTerms = 12, kSineTerms = 8, kCosineTerms = 8;
};

// 2/3, 2/5, 2/7, ...: 2 atanh(s) = 2s + s (2/3 s^2 + 2/5 s^4 + ...)
template <class T>
constexpr T log_term(int k) {
  return static_cast<T>(2.0 / (2 * k + 3));
}
// -1/3!, 1/5!, ... and 1/4!, -1/6!, ...
template <class T>
constexpr T sine_term(int k, int first) {
  double f = 1;
  for (int i = 2; i <= 2 * k + first; ++i) f *= i;
  return static_cast<T>((k % 2 ? -1 : 1) / f);
}

#if HWY_TARGET == HWY_SCALAR

// One value at a time, in the same steps as below and hence with the same bits.
void words(uint64_t key, uint64_t counter, int64_t blocks, uint32_t* HWY_RESTRICT out) {
  for (int64_t i = 0; i < blocks; ++i) {
    const PhiloxBlock b = philox(key, counter + static_cast<uint64_t>(i), 0);
    for (int k = 0; k < 4; ++k) out[4 * i + k] = b.word[k];
  }
}

template <class T>
typename Real<T>::Word word_at(const uint32_t* w, int64_t i) {
  if constexpr (sizeof(T) == 4) return w[i];
  return static_cast<uint64_t>(w[2 * i + 1]) << 32 | w[2 * i];
}
float positive_unit(uint32_t w) {
  return static_cast<float>(static_cast<int32_t>(w >> 1)) * 0x1p-31f + 0x1p-33f;
}
double positive_unit(uint64_t w) {
  return static_cast<double>(static_cast<int64_t>(w >> 11) + 1) * 0x1p-53;
}
float unit(uint32_t w) { return static_cast<float>(static_cast<int32_t>(w >> 8)) * 0x1p-24f; }
double unit(uint64_t w) { return static_cast<double>(static_cast<int64_t>(w >> 11)) * 0x1p-53; }

template <class T>
T log_unit(T u) {
  using R = Real<T>;
  using Int = typename R::Int;
  const Int bits = std::bit_cast<Int>(u) - R::kRootHalf;
  const T e = static_cast<T>(bits >> R::kMantissa);
  const T m = std::bit_cast<T>((bits & ((Int(1) << R::kMantissa) - 1)) + R::kRootHalf);
  const T f = m - T(1), s = f / (T(2) + f), z = s * s;
  T p = log_term<T>(R::kLogTerms - 1);
  for (int k = R::kLogTerms - 2; k >= 0; --k) p = p * z + log_term<T>(k);
  return e * R::kLn2High + ((s + s) + (s * (z * p) + e * R::kLn2Low));
}

template <class T>
void normals_any(const uint32_t* w, int64_t pairs, T* out) {
  using R = Real<T>;
  using Word = typename R::Word;
  constexpr int kBits = 8 * static_cast<int>(sizeof(T));
  for (int64_t i = 0; i < pairs; ++i) {
    const T r = std::sqrt(log_unit(positive_unit(word_at<T>(w, 2 * i))) * T(-2));
    const Word a = word_at<T>(w, 2 * i + 1);
    const Word quarter = static_cast<Word>(a + (Word(1) << (kBits - 3))) >> (kBits - 2);
    const T x =
        static_cast<T>(static_cast<typename R::Int>(a - (quarter << (kBits - 2)))) * R::kTurn;
    const T z = x * x;
    T sine = sine_term<T>(R::kSineTerms, 1), cosine = sine_term<T>(R::kCosineTerms + 1, 0);
    for (int k = R::kSineTerms - 1; k >= 1; --k) sine = sine * z + sine_term<T>(k, 1);
    for (int k = R::kCosineTerms; k >= 2; --k) cosine = cosine * z + sine_term<T>(k, 0);
    sine = (x * z) * sine + x;
    cosine = (z * z) * cosine + (T(1) - z * T(0.5));
    const bool swap = quarter & 1;
    const T s = swap ? cosine : sine, c = swap ? sine : cosine;
    out[2 * i] = r * ((quarter + 1) & 2 ? -c : c);
    out[2 * i + 1] = r * (quarter & 2 ? -s : s);
  }
}
template <class T>
void exponentials_any(const uint32_t* w, int64_t n, T* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = T(0) - log_unit(positive_unit(word_at<T>(w, i)));
}
template <class T>
void uniforms_any(const uint32_t* w, int64_t n, T* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = unit(word_at<T>(w, i));
}

#else

namespace hn = hwy::HWY_NAMESPACE;

// A word lies in each 64-bit lane, where the product of two words fits. Upper halves may hold
// anything: MulEven does not look at them.
void words(uint64_t key, uint64_t counter, int64_t blocks, uint32_t* HWY_RESTRICT out) {
  const hn::ScalableTag<uint64_t> d;
  const hn::Repartition<uint32_t, decltype(d)> d32;
  constexpr int64_t kN = static_cast<int64_t>(hn::MaxLanes(d));
  const auto m0 = hn::BitCast(d32, hn::Set(d, kM0)), m1 = hn::BitCast(d32, hn::Set(d, kM1));
  const auto low_half = hn::Set(d, 0xffffffffu);
  auto* to = reinterpret_cast<uint64_t*>(out);
  int64_t i = 0;
  for (; i + 2 * kN <= blocks; i += 2 * kN) {
    // Two sets side by side hide the multiplier's latency.
    auto c0 = hn::Iota(d, counter + static_cast<uint64_t>(i));
    auto e0 = hn::Iota(d, counter + static_cast<uint64_t>(i + kN));
    auto c1 = hn::ShiftRight<32>(c0), e1 = hn::ShiftRight<32>(e0);
    auto c2 = hn::Zero(d), c3 = hn::Zero(d), e2 = c2, e3 = c2;
    uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
    for (int round = 0; round < 10; ++round, k0 += kW0, k1 += kW1) {
      const auto x0 = hn::Set(d, uint64_t{k0}), x1 = hn::Set(d, uint64_t{k1});
      const auto p0 = hn::MulEven(hn::BitCast(d32, c0), m0);
      const auto p1 = hn::MulEven(hn::BitCast(d32, c2), m1);
      const auto q0 = hn::MulEven(hn::BitCast(d32, e0), m0);
      const auto q1 = hn::MulEven(hn::BitCast(d32, e2), m1);
      c0 = hn::Xor(hn::Xor(hn::ShiftRight<32>(p1), c1), x0);
      c2 = hn::Xor(hn::Xor(hn::ShiftRight<32>(p0), c3), x1);
      e0 = hn::Xor(hn::Xor(hn::ShiftRight<32>(q1), e1), x0);
      e2 = hn::Xor(hn::Xor(hn::ShiftRight<32>(q0), e3), x1);
      c1 = p1;
      c3 = p0;
      e1 = q1;
      e3 = q0;
    }
    auto pair = [&](auto a, auto b)
                    HWY_ATTR { return hn::Or(hn::And(a, low_half), hn::ShiftLeft<32>(b)); };
    hn::StoreInterleaved2(pair(c0, c1), pair(c2, c3), d, to + 2 * i);
    hn::StoreInterleaved2(pair(e0, e1), pair(e2, e3), d, to + 2 * (i + kN));
  }
  for (; i < blocks; ++i) {
    const PhiloxBlock b = philox(key, counter + static_cast<uint64_t>(i), 0);
    for (int k = 0; k < 4; ++k) out[4 * i + k] = b.word[k];
  }
}

template <class T>
struct Tags {
  hn::ScalableTag<T> d;
  hn::RebindToSigned<hn::ScalableTag<T> > di;
  hn::RebindToUnsigned<hn::ScalableTag<T> > du;
};
template <class T>
using Reals = hn::Vec<hn::ScalableTag<T> >;

template <class T, class U>
HWY_INLINE Reals<T> positive_unit(U w) {
  const Tags<T> t;
  if constexpr (sizeof(T) == 4) {
    const auto x = hn::ConvertTo(t.d, hn::BitCast(t.di, hn::ShiftRight<1>(w)));
    return hn::Add(hn::Mul(x, hn::Set(t.d, 0x1p-31f)), hn::Set(t.d, 0x1p-33f));
  } else {
    const auto x = hn::Add(hn::BitCast(t.di, hn::ShiftRight<11>(w)), hn::Set(t.di, 1));
    return hn::Mul(hn::ConvertTo(t.d, x), hn::Set(t.d, 0x1p-53));
  }
}

// log(u) for 0 < u <= 1: the exponent times ln 2 plus 2 atanh((m - 1) / (m + 1)) by its series,
// where m in [sqrt(1/2), sqrt(2)) leaves (..)^2 below 0.03. Relatively exact near 1 too.
template <class T>
HWY_INLINE Reals<T> log_unit(Reals<T> u) {
  using R = Real<T>;
  const Tags<T> t;
  const auto root = hn::Set(t.di, R::kRootHalf);
  const auto bits = hn::Sub(hn::BitCast(t.di, u), root);
  const auto e = hn::ConvertTo(t.d, hn::ShiftRight<R::kMantissa>(bits));
  const auto mask = hn::Set(t.di, (typename R::Int(1) << R::kMantissa) - 1);
  const auto m = hn::BitCast(t.d, hn::Add(hn::And(bits, mask), root));
  const auto f = hn::Sub(m, hn::Set(t.d, T(1)));
  const auto s = hn::Div(f, hn::Add(hn::Set(t.d, T(2)), f));
  const auto z = hn::Mul(s, s);
  auto p = hn::Set(t.d, log_term<T>(R::kLogTerms - 1));
  for (int k = R::kLogTerms - 2; k >= 0; --k)
    p = hn::Add(hn::Mul(p, z), hn::Set(t.d, log_term<T>(k)));
  const auto tail = hn::Add(hn::Mul(s, hn::Mul(z, p)), hn::Mul(e, hn::Set(t.d, R::kLn2Low)));
  return hn::Add(hn::Mul(e, hn::Set(t.d, R::kLn2High)), hn::Add(hn::Add(s, s), tail));
}

// Two words make two normals: a radius, and an angle given as a fraction of a turn. The nearest
// quarter turn is cut off exactly, before anything is rounded; the series hold for |x| <= pi / 4.
template <class T>
HWY_INLINE void normals_any(const uint32_t* HWY_RESTRICT words32, int64_t pairs,
                            T* HWY_RESTRICT out) {
  using R = Real<T>;
  using Word = typename R::Word;
  constexpr int kBits = 8 * static_cast<int>(sizeof(T));
  const Tags<T> t;
  constexpr int64_t kN = static_cast<int64_t>(hn::MaxLanes(hn::ScalableTag<T>()));
  const auto* w = reinterpret_cast<const Word*>(words32);
  auto make = [&](const Word* from, T* to) HWY_ATTR {
    hn::Vec<decltype(t.du)> first, a;
    hn::LoadInterleaved2(t.du, from, first, a);
    const auto r = hn::Sqrt(hn::Mul(log_unit<T>(positive_unit<T>(first)), hn::Set(t.d, T(-2))));
    const auto quarter =
        hn::ShiftRight<kBits - 2>(hn::Add(a, hn::Set(t.du, Word(1) << (kBits - 3))));
    const auto rest = hn::BitCast(t.di, hn::Sub(a, hn::ShiftLeft<kBits - 2>(quarter)));
    const auto x = hn::Mul(hn::ConvertTo(t.d, rest), hn::Set(t.d, R::kTurn));
    const auto z = hn::Mul(x, x);
    auto sine = hn::Set(t.d, sine_term<T>(R::kSineTerms, 1));
    auto cosine = hn::Set(t.d, sine_term<T>(R::kCosineTerms + 1, 0));
    for (int k = R::kSineTerms - 1; k >= 1; --k)
      sine = hn::Add(hn::Mul(sine, z), hn::Set(t.d, sine_term<T>(k, 1)));
    for (int k = R::kCosineTerms; k >= 2; --k)
      cosine = hn::Add(hn::Mul(cosine, z), hn::Set(t.d, sine_term<T>(k, 0)));
    sine = hn::Add(hn::Mul(hn::Mul(x, z), sine), x);
    cosine = hn::Add(hn::Mul(hn::Mul(z, z), cosine),
                     hn::Sub(hn::Set(t.d, T(1)), hn::Mul(z, hn::Set(t.d, T(0.5)))));
    const auto one = hn::Set(t.du, Word(1)), two = hn::Set(t.du, Word(2));
    const auto swap = hn::RebindMask(t.d, hn::Eq(hn::And(quarter, one), one));
    const auto s = hn::IfThenElse(swap, cosine, sine), c = hn::IfThenElse(swap, sine, cosine);
    // Bit 1 of the quarter, moved to the sign.
    const auto s_sign = hn::ShiftLeft<kBits - 2>(hn::And(quarter, two));
    const auto c_sign = hn::ShiftLeft<kBits - 2>(hn::And(hn::Add(quarter, one), two));
    hn::StoreInterleaved2(hn::Mul(r, hn::Xor(c, hn::BitCast(t.d, c_sign))),
                          hn::Mul(r, hn::Xor(s, hn::BitCast(t.d, s_sign))), t.d, to);
  };
  int64_t i = 0;
  for (; i + kN <= pairs; i += kN) make(w + 2 * i, out + 2 * i);
  if (i < pairs) {
    Word some[2 * kN] = {};
    T values[2 * kN];
    for (int64_t k = 2 * i; k < 2 * pairs; ++k) some[k - 2 * i] = w[k];
    make(some, values);
    for (int64_t k = 2 * i; k < 2 * pairs; ++k) out[k] = values[k - 2 * i];
  }
}

template <class T, class F>
HWY_INLINE void map_words(const uint32_t* HWY_RESTRICT words32, int64_t n, T* HWY_RESTRICT out,
                          const F& fn) {
  using Word = typename Real<T>::Word;
  const Tags<T> t;
  constexpr int64_t kN = static_cast<int64_t>(hn::MaxLanes(hn::ScalableTag<T>()));
  const auto* w = reinterpret_cast<const Word*>(words32);
  int64_t i = 0;
  for (; i + kN <= n; i += kN) hn::StoreU(fn(hn::LoadU(t.du, w + i)), t.d, out + i);
  if (i < n) {
    Word some[kN] = {};
    T values[kN];
    for (int64_t k = i; k < n; ++k) some[k - i] = w[k];
    hn::StoreU(fn(hn::LoadU(t.du, some)), t.d, values);
    for (int64_t k = i; k < n; ++k) out[k] = values[k - i];
  }
}

template <class T>
HWY_INLINE void exponentials_any(const uint32_t* w, int64_t n, T* out) {
  map_words(w, n, out, [](auto x) HWY_ATTR {
    return hn::Sub(hn::Zero(hn::ScalableTag<T>()), log_unit<T>(positive_unit<T>(x)));
  });
}

template <class T>
HWY_INLINE void uniforms_any(const uint32_t* w, int64_t n, T* out) {
  map_words(w, n, out, [](auto x) HWY_ATTR {
    const Tags<T> t;
    if constexpr (sizeof(T) == 4)
      return hn::Mul(hn::ConvertTo(t.d, hn::BitCast(t.di, hn::ShiftRight<8>(x))),
                     hn::Set(t.d, 0x1p-24f));
    else
      return hn::Mul(hn::ConvertTo(t.d, hn::BitCast(t.di, hn::ShiftRight<11>(x))),
                     hn::Set(t.d, 0x1p-53));
  });
}

#endif

void normals_f32(const uint32_t* w, int64_t blocks, float* out) { normals_any(w, 2 * blocks, out); }
void normals_f64(const uint32_t* w, int64_t blocks, double* out) { normals_any(w, blocks, out); }
void exponentials_f32(const uint32_t* w, int64_t blocks, float* out) {
  exponentials_any(w, 4 * blocks, out);
}
void exponentials_f64(const uint32_t* w, int64_t blocks, double* out) {
  exponentials_any(w, 2 * blocks, out);
}
void uniforms_f32(const uint32_t* w, int64_t blocks, float* out) {
  uniforms_any(w, 4 * blocks, out);
}
void uniforms_f64(const uint32_t* w, int64_t blocks, double* out) {
  uniforms_any(w, 2 * blocks, out);
}

}  // namespace HWY_NAMESPACE
}  // namespace tandem::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::kernels {

HWY_EXPORT(words);
HWY_EXPORT(normals_f32);
HWY_EXPORT(normals_f64);
HWY_EXPORT(uniforms_f32);
HWY_EXPORT(uniforms_f64);
HWY_EXPORT(exponentials_f32);
HWY_EXPORT(exponentials_f64);

void philox_words(uint64_t key, uint64_t counter, int64_t blocks, uint32_t* out) {
  HWY_DYNAMIC_DISPATCH(words)(key, counter, blocks, out);
}
void normals(const uint32_t* words, int64_t blocks, float* out) {
  HWY_DYNAMIC_DISPATCH(normals_f32)(words, blocks, out);
}
void normals(const uint32_t* words, int64_t blocks, double* out) {
  HWY_DYNAMIC_DISPATCH(normals_f64)(words, blocks, out);
}
void exponentials(const uint32_t* words, int64_t blocks, float* out) {
  HWY_DYNAMIC_DISPATCH(exponentials_f32)(words, blocks, out);
}
void exponentials(const uint32_t* words, int64_t blocks, double* out) {
  HWY_DYNAMIC_DISPATCH(exponentials_f64)(words, blocks, out);
}

void uniforms(const uint32_t* words, int64_t blocks, float* out) {
  HWY_DYNAMIC_DISPATCH(uniforms_f32)(words, blocks, out);
}
void uniforms(const uint32_t* words, int64_t blocks, double* out) {
  HWY_DYNAMIC_DISPATCH(uniforms_f64)(words, blocks, out);
}

PhiloxBlock philox(uint64_t key, uint64_t counter_low, uint64_t counter_high) {
  uint32_t c[4] = {static_cast<uint32_t>(counter_low), static_cast<uint32_t>(counter_low >> 32),
                   static_cast<uint32_t>(counter_high), static_cast<uint32_t>(counter_high >> 32)};
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
    const uint64_t p0 = uint64_t{0xD2511F53} * c[0], p1 = uint64_t{0xCD9E8D57} * c[2];
    const uint32_t next[4] = {
        static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<uint32_t>(p1),
        static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<uint32_t>(p0)};
    for (int i = 0; i < 4; ++i) c[i] = next[i];
  }
  return {{c[0], c[1], c[2], c[3]}};
}

}  // namespace tandem::kernels
#endif
