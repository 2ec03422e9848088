#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <ostream>
#include <type_traits>

namespace tandem {

/// Storage formats of 16 bits. Arithmetic happens in float: both convert implicitly to it.
struct Half {
  uint16_t bits = 0;
  Half() = default;
  Half(float f) : bits(from_float(f)) {}
  template <class T>
  requires(std::is_arithmetic_v<T> && !std::is_same_v<T, float>) Half(T v)
      : Half(static_cast<float>(v)) {}
  operator float() const { return to_float(bits); }
  static Half from_bits(uint16_t b) {
    Half h;
    h.bits = b;
    return h;
  }

  static uint16_t from_float(float f) {
    const uint32_t u = std::bit_cast<uint32_t>(f);
    const uint16_t sign = static_cast<uint16_t>((u >> 16) & 0x8000);
    const uint32_t magnitude = u & 0x7fffffff;
    if (magnitude > 0x7f800000) return sign | 0x7e00;   // nan
    if (magnitude >= 0x477ff000) return sign | 0x7c00;  // rounds to infinity
    if (magnitude < 0x38800000) {
      // Below the smallest normal half: adding 0.5 lines the mantissa up and rounds to nearest
      // even.
      const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
      return sign | static_cast<uint16_t>(std::bit_cast<uint32_t>(shifted) - 0x3f000000);
    }
    const uint32_t odd = (magnitude >> 13) & 1;
    return sign | static_cast<uint16_t>((magnitude + 0xc8000fff + odd) >> 13);
  }
  static float to_float(uint16_t h) {
    const uint32_t sign = static_cast<uint32_t>(h & 0x8000) << 16;
    const uint32_t rest = h & 0x7fff;
    if (rest >= 0x7c00) return std::bit_cast<float>(sign | 0x7f800000 | (rest << 13));
    if (rest >= 0x0400) return std::bit_cast<float>(sign | ((rest << 13) + 0x38000000));
    const float value = static_cast<float>(rest) * 0x1p-24f;
    return sign ? -value : value;
  }
};

struct BFloat16 {
  uint16_t bits = 0;
  BFloat16() = default;
  BFloat16(float f) : bits(from_float(f)) {}
  template <class T>
  requires(std::is_arithmetic_v<T> && !std::is_same_v<T, float>) BFloat16(T v)
      : BFloat16(static_cast<float>(v)) {}
  operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
  static BFloat16 from_bits(uint16_t b) {
    BFloat16 h;
    h.bits = b;
    return h;
  }
  static uint16_t from_float(float f) {
    const uint32_t u = std::bit_cast<uint32_t>(f);
    if ((u & 0x7fffffff) > 0x7f800000) return static_cast<uint16_t>((u >> 16) | 0x0040);
    return static_cast<uint16_t>((u + 0x7fff + ((u >> 16) & 1)) >> 16);
  }
};

inline std::ostream& operator<<(std::ostream& out, Half h) { return out << static_cast<float>(h); }
inline std::ostream& operator<<(std::ostream& out, BFloat16 h) {
  return out << static_cast<float>(h);
}

/// std::numeric_limits of a format of 16 bits, which all follow from how the bits are shared out.
template <class T, int mantissa_bits>
class HalfLimits {
 private:
  static constexpr uint16_t kInfinity = (0x7fff >> mantissa_bits) << mantissa_bits;
  static constexpr uint16_t kMax = kInfinity - 1;
  /// How many decimal digits fit into so many binary ones.
  static constexpr int decimal(int binary) { return binary * 30103 / 100000; }
  static T power_of_two(int exponent) {
    return T::from_bits(static_cast<uint16_t>((exponent + max_exponent - 1) << mantissa_bits));
  }

 public:
  static constexpr bool is_specialized = true;
  static constexpr bool is_signed = true;
  static constexpr bool is_integer = false;
  static constexpr bool is_exact = false;
  static constexpr bool has_infinity = true;
  static constexpr bool has_quiet_NaN = true;
  static constexpr bool has_signaling_NaN = true;
  static constexpr std::float_denorm_style has_denorm = std::denorm_present;
  static constexpr bool has_denorm_loss = false;
  static constexpr std::float_round_style round_style = std::round_to_nearest;
  static constexpr bool is_iec559 = true;
  static constexpr bool is_bounded = true;
  static constexpr bool is_modulo = false;
  static constexpr bool traps = false;
  static constexpr bool tinyness_before = false;

  static constexpr int radix = 2;
  static constexpr int digits = mantissa_bits + 1;
  static constexpr int max_exponent = 1 << (14 - mantissa_bits);
  static constexpr int min_exponent = 3 - max_exponent;
  static constexpr int digits10 = decimal(mantissa_bits);
  static constexpr int max_digits10 = 2 + decimal(digits);
  static constexpr int max_exponent10 = decimal(max_exponent);
  static constexpr int min_exponent10 = -decimal(1 - min_exponent);

  static T lowest() { return T::from_bits(0x8000 | kMax); }
  static T max() { return T::from_bits(kMax); }
  static T min() { return power_of_two(min_exponent - 1); }
  static T epsilon() { return power_of_two(-mantissa_bits); }
  static T round_error() { return power_of_two(-1); }
  static T denorm_min() { return T::from_bits(1); }
  static T infinity() { return T::from_bits(kInfinity); }
  static T quiet_NaN() { return T::from_bits(kInfinity | 1 << (mantissa_bits - 1)); }
  static T signaling_NaN() { return T::from_bits(kInfinity | 1 << (mantissa_bits - 2)); }
};

}  // namespace tandem

template <>
class std::numeric_limits<tandem::Half> : public tandem::HalfLimits<tandem::Half, 10> {};
template <>
class std::numeric_limits<tandem::BFloat16> : public tandem::HalfLimits<tandem::BFloat16, 7> {};
