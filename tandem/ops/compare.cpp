#include "tandem/ops/compare.h"

#include <cstring>

#include "tandem/core/apply.h"
#include "tandem/ops/map_op.h"
#include "tandem/ops/ops.h"

namespace tandem {
namespace {

void infer_bits(const InferArgs& a) {
  for (int i = 0; i < a.n_inputs; ++i)
    TANDEM_CHECK_TYPE(!is_floating(a.in(i).dtype), a.op.name, ": \"", a.op.name,
                      "_cpu\" not implemented for '", a.in(i).dtype,
                      "': bits are those of integers and bools");
  infer_map(a);
}

void infer_shift(const InferArgs& a) {
  infer_bits(a);
  TANDEM_CHECK_TYPE(a.out().dtype != kBool, a.op.name, ": \"", a.op.name,
                    "_cpu\" not implemented for 'Bool'");
}

// A fresh bool tensor is contiguous, and true is never stored as 0. `call` is who looks.
bool all_true(const char* call, const Tensor& t) {
  if (t.numel() == 0) return true;
  t.impl()->need_values(call);
  return !std::memchr(t.const_data_ptr(), 0, static_cast<size_t>(t.numel()));
}

}  // namespace

TANDEM_OP(kEq) = {
    .name = "eq",
    .infer = infer_map_truth,
    .kernel = map_kernel,
    .map = MapFn::eq,
    .inputs = 2,
};

TANDEM_OP(kNe) = {
    .name = "ne",
    .infer = infer_map_truth,
    .kernel = map_kernel,
    .map = MapFn::ne,
    .inputs = 2,
};

TANDEM_OP(kLt) = {
    .name = "lt",
    .infer = infer_map_truth,
    .kernel = map_kernel,
    .map = MapFn::lt,
    .inputs = 2,
};

TANDEM_OP(kLe) = {
    .name = "le",
    .infer = infer_map_truth,
    .kernel = map_kernel,
    .map = MapFn::le,
    .inputs = 2,
};

TANDEM_OP(kGt) = {
    .name = "gt",
    .infer = infer_map_truth,
    .kernel = map_kernel,
    .map = MapFn::gt,
    .inputs = 2,
};

TANDEM_OP(kGe) = {
    .name = "ge",
    .infer = infer_map_truth,
    .kernel = map_kernel,
    .map = MapFn::ge,
    .inputs = 2,
};

TANDEM_OP(kLogicalAnd) = {
    .name = "logical_and",
    .infer = infer_map_truth,
    .kernel = map_kernel,
    .map = MapFn::logical_and,
    .inputs = 2,
};

TANDEM_OP(kLogicalOr) = {
    .name = "logical_or",
    .infer = infer_map_truth,
    .kernel = map_kernel,
    .map = MapFn::logical_or,
    .inputs = 2,
};

TANDEM_OP(kLogicalXor) = {
    .name = "logical_xor",
    .infer = infer_map_truth,
    .kernel = map_kernel,
    .map = MapFn::logical_xor,
    .inputs = 2,
};

TANDEM_OP(kLogicalNot) = {
    .name = "logical_not",
    .infer = infer_map_truth,
    .kernel = map_kernel,
    .map = MapFn::logical_not,
    .inputs = 1,
};

TANDEM_OP(kIsnan) = {
    .name = "isnan",
    .infer = infer_map_truth,
    .kernel = map_kernel,
    .map = MapFn::isnan,
    .inputs = 1,
};

TANDEM_OP(kIsinf) = {
    .name = "isinf",
    .infer = infer_map_truth,
    .kernel = map_kernel,
    .map = MapFn::isinf,
    .inputs = 1,
};

TANDEM_OP(kIsfinite) = {
    .name = "isfinite",
    .infer = infer_map_truth,
    .kernel = map_kernel,
    .map = MapFn::isfinite,
    .inputs = 1,
};

TANDEM_OP(kIsposinf) = {
    .name = "isposinf",
    .infer = infer_map_truth,
    .kernel = map_kernel,
    .map = MapFn::isposinf,
    .inputs = 1,
};

TANDEM_OP(kIsneginf) = {
    .name = "isneginf",
    .infer = infer_map_truth,
    .kernel = map_kernel,
    .map = MapFn::isneginf,
    .inputs = 1,
};

TANDEM_OP(kSignbit) = {
    .name = "signbit",
    .infer = infer_map_truth,
    .kernel = map_kernel,
    .map = MapFn::signbit,
    .inputs = 1,
};

TANDEM_OP(kBitwiseAnd) = {
    .name = "bitwise_and",
    .infer = infer_bits,
    .kernel = map_kernel,
    .map = MapFn::bitwise_and,
    .inputs = 2,
};

TANDEM_OP(kBitwiseOr) = {
    .name = "bitwise_or",
    .infer = infer_bits,
    .kernel = map_kernel,
    .map = MapFn::bitwise_or,
    .inputs = 2,
};

TANDEM_OP(kBitwiseXor) = {
    .name = "bitwise_xor",
    .infer = infer_bits,
    .kernel = map_kernel,
    .map = MapFn::bitwise_xor,
    .inputs = 2,
};

TANDEM_OP(kBitwiseNot) = {
    .name = "bitwise_not",
    .infer = infer_bits,
    .kernel = map_kernel,
    .map = MapFn::bitwise_not,
    .inputs = 1,
};

TANDEM_OP(kBitwiseLeftShift) = {
    .name = "bitwise_left_shift",
    .infer = infer_shift,
    .kernel = map_kernel,
    .map = MapFn::shift_left,
    .inputs = 2,
};

TANDEM_OP(kBitwiseRightShift) = {
    .name = "bitwise_right_shift",
    .infer = infer_shift,
    .kernel = map_kernel,
    .map = MapFn::shift_right,
    .inputs = 2,
};

#define TANDEM_COMPARE(name, op)                                                                  \
  Tensor name(const Tensor& x, const Tensor& y) { return apply(op, {x, y}); }                     \
  Tensor name(const Tensor& x, const Scalar& y) { return apply(op, {x, wrapped_number(y)}); }     \
  Tensor Tensor::name(const Tensor& o) const { return apply(op, {*this, o}); }                    \
  Tensor Tensor::name(const Scalar& o) const { return apply(op, {*this, wrapped_number(o)}); }    \
  Tensor& Tensor::name##_(const Tensor& o) const { return apply_inplace(op, *this, {*this, o}); } \
  Tensor& Tensor::name##_(const Scalar& o) const {                                                \
    return apply_inplace(op, *this, {*this, wrapped_number(o)});                                  \
  }
