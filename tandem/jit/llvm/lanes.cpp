#include "tandem/jit/llvm/lanes.h"

#include <cmath>
#include <limits>

#include "tandem/base/error.h"
#include "tandem/kernels/simd/lane.h"

namespace tandem::jit {
namespace {

bool is_real(LaneType t) { return t == LaneType::f32 || t == LaneType::f64; }
int bytes(LaneType t) { return t == LaneType::f32 ? 4 : 8; }
const char* name(LaneType t) {
  return t == LaneType::f32 ? "f32" : t == LaneType::f64 ? "f64" : "i64";
}

}  // namespace

Type Lanes::type(LaneType t, int n) const {
  switch (t) {
    case LaneType::f32:
      return ir_.vec(ir_.f32, n);
    case LaneType::f64:
      return ir_.vec(ir_.f64, n);
    case LaneType::i64:
      return ir_.vec(ir_.i64, n);
    case LaneType::mask:
      break;
  }
  return ir_.vec(ir_.i1, n);
}

Type Lanes::stored(DType t, int n) const {
  switch (t) {
    case kByte:
    case kChar:
    case kBool:
      return ir_.vec(ir_.i8, n);
    case kShort:
    case kHalf:
    case kBFloat16:
      return ir_.vec(ir_.i16, n);
    case kInt:
      return ir_.vec(ir_.i32, n);
    case kLong:
      return ir_.vec(ir_.i64, n);
    case kFloat:
      return ir_.vec(ir_.f32, n);
    case kDouble:
      return ir_.vec(ir_.f64, n);
    default:
      break;
  }
  TANDEM_ASSERT(false, "jit: an operand without a dtype");
  return nullptr;
}

Value Lanes::constant(LaneType t, double value, int n) {
  switch (t) {
    case LaneType::f32:
      return ir_.real(ir_.f32, static_cast<float>(value), n);
    case LaneType::f64:
      return ir_.real(ir_.f64, value, n);
    case LaneType::i64:
      return ir_.integer(ir_.i64, static_cast<uint64_t>(kernels::lane::from_double<int64_t>(value)),
                         n);
    case LaneType::mask:
      break;
  }
  return ir_.integer(ir_.i1, value != 0, n);
}

Value Lanes::identity(Combining c, LaneType t, int n) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  switch (c) {
    case Combining::sum:
      return constant(t, -0.0, n);
    case Combining::prod:
      return constant(t, 1, n);
    case Combining::max:  // integers saturate
      return constant(t, -kInf, n);
    case Combining::min:
      return constant(t, kInf, n);
  }
  return nullptr;
}

Value Lanes::join(Combining c, LaneType t, Value a, Value b) {
  const bool real = is_real(t);
  if (c == Combining::sum) return real ? ir_.fadd(a, b) : ir_.add(a, b);
  if (c == Combining::prod) return real ? ir_.fmul(a, b) : ir_.mul(a, b);
  const bool max = c == Combining::max;
  if (!real) return ir_.select(ir_.icmp(max ? LLVMIntSLT : LLVMIntSGT, a, b), b, a);
  // A nan wins over every number, and the first of two nans stays.
  const Value better = ir_.select(ir_.fcmp(max ? LLVMRealOGT : LLVMRealOLT, b, a), b, a);
  const Value first_nan = ir_.and_(ir_.fcmp(LLVMRealUNO, b, b), ir_.fcmp(LLVMRealORD, a, a));
  return ir_.select(first_nan, b, better);
}

Value Lanes::fold(Combining c, LaneType t, Value x, int n) {
  // Down to one register of 128 bits by halves; then within it, because narrower vectors make LLVM
  // think long.
  const int width = 16 / bytes(t);
  for (; n > width; n /= 2) x = join(c, t, ir_.part(x, 0, n / 2), ir_.part(x, n / 2, n / 2));
  for (int half = n / 2; half > 0; half /= 2) x = join(c, t, x, ir_.rotated(x, half, n));
  return ir_.extract(x, 0);
}

