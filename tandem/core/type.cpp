#include "tandem/core/type.h"

namespace tandem {
namespace {

int category(DType t) {
  if (t == DType::Undefined) return -1;
  return t == kBool ? 0 : is_floating(t) ? 2 : 1;
}

// A lower-ranked operand changes the result only if its category is higher.
DType combine(DType high, DType low) {
  if (category(low) > category(high)) return promote_types(high, low);
  return high == DType::Undefined ? low : high;
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const TensorType& t) {
  out << name_of(t.dtype) << ' ' << t.sizes;
  if (!t.device.is_cpu()) out << " on " << t.device;
  return out;
}

DType Promotion::result() const { return combine(combine(array_, scalar_), number_); }

}  // namespace tandem