TANDEM_COMPARE(eq, kEq)
TANDEM_COMPARE(ne, kNe)
TANDEM_COMPARE(lt, kLt)
TANDEM_COMPARE(le, kLe)
TANDEM_COMPARE(gt, kGt)
TANDEM_COMPARE(ge, kGe)
TANDEM_COMPARE(bitwise_and, kBitwiseAnd)
TANDEM_COMPARE(bitwise_or, kBitwiseOr)
TANDEM_COMPARE(bitwise_xor, kBitwiseXor)
#undef TANDEM_COMPARE

#define TANDEM_LOGICAL(name, op)                                               \
  Tensor name(const Tensor& x, const Tensor& y) { return apply(op, {x, y}); }  \
  Tensor Tensor::name(const Tensor& o) const { return apply(op, {*this, o}); } \
  Tensor& Tensor::name##_(const Tensor& o) const { return apply_inplace(op, *this, {*this, o}); }
TANDEM_LOGICAL(logical_and, kLogicalAnd)
TANDEM_LOGICAL(logical_or, kLogicalOr)
TANDEM_LOGICAL(logical_xor, kLogicalXor)
#undef TANDEM_LOGICAL

Tensor logical_not(const Tensor& x) { return apply(kLogicalNot, {x}); }
Tensor Tensor::logical_not() const { return apply(kLogicalNot, {*this}); }
Tensor& Tensor::logical_not_() const { return apply_inplace(kLogicalNot, *this, {*this}); }