// As the processor's conversion does: what does not fit is the smallest value.
Value Lanes::to_integer(Value x, Type real, Type integer, int bits, int n) {
  const double limit = bits == 64 ? 0x1p63 : 0x1p31;
  const double lowest = real == ir_.f64 && bits == 32 ? -limit - 1 : -limit;
  // In float32 and for 64 bits limit + 1 is limit: the lowest value itself then is what does not
  // fit.
  const Value fits = ir_.and_(ir_.fcmp(LLVMRealOGT, x, ir_.real(real, lowest, n)),
                              ir_.fcmp(LLVMRealOLT, x, ir_.real(real, limit, n)));
  return ir_.select(fits, ir_.fptosi(x, ir_.vec(integer, n)),
                    ir_.integer(integer, uint64_t{1} << (bits - 1), n));
}

Value Lanes::convert(Value x, LaneType from, LaneType to, int n) {
  if (from == to) return x;
  if (to == LaneType::mask) {
    if (from == LaneType::i64) return ir_.icmp(LLVMIntNE, x, ir_.zero(ir_.vec(ir_.i64, n)));
    return ir_.fcmp(LLVMRealUNE, x, ir_.zero(type(from, n)));
  }
  if (from == LaneType::mask) {
    if (to == LaneType::i64) return ir_.zext(x, type(to, n));
    return ir_.select(x, constant(to, 1, n), constant(to, 0, n));
  }
  if (to == LaneType::i64)
    return to_integer(x, from == LaneType::f32 ? ir_.f32 : ir_.f64, ir_.i64, 64, n);
  if (from == LaneType::i64) return ir_.sitofp(x, type(to, n));
  return to == LaneType::f64 ? ir_.fpext(x, type(to, n)) : ir_.fptrunc(x, type(to, n));
}

Value Lanes::from_stored(Value raw, DType from, LaneType to, int n) {
  switch (from) {
    case kFloat:
      return convert(raw, LaneType::f32, to, n);
    case kDouble:
      return convert(raw, LaneType::f64, to, n);
    case kHalf:
      return convert(ir_.fpext(ir_.bitcast(raw, ir_.vec(ir_.f16, n)), ir_.vec(ir_.f32, n)),
                     LaneType::f32, to, n);
    case kBFloat16: {
      const Value bits = ir_.shl(ir_.zext(raw, ir_.vec(ir_.i32, n)), ir_.integer(ir_.i32, 16, n));
      return convert(ir_.bitcast(bits, ir_.vec(ir_.f32, n)), LaneType::f32, to, n);
    }
    case kLong:
      return convert(raw, LaneType::i64, to, n);
    default:
      break;
  }
  if (to == LaneType::mask) return ir_.icmp(LLVMIntNE, raw, ir_.zero(stored(from, n)));
  const bool is_unsigned = from == kByte || from == kBool;
  auto widened = [&](Type t) {
    return is_unsigned ? ir_.zext(raw, ir_.vec(t, n)) : ir_.sext(raw, ir_.vec(t, n));
  };
  if (to == LaneType::i64) return widened(ir_.i64);
  // All these fit in 32 bits, for which there is a conversion of vectors.
  return ir_.sitofp(from == kInt ? raw : widened(ir_.i32), type(to, n));
}

Value Lanes::to_stored(Value x, LaneType from, DType to, int n) {
  switch (to) {
    case kFloat:
      return convert(x, from, LaneType::f32, n);
    case kDouble:
      return convert(x, from, LaneType::f64, n);
    case kLong:
      return convert(x, from, LaneType::i64, n);
    case kBool:
      return ir_.zext(convert(x, from, LaneType::mask, n), stored(to, n));
    case kHalf:
      return ir_.bitcast(ir_.fptrunc(convert(x, from, LaneType::f32, n), ir_.vec(ir_.f16, n)),
                         stored(to, n));
    case kBFloat16: {
      const Value v = convert(x, from, LaneType::f32, n);
      auto k = [&](uint64_t c) { return ir_.integer(ir_.i32, c, n); };
      const Value u = ir_.bitcast(v, ir_.vec(ir_.i32, n));
      const Value high = ir_.lshr(u, k(16));
      const Value rounded = ir_.lshr(ir_.add(ir_.add(u, k(0x7fff)), ir_.and_(high, k(1))), k(16));
      const Value nan = ir_.fcmp(LLVMRealUNO, v, v);
      return ir_.trunc(ir_.select(nan, ir_.or_(high, k(0x40)), rounded), stored(to, n));
    }
    default:
      break;
  }
  if (from == LaneType::mask) return ir_.zext(x, stored(to, n));
  if (is_real(from)) x = to_integer(x, from == LaneType::f32 ? ir_.f32 : ir_.f64, ir_.i32, 32, n);
  if (to == kInt && is_real(from)) return x;
  return ir_.trunc(x, stored(to, n));
}

