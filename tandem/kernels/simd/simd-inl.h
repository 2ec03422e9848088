// The formulas' vector types over Highway's registers. Included once per instruction set.
#if defined(TANDEM_KERNELS_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TANDEM_KERNELS_SIMD_INL_H_
#undef TANDEM_KERNELS_SIMD_INL_H_
#else
#define TANDEM_KERNELS_SIMD_INL_H_
#endif

#include <hwy/highway.h>

#include <array>

#include "tandem/kernels/simd/lane.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::kernels {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR

template <class T>
using Vec = lane::Vec<T>;
using lane::call;
using lane::load;
using lane::load_mask;
using lane::load_mask_part;
using lane::load_part;
using lane::patch;
using lane::store;
using lane::store_part;

#else

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using Tag = hn::ScalableTag<T>;

template <class T>
struct Mask {
  hn::Mask<Tag<T> > m;
  friend HWY_INLINE Mask operator&(Mask a, Mask b) { return {hn::And(a.m, b.m)}; }
  friend HWY_INLINE Mask operator|(Mask a, Mask b) { return {hn::Or(a.m, b.m)}; }
  friend HWY_INLINE Mask operator^(Mask a, Mask b) { return {hn::Xor(a.m, b.m)}; }
  friend HWY_INLINE Mask operator!(Mask a) { return {hn::Not(a.m)}; }
};

template <class T>
struct Vec {
  using Lane = T;
  static constexpr int64_t kLanes = hn::MaxLanes(Tag<T>());
  hn::Vec<Tag<T> > v;

  Vec() = default;
  HWY_INLINE Vec(double c) : v(hn::Set(Tag<T>(), static_cast<T>(c))) {}
  HWY_INLINE explicit Vec(hn::Vec<Tag<T> > x) : v(x) {}
  static HWY_INLINE Vec of(T x) { return Vec(hn::Set(Tag<T>(), x)); }

  friend HWY_INLINE Vec operator+(Vec a, Vec b) { return Vec(hn::Add(a.v, b.v)); }
  friend HWY_INLINE Vec operator-(Vec a, Vec b) { return Vec(hn::Sub(a.v, b.v)); }
  friend HWY_INLINE Vec operator*(Vec a, Vec b) { return Vec(hn::Mul(a.v, b.v)); }
  friend HWY_INLINE Vec operator/(Vec a, Vec b) { return Vec(hn::Div(a.v, b.v)); }
  friend HWY_INLINE Vec operator-(Vec a) { return Vec(hn::Neg(a.v)); }
  friend HWY_INLINE Mask<T> operator<(Vec a, Vec b) { return {hn::Lt(a.v, b.v)}; }
  friend HWY_INLINE Mask<T> operator<=(Vec a, Vec b) { return {hn::Le(a.v, b.v)}; }
  friend HWY_INLINE Mask<T> operator>(Vec a, Vec b) { return {hn::Gt(a.v, b.v)}; }
  friend HWY_INLINE Mask<T> operator>=(Vec a, Vec b) { return {hn::Ge(a.v, b.v)}; }
  friend HWY_INLINE Mask<T> operator==(Vec a, Vec b) { return {hn::Eq(a.v, b.v)}; }
  // Highway's Ne is false for nan.
  friend HWY_INLINE Mask<T> operator!=(Vec a, Vec b) { return {hn::Not(hn::Eq(a.v, b.v))}; }
};

template <class T>
HWY_INLINE Vec<T> load(const T* p) {
  return Vec<T>(hn::LoadU(Tag<T>(), p));
}
template <class T>
HWY_INLINE void store(Vec<T> x, T* p) {
  hn::StoreU(x.v, Tag<T>(), p);
}

