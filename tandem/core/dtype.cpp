#include "tandem/core/dtype.h"

#include <atomic>

namespace tandem {
namespace {

// Rank within a category; categories are bool < integer < floating.
int category(DType t) { return t == kBool ? 0 : is_floating(t) ? 2 : 1; }

std::atomic<DType> g_default{kFloat};

}  // namespace

DType promote_types(DType a, DType b) {
  if (a == b) return a;
  if (a == DType::Undefined) return b;
  if (b == DType::Undefined) return a;
  const int ca = category(a), cb = category(b);
  if (ca != cb) return ca > cb ? a : b;
  if (ca == 2) {
    if (a == kDouble || b == kDouble) return kDouble;
    // float16 and bfloat16 have no common 16-bit home.
    return kFloat;
  }
  // A uint8 beside a signed type needs the next wider signed one.
  if (a == kByte || b == kByte) {
    const DType other = a == kByte ? b : a;
    return other == kChar ? kShort : other;
  }
  return static_cast<int>(a) > static_cast<int>(b) ? a : b;
}

bool can_cast(DType from, DType to) {
  if (is_floating(from) && !is_floating(to)) return false;
  if (from != kBool && to == kBool) return false;
  return true;
}

DType get_default_dtype() { return g_default.load(std::memory_order_relaxed); }

void set_default_dtype(DType t) {
  TANDEM_CHECK_TYPE(t != DType::Undefined, "set_default_dtype: the dtype is undefined");
  g_default.store(t, std::memory_order_relaxed);
}

}  // namespace tandem
