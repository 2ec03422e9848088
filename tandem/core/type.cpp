#include "tandem/core/type.h"

#include "tandem/core/attrs.h"
#include "tandem/core/shape.h"

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

void print_type(std::ostream& out, const TensorType& t) { out << (t.weak ? "weak " : "") << t; }

void read_field(AttrReader& in, TensorType& t) {
  constexpr size_t kMaxDims = 64;
  t.weak = in.accept("weak");
  t.dtype = in.dtype();
  in.skip_blanks();
  const size_t place = in.place();
  read_field(in, t.sizes);
  for (const int64_t n : t.sizes)
    if (n < 0) in.fail_at(place, str("negative extent in ", t.sizes));
  if (t.sizes.size() > kMaxDims)
    in.fail_at(place, str("a tensor of ", t.sizes.size(), " dimensions; at most ", kMaxDims,
                          " are possible"));
  // Bytes, not elements, must be countable.
  int64_t bytes = static_cast<int64_t>(size_of(t.dtype));
  for (const int64_t n : t.sizes)
    if (n == 0) bytes = 0;
  for (const int64_t n : t.sizes)
    if (__builtin_mul_overflow(bytes, n, &bytes))
      in.fail_at(place, str("the extents ", t.sizes, " are too large"));
  t.device = Device();
  if (in.accept("on")) t.device = in.device();
}

DType Promotion::result() const { return combine(combine(array_, scalar_), number_); }

}  // namespace tandem

size_t std::hash<tandem::TensorType>::operator()(const tandem::TensorType& t) const {
  using tandem::detail::hash_field;
  return tandem::detail::mix(tandem::detail::mix(hash_field(t.sizes), static_cast<size_t>(t.dtype)),
                             tandem::detail::mix(std::hash<tandem::Device>()(t.device), t.weak));
}