// The first n < kLanes lanes of a register. Nothing behind them is touched: AVX2's and AVX-512's
// masked loads do not fault. AVX2's masked stores are slow on some machines, hence stores in
// halves.
template <class T>
HWY_INLINE Vec<T> load_part(const T* p, int64_t n) {
  const Tag<T> d;
  return Vec<T>(hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(n)), d, p));
}
#if HWY_TARGET == HWY_AVX2
HWY_INLINE void store_part(Vec<float> x, float* p, int64_t n) {
  const hn::Full128<float> d4;
  const hn::Full64<float> d2;
  auto rest = hn::LowerHalf(d4, x.v);
  if (n & 4) {
    hn::StoreU(rest, d4, p);
    rest = hn::UpperHalf(d4, x.v);
    p += 4;
  }
  if (n & 2) {
    hn::StoreU(hn::LowerHalf(d2, rest), d2, p);
    rest = hn::Shuffle1032(rest);
    p += 2;
  }
  if (n & 1) *p = hn::GetLane(rest);
}
HWY_INLINE void store_part(Vec<double> x, double* p, int64_t n) {
  const hn::Full128<double> d2;
  auto rest = hn::LowerHalf(d2, x.v);
  if (n & 2) {
    hn::StoreU(rest, d2, p);
    rest = hn::UpperHalf(d2, x.v);
    p += 2;
  }
  if (n & 1) *p = hn::GetLane(rest);
}
#else
template <class T>
HWY_INLINE void store_part(Vec<T> x, T* p, int64_t n) {
  const Tag<T> d;
  hn::BlendedStore(x.v, hn::FirstN(d, static_cast<size_t>(n)), d, p);
}
#endif

// Masks in memory are bytes 0 and 1. kBytesOfBits[b] spreads eight bits over eight bytes.
inline constexpr std::array<uint64_t, 256> kBytesOfBits = [] {
  std::array<uint64_t, 256> table{};
  for (int b = 0; b < 256; ++b)
    for (int i = 0; i < 8; ++i) table[b] |= static_cast<uint64_t>(b >> i & 1) << (8 * i);
  return table;
}();
template <class T>
HWY_INLINE void store(Mask<T> m, uint8_t* p) {
  uint8_t bits[8];
  hn::StoreMaskBits(Tag<T>(), m.m, bits);
  constexpr int64_t kLanes = Vec<T>::kLanes;
  for (int64_t i = 0; i < kLanes; i += 8)
    memcpy(p + i, &kBytesOfBits[bits[i / 8]], kLanes < 8 ? kLanes : 8);
}
template <class T>
HWY_INLINE void store_part(Mask<T> m, uint8_t* p, int64_t n) {
  uint8_t bytes[Vec<T>::kLanes];
  store(m, bytes);
  for (int64_t i = 0; i < n; ++i) p[i] = bytes[i];
}
HWY_INLINE Mask<float> mask_of(hn::Vec<hn::Rebind<uint8_t, Tag<float> > > bytes) {
  const hn::Rebind<int32_t, Tag<float> > di;
  return {hn::RebindMask(Tag<float>(), hn::Ne(hn::PromoteTo(di, bytes), hn::Zero(di)))};
}
HWY_INLINE Mask<double> mask_of(hn::Vec<hn::Rebind<uint8_t, Tag<double> > > bytes) {
  const hn::Rebind<int64_t, Tag<double> > di;
  const hn::Rebind<int32_t, Tag<double> > d32;
  return {hn::RebindMask(Tag<double>(),
                         hn::Ne(hn::PromoteTo(di, hn::PromoteTo(d32, bytes)), hn::Zero(di)))};
}
template <class T>
HWY_INLINE Mask<T> load_mask(const uint8_t* p) {
  return mask_of(hn::LoadU(hn::Rebind<uint8_t, Tag<T> >(), p));
}
template <class T>
HWY_INLINE Mask<T> load_mask_part(const uint8_t* p, int64_t n) {
  uint8_t bytes[Vec<T>::kLanes] = {};
  for (int64_t i = 0; i < n; ++i) bytes[i] = p[i];
  return load_mask<T>(bytes);
}

template <class T>
HWY_INLINE Vec<T> fma(Vec<T> a, Vec<T> b, Vec<T> c) {
  return Vec<T>(hn::MulAdd(a.v, b.v, c.v));
}
template <class T>
HWY_INLINE Vec<T> select(Mask<T> m, Vec<T> a, Vec<T> b) {
  return Vec<T>(hn::IfThenElse(m.m, a.v, b.v));
}
// The x86 instructions give the second operand when either is nan, which is what formulas.inc
// wants.
template <class T>
HWY_INLINE Vec<T> min(Vec<T> a, Vec<T> b) {
  return Vec<T>(hn::Min(a.v, b.v));
}
template <class T>
HWY_INLINE Vec<T> max(Vec<T> a, Vec<T> b) {
  return Vec<T>(hn::Max(a.v, b.v));
}
template <class T>
HWY_INLINE Vec<T> abs(Vec<T> a) {
  return Vec<T>(hn::Abs(a.v));
}
template <class T>
HWY_INLINE Vec<T> sqrt(Vec<T> a) {
  return Vec<T>(hn::Sqrt(a.v));
}
template <class T>
HWY_INLINE Vec<T> floor(Vec<T> a) {
  return Vec<T>(hn::Floor(a.v));
}
template <class T>
HWY_INLINE Vec<T> ceil(Vec<T> a) {
  return Vec<T>(hn::Ceil(a.v));
}
template <class T>
HWY_INLINE Vec<T> trunc(Vec<T> a) {
  return Vec<T>(hn::Trunc(a.v));
}
template <class T>
HWY_INLINE Vec<T> round(Vec<T> a) {
  return Vec<T>(hn::Round(a.v));
}
template <class T>
HWY_INLINE Vec<T> copysign(Vec<T> magnitude, Vec<T> sign) {
  return Vec<T>(hn::CopySign(magnitude.v, sign.v));
}
template <class T>
HWY_INLINE Mask<T> signbit(Vec<T> a) {
  const hn::RebindToSigned<Tag<T> > di;
  return {hn::RebindMask(Tag<T>(), hn::Lt(hn::BitCast(di, a.v), hn::Zero(di)))};
}