Value Lanes::compare(ScalarOp op, LaneType t, Value a, Value b) {
  if (is_real(t)) {
    // Only `ne` holds for nan.
    const LLVMRealPredicate p = op == ScalarOp::lt   ? LLVMRealOLT
                                : op == ScalarOp::le ? LLVMRealOLE
                                : op == ScalarOp::gt ? LLVMRealOGT
                                : op == ScalarOp::ge ? LLVMRealOGE
                                : op == ScalarOp::eq ? LLVMRealOEQ
                                                     : LLVMRealUNE;
    return ir_.fcmp(p, a, b);
  }
  const bool mask = t == LaneType::mask;  // false < true
  const LLVMIntPredicate p = op == ScalarOp::lt   ? (mask ? LLVMIntULT : LLVMIntSLT)
                             : op == ScalarOp::le ? (mask ? LLVMIntULE : LLVMIntSLE)
                             : op == ScalarOp::gt ? (mask ? LLVMIntUGT : LLVMIntSGT)
                             : op == ScalarOp::ge ? (mask ? LLVMIntUGE : LLVMIntSGE)
                             : op == ScalarOp::eq ? LLVMIntEQ
                                                  : LLVMIntNE;
  return ir_.icmp(p, a, b);
}

Value Lanes::buffer(int which) {
  if (buffers_[which] == nullptr) buffers_[which] = ir_.stack(kMaxLanes * 8);
  return buffers_[which];
}

Value Lanes::called(const ScalarInstr& i, Value a, Value b, int n, Value count) {
  const int align = bytes(i.type);
  ir_.store(a, buffer(0), align);
  const std::string symbol = std::string("tandem_call_") + name(i.type) + "_" + i.name;
  const Value lanes = count != nullptr ? count : ir_.num(n == 0 ? 1 : n);
  if (b == nullptr) {
    ir_.call(symbol, ir_.none, {buffer(0), lanes});
  } else {
    ir_.store(b, buffer(1), align);
    ir_.call(symbol, ir_.none, {buffer(0), buffer(1), lanes});
  }
  return ir_.load(type(i.type, n), buffer(0), align);
}

Value Lanes::patched(const ScalarInstr& i, Value mask, Value x, Value otherwise, int n) {
  const int lanes = n == 0 ? 1 : n;
  const Type integer = ir_.api.IntTypeInContext(ir_.context, static_cast<unsigned>(lanes));
  const Value bits = n == 0 ? mask : ir_.bitcast(mask, integer);
  const Block before = ir_.here(), rare = ir_.block(), after = ir_.block();
  ir_.branch(ir_.icmp(LLVMIntNE, bits, ir_.zero(integer)), rare, after);
  ir_.go_on_in(rare);
  const int align = bytes(i.type);
  ir_.store(x, buffer(0), align);
  ir_.store(otherwise, buffer(1), align);
  const Value wide = lanes == 64 ? bits : ir_.zext(bits, ir_.i64);
  ir_.call(std::string("tandem_patch_") + name(i.type) + "_" + i.name, ir_.none,
           {buffer(1), buffer(0), wide, ir_.num(lanes)});
  const Value changed = ir_.load(type(i.type, n), buffer(1), align);
  ir_.jump(after);
  ir_.go_on_in(after);
  const Value result = ir_.phi(type(i.type, n));
  ir_.incoming(result, otherwise, before);
  ir_.incoming(result, changed, rare);
  return result;
}

