#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#define TANDEM_INLINE inline __attribute__((always_inline))

// One lane: the formulas' vector type where there are no vectors (the baseline instruction set, and
// int64 everywhere). simd-inl.h has the same functions for Highway's registers; formulas.inc says
// which functions a formula may use.

namespace tandem::kernels::lane {

template <class T>
struct Mask {
  bool m;
  friend Mask operator&(Mask a, Mask b) { return {a.m && b.m}; }
  friend Mask operator|(Mask a, Mask b) { return {a.m || b.m}; }
  friend Mask operator^(Mask a, Mask b) { return {a.m != b.m}; }
  friend Mask operator!(Mask a) { return {!a.m}; }
};

// Integers wrap: computing in unsigned keeps that defined.
template <class T>
constexpr auto wrapping(T x) {
  if constexpr (std::is_integral_v<T>) return static_cast<std::make_unsigned_t<T>>(x);
  if constexpr (!std::is_integral_v<T>) return x;
}

// A formula's constant in the lane's type: integers saturate.
template <class T>
T from_double(double c) {
  if constexpr (std::is_integral_v<T>) {
    if (!(c >= -0x1p63)) return std::numeric_limits<T>::min();
    if (c >= 0x1p63) return std::numeric_limits<T>::max();
  }
  return static_cast<T>(c);
}

template <class T>
struct Vec {
  using Lane = T;
  static constexpr int64_t kLanes = 1;
  T v;

  Vec() = default;
  Vec(double c) : v(from_double<T>(c)) {}
  static Vec of(T x) {
    Vec r;
    r.v = x;
    return r;
  }

  friend Vec operator+(Vec a, Vec b) { return of(static_cast<T>(wrapping(a.v) + wrapping(b.v))); }
  friend Vec operator-(Vec a, Vec b) { return of(static_cast<T>(wrapping(a.v) - wrapping(b.v))); }
  friend Vec operator*(Vec a, Vec b) { return of(static_cast<T>(wrapping(a.v) * wrapping(b.v))); }
  friend Vec operator/(Vec a, Vec b) requires(std::is_floating_point_v<T>) { return of(a.v / b.v); }
  friend Vec operator-(Vec a) {
    if constexpr (std::is_integral_v<T>) return of(static_cast<T>(0 - wrapping(a.v)));
    if constexpr (!std::is_integral_v<T>) return of(-a.v);
  }
  friend Mask<T> operator<(Vec a, Vec b) { return {a.v < b.v}; }
  friend Mask<T> operator<=(Vec a, Vec b) { return {a.v <= b.v}; }
  friend Mask<T> operator>(Vec a, Vec b) { return {a.v > b.v}; }
  friend Mask<T> operator>=(Vec a, Vec b) { return {a.v >= b.v}; }
  friend Mask<T> operator==(Vec a, Vec b) { return {a.v == b.v}; }
  friend Mask<T> operator!=(Vec a, Vec b) { return {a.v != b.v}; }
};

template <class T>
Vec<T> load(const T* p) {
  return Vec<T>::of(*p);
}
template <class T>
void store(Vec<T> x, T* p) {
  *p = x.v;
}
template <class T>
void store(Mask<T> m, uint8_t* p) {
  *p = m.m;
}
template <class T>
Mask<T> load_mask(const uint8_t* p) {
  return {*p != 0};
}
// A part of one lane is none.
template <class T>
Vec<T> load_part(const T*, int64_t) {
  return Vec<T>(0.0);
}
template <class X, class P>
void store_part(X, P*, int64_t) {}
template <class T>
Mask<T> load_mask_part(const uint8_t*, int64_t) {
  return {false};
}

template <class T>
Vec<T> fma(Vec<T> a, Vec<T> b, Vec<T> c) {
  return a * b + c;
}
template <class T>
Vec<T> select(Mask<T> m, Vec<T> a, Vec<T> b) {
  return m.m ? a : b;
}
template <class T>
Vec<T> min(Vec<T> a, Vec<T> b) {
  return a.v < b.v ? a : b;
}
template <class T>
Vec<T> max(Vec<T> a, Vec<T> b) {
  return a.v > b.v ? a : b;
}
template <class T>
Vec<T> abs(Vec<T> a) {
  if constexpr (std::is_integral_v<T>) return a.v < 0 ? -a : a;
  if constexpr (!std::is_integral_v<T>) return Vec<T>::of(std::fabs(a.v));
}
template <class T>
Vec<T> sqrt(Vec<T> a) {
  return Vec<T>::of(std::sqrt(a.v));
}
template <class T>
Vec<T> floor(Vec<T> a) {
  return Vec<T>::of(std::floor(a.v));
}
template <class T>
Vec<T> ceil(Vec<T> a) {
  return Vec<T>::of(std::ceil(a.v));
}
template <class T>
Vec<T> trunc(Vec<T> a) {
  return Vec<T>::of(std::trunc(a.v));
}
template <class T>
Vec<T> round(Vec<T> a) {
  return Vec<T>::of(std::nearbyint(a.v));
}
template <class T>
Vec<T> copysign(Vec<T> magnitude, Vec<T> sign) {
  return Vec<T>::of(std::copysign(magnitude.v, sign.v));
}
template <class T>
Mask<T> signbit(Vec<T> a) {
  if constexpr (std::is_integral_v<T>) return {a.v < 0};
  if constexpr (!std::is_integral_v<T>) return {std::signbit(a.v)};
}

// Adding 1.5 * 2^52 (2^23) to an integer-valued number leaves the integer in the low mantissa bits.
inline Vec<double> pow2(Vec<double> n) {
  return Vec<double>::of(
      std::bit_cast<double>(std::bit_cast<uint64_t>(n.v + (0x1.8p52 + 1023)) << 52));
}
inline Vec<float> pow2(Vec<float> n) {
  return Vec<float>::of(
      std::bit_cast<float>(std::bit_cast<uint32_t>(n.v + (0x1.8p23f + 127)) << 23));
}
inline Vec<double> exponent(Vec<double> x) {
  return Vec<double>::of(
      std::bit_cast<double>((std::bit_cast<uint64_t>(x.v) >> 52) | 0x4330000000000000) -
      (0x1p52 + 1023));
}
inline Vec<float> exponent(Vec<float> x) {
  return Vec<float>::of(std::bit_cast<float>((std::bit_cast<uint32_t>(x.v) >> 23) | 0x4b000000) -
                        (0x1p23f + 127));
}
inline Vec<double> mantissa(Vec<double> x) {
  return Vec<double>::of(std::bit_cast<double>((std::bit_cast<uint64_t>(x.v) & 0x000fffffffffffff) |
                                               0x3ff0000000000000));
}
inline Vec<float> mantissa(Vec<float> x) {
  return Vec<float>::of(
      std::bit_cast<float>((std::bit_cast<uint32_t>(x.v) & 0x007fffff) | 0x3f800000));
}
inline Vec<double> to_f64(Vec<float> x) { return Vec<double>::of(x.v); }
inline Vec<float> to_f32(Vec<double> x) { return Vec<float>::of(static_cast<float>(x.v)); }

template <auto F, class T>
Vec<T> call(Vec<T> x) {
  return Vec<T>::of(static_cast<T>(F(x.v)));
}
template <auto F, class T>
Vec<T> call(Vec<T> x, Vec<T> y) {
  return Vec<T>::of(static_cast<T>(F(x.v, y.v)));
}
template <auto F, class T>
Vec<T> patch(Mask<T> m, Vec<T> x, Vec<T> otherwise) {
  return m.m ? call<F>(x) : otherwise;
}

}  // namespace tandem::kernels::lane