// As in lane.h, on the bits.
HWY_INLINE Vec<float> pow2(Vec<float> n) {
  const hn::RebindToUnsigned<Tag<float> > du;
  return Vec<float>(hn::BitCast(
      Tag<float>(), hn::ShiftLeft<23>(hn::BitCast(du, (n + Vec<float>(0x1.8p23 + 127)).v))));
}
HWY_INLINE Vec<double> pow2(Vec<double> n) {
  const hn::RebindToUnsigned<Tag<double> > du;
  return Vec<double>(hn::BitCast(
      Tag<double>(), hn::ShiftLeft<52>(hn::BitCast(du, (n + Vec<double>(0x1.8p52 + 1023)).v))));
}
HWY_INLINE Vec<float> exponent(Vec<float> x) {
  const hn::RebindToUnsigned<Tag<float> > du;
  const auto bits = hn::ShiftRight<23>(hn::BitCast(du, x.v));
  return Vec<float>(hn::BitCast(Tag<float>(), hn::Or(bits, hn::Set(du, 0x4b000000u)))) -
         Vec<float>(0x1p23 + 127);
}
HWY_INLINE Vec<double> exponent(Vec<double> x) {
  const hn::RebindToUnsigned<Tag<double> > du;
  const auto bits = hn::ShiftRight<52>(hn::BitCast(du, x.v));
  return Vec<double>(hn::BitCast(Tag<double>(), hn::Or(bits, hn::Set(du, 0x4330000000000000u)))) -
         Vec<double>(0x1p52 + 1023);
}
HWY_INLINE Vec<float> mantissa(Vec<float> x) {
  const hn::RebindToUnsigned<Tag<float> > du;
  const auto bits = hn::And(hn::BitCast(du, x.v), hn::Set(du, 0x007fffffu));
  return Vec<float>(hn::BitCast(Tag<float>(), hn::Or(bits, hn::Set(du, 0x3f800000u))));
}
HWY_INLINE Vec<double> mantissa(Vec<double> x) {
  const hn::RebindToUnsigned<Tag<double> > du;
  const auto bits = hn::And(hn::BitCast(du, x.v), hn::Set(du, 0x000fffffffffffffu));
  return Vec<double>(hn::BitCast(Tag<double>(), hn::Or(bits, hn::Set(du, 0x3ff0000000000000u))));
}

// The lanes of a Vec<float> in double precision: two registers.
struct WideMask {
  Mask<double> lo, hi;
  friend HWY_INLINE WideMask operator&(WideMask a, WideMask b) {
    return {a.lo & b.lo, a.hi & b.hi};
  }
  friend HWY_INLINE WideMask operator|(WideMask a, WideMask b) {
    return {a.lo | b.lo, a.hi | b.hi};
  }
  friend HWY_INLINE WideMask operator!(WideMask a) { return {!a.lo, !a.hi}; }
};
struct Wide {
  using Lane = double;
  Vec<double> lo, hi;
  Wide() = default;
  HWY_INLINE Wide(double c) : lo(c), hi(c) {}
  HWY_INLINE Wide(Vec<double> l, Vec<double> h) : lo(l), hi(h) {}
  friend HWY_INLINE Wide operator-(Wide a) { return {-a.lo, -a.hi}; }
#define TANDEM_WIDE(op) \
  friend HWY_INLINE Wide operator op(Wide a, Wide b) { return {a.lo op b.lo, a.hi op b.hi}; }
  TANDEM_WIDE(+)
  TANDEM_WIDE(-)
  TANDEM_WIDE(*)
  TANDEM_WIDE(/)
#undef TANDEM_WIDE
#define TANDEM_WIDE(op) \
  friend HWY_INLINE WideMask operator op(Wide a, Wide b) { return {a.lo op b.lo, a.hi op b.hi}; }
  TANDEM_WIDE(<)
  TANDEM_WIDE(<=)
  TANDEM_WIDE(>)
  TANDEM_WIDE(>=)
  TANDEM_WIDE(==)
  TANDEM_WIDE(!=)
#undef TANDEM_WIDE
};
#define TANDEM_WIDE(name) \
  HWY_INLINE Wide name(Wide a) { return {name(a.lo), name(a.hi)}; }
