#include <cmath>
#include <limits>

#include "tandem/ops/fits_detail.h"

namespace tandem::detail {
namespace {

// The names that LibTorch's message has for them.
const char* cpp_name(DType t) {
  switch (t) {
    case kByte:
      return "uint8_t";
    case kChar:
      return "int8_t";
    case kShort:
      return "int16_t";
    case kInt:
      return "int";
    case kLong:
      return "int64_t";
    case kFloat:
      return "float";
    default:
      return toString(t);
  }
}

template <class T>
bool fits_whole(const Scalar& value) {
  using Limits = std::numeric_limits<T>;
  if (value.isFloatingPoint()) {
    const double v = value.toDouble();
    // The greatest int64 is not a double: the number above it is the first that does not fit.
    if (sizeof(T) == 8) return v >= -0x1p63 && v < 0x1p63;
    return v >= static_cast<double>(Limits::min()) && v <= static_cast<double>(Limits::max());
  }
  const int64_t v = value.toLong();
  if (std::is_unsigned_v<T>)
    return v >= -static_cast<int64_t>(Limits::max()) && v <= static_cast<int64_t>(Limits::max());
  return v >= static_cast<int64_t>(Limits::min()) && v <= static_cast<int64_t>(Limits::max());
}

bool fits(const Scalar& value, DType t) {
  const double v = value.toDouble();
  switch (t) {
    case kByte:
      return fits_whole<uint8_t>(value);
    case kChar:
      return fits_whole<int8_t>(value);
    case kShort:
      return fits_whole<int16_t>(value);
    case kInt:
      return fits_whole<int32_t>(value);
    case kLong:
      return fits_whole<int64_t>(value);
    case kHalf:
      return !std::isfinite(v) || std::abs(v) <= 65504;
    case kBFloat16:
      return !std::isfinite(v) || std::abs(v) <= 0x1.fep127;
    case kFloat:
      return !std::isfinite(v) || std::abs(v) <= std::numeric_limits<float>::max();
    default:
      return true;
  }
}

}  // namespace

void refuse_unfit(const char* op, const Scalar& value, DType t) {
  TANDEM_CHECK(fits(value, t), op, ": value cannot be converted to type ", cpp_name(t),
               " without overflow: ", value);
}

}  // namespace tandem::detail
