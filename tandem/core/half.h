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

}  // namespace tandem

template <>
class std::numeric_limits<tandem::Half> {
 public:
  static constexpr bool is_specialized = true;
  static constexpr bool is_signed = true;
  static constexpr bool is_integer = false;
  static constexpr bool is_exact = false;
  static constexpr bool has_infinity = true;
  static constexpr bool has_quiet_NaN = true;
  static constexpr bool has_signaling_NaN = true;
  static constexpr float_denorm_style has_denorm = denorm_present;
  static constexpr bool has_denorm_loss = false;
  static constexpr float_round_style round_style = round_to_nearest;
  static constexpr bool is_iec559 = true;
  static constexpr bool is_bounded = true;
  static constexpr bool is_modulo = false;
  static constexpr int digits = 11;
  static constexpr int digits10 = 3;
  static constexpr int max_digits10 = 5;
  static constexpr int radix = 2;
  static constexpr int min_exponent = -13;
  static constexpr int min_exponent10 = -4;
  static constexpr int max_exponent = 16;
  static constexpr int max_exponent10 = 4;
  static constexpr bool traps = false;
  static constexpr bool tinyness_before = false;
  static tandem::Half lowest() { return tandem::Half::from_bits(0xfbff); }
  static tandem::Half max() { return tandem::Half::from_bits(0x7bff); }
  static tandem::Half min() { return tandem::Half::from_bits(0x0400); }
  static tandem::Half epsilon() { return tandem::Half::from_bits(0x1400); }
  static tandem::Half infinity() { return tandem::Half::from_bits(0x7c00); }
  static tandem::Half quiet_NaN() { return tandem::Half::from_bits(0x7e00); }
  static tandem::Half signaling_NaN() { return tandem::Half::from_bits(0x7d00); }
  static tandem::Half denorm_min() { return tandem::Half::from_bits(0x0001); }
  static tandem::Half round_error() { return tandem::Half::from_bits(0x3800); }
};
template <>
class std::numeric_limits<tandem::BFloat16> {
 public:
  static constexpr bool is_specialized = true;
  static constexpr bool is_signed = true;
  static constexpr bool is_integer = false;
  static constexpr bool is_exact = false;
  static constexpr bool has_infinity = true;
  static constexpr bool has_quiet_NaN = true;
  static constexpr bool has_signaling_NaN = true;
  static constexpr float_denorm_style has_denorm = denorm_present;
  static constexpr bool has_denorm_loss = false;
  static constexpr float_round_style round_style = round_to_nearest;
  static constexpr bool is_iec559 = true;
  static constexpr bool is_bounded = true;
  static constexpr bool is_modulo = false;
  static constexpr int digits = 8;
  static constexpr int digits10 = 2;
  static constexpr int max_digits10 = 4;
  static constexpr int radix = 2;
  static constexpr int min_exponent = -125;
  static constexpr int min_exponent10 = -37;
  static constexpr int max_exponent = 128;
  static constexpr int max_exponent10 = 38;
  static constexpr bool traps = false;
  static constexpr bool tinyness_before = false;
  static tandem::BFloat16 lowest() { return tandem::BFloat16::from_bits(0xff7f); }
  static tandem::BFloat16 max() { return tandem::BFloat16::from_bits(0x7f7f); }
  static tandem::BFloat16 min() { return tandem::BFloat16::from_bits(0x0080); }
  static tandem::BFloat16 epsilon() { return tandem::BFloat16::from_bits(0x3c00); }
  static tandem::BFloat16 infinity() { return tandem::BFloat16::from_bits(0x7f80); }
  static tandem::BFloat16 quiet_NaN() { return tandem::BFloat16::from_bits(0x7fc0); }
  static tandem::BFloat16 signaling_NaN() { return tandem::BFloat16::from_bits(0x7fa0); }
  static tandem::BFloat16 denorm_min() { return tandem::BFloat16::from_bits(0x0001); }
  static tandem::BFloat16 round_error() { return tandem::BFloat16::from_bits(0x3f00); }
};