// The opposite of a truth value is its logical one: flipping all its bits would leave it true.
Tensor bitwise_not(const Tensor& x) { return x.bitwise_not(); }
Tensor Tensor::bitwise_not() const {
  return dtype() == kBool ? logical_not() : apply(kBitwiseNot, {*this});
}
Tensor& Tensor::bitwise_not_() const {
  return dtype() == kBool ? logical_not_() : apply_inplace(kBitwiseNot, *this, {*this});
}

Tensor bitwise_left_shift(const Tensor& x, const Tensor& y) {
  return apply(kBitwiseLeftShift, {x, y});
}
Tensor bitwise_right_shift(const Tensor& x, const Tensor& y) {
  return apply(kBitwiseRightShift, {x, y});
}
Tensor bitwise_left_shift(const Tensor& x, const Scalar& y) {
  return apply(kBitwiseLeftShift, {x, wrapped_number(y)});
}
Tensor bitwise_right_shift(const Tensor& x, const Scalar& y) {
  return apply(kBitwiseRightShift, {x, wrapped_number(y)});
}
Tensor Tensor::bitwise_left_shift(const Tensor& o) const {
  return tandem::bitwise_left_shift(*this, o);
}
Tensor Tensor::bitwise_right_shift(const Tensor& o) const {
  return tandem::bitwise_right_shift(*this, o);
}
Tensor Tensor::bitwise_left_shift(const Scalar& o) const {
  return tandem::bitwise_left_shift(*this, o);
}
Tensor Tensor::bitwise_right_shift(const Scalar& o) const {
  return tandem::bitwise_right_shift(*this, o);
}

Tensor& Tensor::bitwise_left_shift_(const Tensor& o) const {
  return apply_inplace(kBitwiseLeftShift, *this, {*this, o});
}
Tensor& Tensor::bitwise_right_shift_(const Tensor& o) const {
  return apply_inplace(kBitwiseRightShift, *this, {*this, o});
}
Tensor& Tensor::bitwise_left_shift_(const Scalar& o) const {
  return bitwise_left_shift_(wrapped_number(o));
}
Tensor& Tensor::bitwise_right_shift_(const Scalar& o) const {
  return bitwise_right_shift_(wrapped_number(o));
}

// Integers are always finite.
#define TANDEM_IS(name, op, of_integers)                                                 \
  Tensor name(const Tensor& x) { return x.name(); }                                      \
  Tensor Tensor::name() const {                                                          \
    if (!is_floating_point()) return full(sizes(), of_integers, options().dtype(kBool)); \
    return apply(op, {*this});                                                           \
  }
TANDEM_IS(isnan, kIsnan, false)
TANDEM_IS(isinf, kIsinf, false)
TANDEM_IS(isfinite, kIsfinite, true)
TANDEM_IS(isposinf, kIsposinf, false)
TANDEM_IS(isneginf, kIsneginf, false)
#undef TANDEM_IS
Tensor isreal(const Tensor& x) { return x.isreal(); }
Tensor Tensor::isreal() const { return full(sizes(), true, options().dtype(kBool)); }
Tensor signbit(const Tensor& x) { return apply(kSignbit, {x}); }
Tensor Tensor::signbit() const { return apply(kSignbit, {*this}); }

