#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "tandem/core/dtype.h"

namespace tandem::kernels {

/// One value from one element type to another, without undefined behaviour: see copy() in map.h.
template <class To, class From>
inline To convert_value(From x) {
  if constexpr (std::is_same_v<To, From>) {
    return x;
  } else if constexpr (std::is_same_v<From, Half> || std::is_same_v<From, BFloat16>) {
    return convert_value<To>(static_cast<float>(x));
  } else if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else if constexpr (std::is_same_v<To, Half> || std::is_same_v<To, BFloat16>) {
    return To(static_cast<float>(x));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    // As the processor's conversion does: what does not fit is the smallest value.
    using Wide = std::conditional_t<sizeof(To) == 8, int64_t, int32_t>;
    constexpr From kLimit = sizeof(To) == 8 ? From(0x1p63) : From(0x1p31);
    const bool fits = x > -kLimit - From(1) && x < kLimit;
    return static_cast<To>(fits ? static_cast<Wide>(x) : std::numeric_limits<Wide>::min());
  } else {
    return static_cast<To>(x);
  }
}

using ConvertFn = void (*)(const void* src, void* dst, int64_t n);
/// The loop for contiguous elements; for equal types it copies.
ConvertFn convert_fn(DType from, DType to);

}  // namespace tandem::kernels