Value Lanes::compute(const ScalarInstr& i, LaneType from, Value a, Value b, Value c, int n,
                     Value count) {
  const LaneType t = i.type;
  const bool real = is_real(t);
  const Type whole = type(t, n);
  // The bits of a real value, and back.
  const bool is_f32 = t == LaneType::f32;
  const Type word = is_f32 ? ir_.i32 : ir_.i64;
  auto bits = [&](Value x) { return ir_.bitcast(x, ir_.vec(word, n)); };
  auto from_bits = [&](Value x) { return ir_.bitcast(x, whole); };
  auto k = [&](uint64_t x) { return ir_.integer(word, x, n); };
  const int mantissa_bits = is_f32 ? 23 : 52;
  switch (i.op) {
    case ScalarOp::constant:
      return constant(t, i.value, n);
    case ScalarOp::add:
      return real ? ir_.fadd(a, b) : ir_.add(a, b);
    case ScalarOp::sub:
      return real ? ir_.fsub(a, b) : ir_.sub(a, b);
    case ScalarOp::mul:
      return real ? ir_.fmul(a, b) : ir_.mul(a, b);
    case ScalarOp::div:
      return ir_.fdiv(a, b);
    case ScalarOp::neg:
      return real ? ir_.fneg(a) : ir_.sub(ir_.zero(whole), a);
    case ScalarOp::lt:
    case ScalarOp::le:
    case ScalarOp::gt:
    case ScalarOp::ge:
    case ScalarOp::eq:
    case ScalarOp::ne:
      return compare(i.op, from, a, b);
    case ScalarOp::mask_and:
      return ir_.and_(a, b);
    case ScalarOp::mask_or:
      return ir_.or_(a, b);
    case ScalarOp::mask_xor:
      return ir_.xor_(a, b);
    case ScalarOp::mask_not:
      return ir_.not_(a);
    case ScalarOp::select:
      return ir_.select(a, b, c);
    case ScalarOp::fma:
      if (!real) return ir_.add(ir_.mul(a, b), c);
      if (!fused_) return ir_.fadd(ir_.fmul(a, b), c);
      return ir_.intrinsic("llvm.fma", {whole}, {a, b, c});
    case ScalarOp::min:
      return ir_.select(compare(ScalarOp::lt, t, a, b), a, b);
    case ScalarOp::max:
      return ir_.select(compare(ScalarOp::gt, t, a, b), a, b);
    case ScalarOp::abs:
      if (real) return ir_.intrinsic("llvm.fabs", {whole}, {a});
      return ir_.select(ir_.icmp(LLVMIntSLT, a, ir_.zero(whole)), ir_.sub(ir_.zero(whole), a), a);
    case ScalarOp::sqrt:
      return ir_.intrinsic("llvm.sqrt", {whole}, {a});
    case ScalarOp::floor:
      return ir_.intrinsic("llvm.floor", {whole}, {a});
    case ScalarOp::ceil:
      return ir_.intrinsic("llvm.ceil", {whole}, {a});
    case ScalarOp::trunc:
      return ir_.intrinsic("llvm.trunc", {whole}, {a});
    case ScalarOp::round:
      return ir_.intrinsic("llvm.roundeven", {whole}, {a});
    case ScalarOp::copysign:
      return ir_.intrinsic("llvm.copysign", {whole}, {a, b});
    case ScalarOp::signbit: {
      const Type w = ir_.vec(from == LaneType::f32 ? ir_.i32 : ir_.i64, n);
      return ir_.icmp(LLVMIntSLT, ir_.bitcast(a, w), ir_.zero(w));
    }
    // Adding 1.5 * 2^23 (2^52) to an integer-valued number leaves the integer in the low mantissa
    // bits.
    case ScalarOp::pow2: {
      const double magic = is_f32 ? 0x1.8p23 + 127 : 0x1.8p52 + 1023;
      return from_bits(ir_.shl(bits(ir_.fadd(a, constant(t, magic, n))),
                               k(static_cast<uint64_t>(mantissa_bits))));
    }
    case ScalarOp::exponent: {
      const Value high = ir_.lshr(bits(a), k(static_cast<uint64_t>(mantissa_bits)));
      const Value shifted = from_bits(ir_.or_(high, k(is_f32 ? 0x4b000000u : 0x4330000000000000u)));
      return ir_.fsub(shifted, constant(t, is_f32 ? 0x1p23 + 127 : 0x1p52 + 1023, n));
    }
    case ScalarOp::mantissa: {
      const Value low = ir_.and_(bits(a), k(is_f32 ? 0x007fffffu : 0x000fffffffffffffu));
      return from_bits(ir_.or_(low, k(is_f32 ? 0x3f800000u : 0x3ff0000000000000u)));
    }
    case ScalarOp::convert:
      return convert(a, from, t, n);
    case ScalarOp::narrow:
      return from_stored(to_stored(a, t, i.dtype, n), i.dtype, t, n);
    case ScalarOp::call:
      return called(i, a, b, n, count);
    case ScalarOp::patch:
      return patched(i, a, b, c, n);
    default:
      break;
  }
  TANDEM_ASSERT(false, "jit: instruction ", static_cast<int>(i.op), " is not a lane's");
  return nullptr;
}

}  // namespace tandem::jit