Tensor isclose(const Tensor& x, const Tensor& y, double rtol, double atol, bool equal_nan) {
  TANDEM_CHECK_TYPE(x.dtype() == y.dtype(), "isclose: ", x.dtype(), " did not match ", y.dtype());
  TANDEM_CHECK(rtol >= 0 && atol >= 0, "isclose: rtol and atol must not be negative, got ", rtol,
               " and ", atol);
  Tensor close = x == y;
  if (equal_nan) close = close | (x.isnan() & y.isnan());
  // Integers that differ may be the same as real numbers.
  if (rtol == 0 && atol == 0) return close;
  const Tensor a = x.is_floating_point() ? x : x.to(default_real_dtype());
  const Tensor b = y.is_floating_point() ? y : y.to(default_real_dtype());
  const Tensor difference = (a - b).abs();
  return close | (difference.isfinite() & (difference <= (b * rtol).abs() + atol));
}
Tensor Tensor::isclose(const Tensor& o, double rtol, double atol, bool equal_nan) const {
  return tandem::isclose(*this, o, rtol, atol, equal_nan);
}
bool allclose(const Tensor& x, const Tensor& y, double rtol, double atol, bool equal_nan) {
  return all_true("allclose", isclose(x, y, rtol, atol, equal_nan));
}
bool Tensor::allclose(const Tensor& o, double rtol, double atol, bool equal_nan) const {
  return tandem::allclose(*this, o, rtol, atol, equal_nan);
}

bool equal(const Tensor& x, const Tensor& y) {
  return x.sizes() == y.sizes() && all_true("equal", x == y);
}
bool Tensor::equal(const Tensor& o) const { return tandem::equal(*this, o); }

#define TANDEM_NUMBER_FIRST(name) \
  Tensor name(const Scalar& x, const Tensor& y) { return name(wrapped_number(x), y); }
TANDEM_NUMBER_FIRST(bitwise_and)
TANDEM_NUMBER_FIRST(bitwise_or)
TANDEM_NUMBER_FIRST(bitwise_xor)
TANDEM_NUMBER_FIRST(bitwise_left_shift)
TANDEM_NUMBER_FIRST(bitwise_right_shift)
#undef TANDEM_NUMBER_FIRST

DType result_type(const Tensor& x, const Tensor& y) {
  Promotion p;
  p.add(x.type_of());
  p.add(y.type_of());
  return p.result();
}
DType result_type(const Tensor& x, const Scalar& y) { return result_type(x, wrapped_number(y)); }
DType result_type(const Scalar& x, const Tensor& y) { return result_type(wrapped_number(x), y); }

Tensor isin(const Tensor& elements, const Tensor& test_elements, bool, bool invert) {
  const int64_t n = test_elements.numel();
  if (n == 0) return full(elements.sizes(), invert, elements.options().dtype(kBool));
  // All pairs would need memory for each: where the nearest one would be in order is enough.
  const DType t = result_type(elements, test_elements);
  const Tensor wanted = elements.detach().to(t);
  const Tensor sorted = std::get<0>(test_elements.detach().to(t).reshape({-1}).sort());
  const Tensor place = searchsorted(sorted, wanted).clamp_max(n - 1);
  const Tensor nearest = sorted.take(place);
  return invert ? nearest != wanted : nearest == wanted;
}
Tensor isin(const Tensor& elements, const Scalar& test_element, bool, bool invert) {
  return invert ? elements.detach() != test_element : elements.detach() == test_element;
}
Tensor isin(const Scalar& element, const Tensor& test_elements, bool assume_unique, bool invert) {
  return isin(full({}, element, test_elements.device()), test_elements, assume_unique, invert);
}

#define TANDEM_OPERATOR(symbol, name, mirrored)                                   \
  Tensor operator symbol(const Tensor& x, const Tensor& y) { return name(x, y); } \
  Tensor operator symbol(const Tensor& x, const Scalar& y) { return name(x, y); } \
  Tensor operator symbol(const Scalar& x, const Tensor& y) { return mirrored(y, x); }
TANDEM_OPERATOR(==, eq, eq)
TANDEM_OPERATOR(!=, ne, ne)
TANDEM_OPERATOR(<, lt, gt)
TANDEM_OPERATOR(<=, le, ge)
TANDEM_OPERATOR(>, gt, lt)
TANDEM_OPERATOR(>=, ge, le)
TANDEM_OPERATOR(&, bitwise_and, bitwise_and)
TANDEM_OPERATOR(|, bitwise_or, bitwise_or)
TANDEM_OPERATOR(^, bitwise_xor, bitwise_xor)
#undef TANDEM_OPERATOR

}  // namespace tandem