TANDEM_WIDE(abs)
TANDEM_WIDE(sqrt)
TANDEM_WIDE(floor)
TANDEM_WIDE(ceil)
TANDEM_WIDE(trunc)
TANDEM_WIDE(round)
TANDEM_WIDE(pow2)
TANDEM_WIDE(exponent)
TANDEM_WIDE(mantissa)
#undef TANDEM_WIDE
HWY_INLINE Wide min(Wide a, Wide b) { return {min(a.lo, b.lo), min(a.hi, b.hi)}; }
HWY_INLINE Wide max(Wide a, Wide b) { return {max(a.lo, b.lo), max(a.hi, b.hi)}; }
HWY_INLINE Wide copysign(Wide a, Wide b) { return {copysign(a.lo, b.lo), copysign(a.hi, b.hi)}; }
HWY_INLINE WideMask signbit(Wide a) { return {signbit(a.lo), signbit(a.hi)}; }
HWY_INLINE Wide fma(Wide a, Wide b, Wide c) {
  return {fma(a.lo, b.lo, c.lo), fma(a.hi, b.hi, c.hi)};
}
HWY_INLINE Wide select(WideMask m, Wide a, Wide b) {
  return {select(m.lo, a.lo, b.lo), select(m.hi, a.hi, b.hi)};
}
HWY_INLINE Wide to_f64(Vec<float> x) {
  const hn::Half<Tag<float> > half;
  const Tag<double> d;
  return {Vec<double>(hn::PromoteTo(d, hn::LowerHalf(half, x.v))),
          Vec<double>(hn::PromoteTo(d, hn::UpperHalf(half, x.v)))};
}
HWY_INLINE Vec<float> to_f32(Wide x) {
  const hn::Half<Tag<float> > half;
  return Vec<float>(
      hn::Combine(Tag<float>(), hn::DemoteTo(half, x.hi.v), hn::DemoteTo(half, x.lo.v)));
}

template <auto F, class T>
HWY_NOINLINE Vec<T> call(Vec<T> x) {
  alignas(64) T buffer[Vec<T>::kLanes];
  store(x, buffer);
  for (T& lane : buffer) lane = static_cast<T>(F(lane));
  return load(buffer);
}
template <auto F, class T>
HWY_NOINLINE Vec<T> call(Vec<T> x, Vec<T> y) {
  alignas(64) T a[Vec<T>::kLanes], b[Vec<T>::kLanes];
  store(x, a);
  store(y, b);
  for (int64_t i = 0; i < Vec<T>::kLanes; ++i) a[i] = static_cast<T>(F(a[i], b[i]));
  return load(a);
}
template <auto F, class T>
HWY_NOINLINE Vec<T> patch_lanes(Mask<T> m, Vec<T> x, Vec<T> otherwise) {
  alignas(64) T from[Vec<T>::kLanes], to[Vec<T>::kLanes];
  uint8_t chosen[Vec<T>::kLanes];
  store(x, from);
  store(otherwise, to);
  store(m, chosen);
  for (int64_t i = 0; i < Vec<T>::kLanes; ++i)
    if (chosen[i]) to[i] = static_cast<T>(F(from[i]));
  return load(to);
}
template <auto F, class T>
HWY_INLINE Vec<T> patch(Mask<T> m, Vec<T> x, Vec<T> otherwise) {
  if (HWY_LIKELY(hn::AllFalse(Tag<T>(), m.m))) return otherwise;
  return patch_lanes<F>(m, x, otherwise);
}

#endif  // HWY_SCALAR

}  // namespace HWY_NAMESPACE
}  // namespace tandem::kernels
HWY_AFTER_NAMESPACE();

#endif
