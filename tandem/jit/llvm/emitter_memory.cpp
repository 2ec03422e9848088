#include "tandem/jit/llvm/emitter.h"

namespace tandem::jit {

Value Emitter::load_element(const ScalarInstr& i, Value index, int n, const Part& part) {
  const auto k = static_cast<size_t>(i.index);
  const Operand& o = nest_.operands[k];
  Value raw;
  if (o.along == Along::unit) {
    const Value at = ir_.at(pointer_[k], ir_.mul(index, ir_.num(size_of_operand(k))));
    raw = load_unit(at, o.dtype, n, part);
    // A long body leaves the processor no room to run ahead to what comes next.
    if (!by_rows_ && n > 1 && part.mask == nullptr) ir_.prefetch(ir_.at(at, kAhead));
  } else {
    raw = load_strided(ir_.at(pointer_[k], ir_.mul(index, column_stride_[k])), column_stride_[k],
                       o.dtype, n, part);
  }
  return lanes_.from_stored(raw, o.dtype, i.type, n);
}

Value Emitter::load_unit(Value pointer, DType dtype, int n, const Part& part) {
  const Type whole = lanes_.stored(dtype, n);
  const int size = static_cast<int>(size_of(dtype));
  if (part.mask == nullptr) return ir_.load(whole, pointer, size);
  if (size >= 4 || machine_.masks)
    return ir_.intrinsic("llvm.masked.load", {whole, ir_.ptr},
                         {pointer, ir_.api.ConstInt(ir_.i32, static_cast<unsigned>(size), 0),
                          part.mask, ir_.zero(whole)});
  // AVX2 has no masks for small elements: by way of a buffer, so that nothing behind the row is
  // read.
  if (raw_buffer_ == nullptr) raw_buffer_ = ir_.stack(kMaxLanes * 8);
  ir_.call("memcpy", ir_.ptr, {raw_buffer_, pointer, ir_.mul(part.count, ir_.num(size))});
  return ir_.load(whole, raw_buffer_, size);
}

Value Emitter::load_strided(Value pointer, Value stride, DType dtype, int n, const Part& part) {
  const Type scalar = lanes_.stored(dtype, 0);
  const int size = static_cast<int>(size_of(dtype));
  if (n == 0) return ir_.load(scalar, pointer, size);
  Value result = ir_.poison(lanes_.stored(dtype, n));
  // Lanes that do not count read the last element that does.
  const Value last = part.count == nullptr ? nullptr : ir_.sub(part.count, ir_.num(1));
  for (int lane = 0; lane < n; ++lane) {
    Value number = ir_.num(lane);
    if (last != nullptr && lane > 0)
      number = ir_.select(ir_.icmp(LLVMIntSLT, last, number), last, number);
    const Value x = ir_.load(scalar, ir_.at(pointer, ir_.mul(number, stride)), size);
    result = ir_.insert(result, x, lane);
  }
  return result;
}

void Emitter::store_unit(Value raw, Value pointer, int size, int n, const Part& part) {
  if (part.mask == nullptr) {
    ir_.store(raw, pointer, size);
    return;
  }
  if (machine_.masks) {
    ir_.intrinsic(
        "llvm.masked.store", {ir_.type(raw), ir_.ptr},
        {raw, pointer, ir_.api.ConstInt(ir_.i32, static_cast<unsigned>(size), 0), part.mask});
    return;
  }
  // In halves: masked stores of AVX2 are slow on some machines.
  const Block whole = ir_.block(), parts = ir_.block(), done = ir_.block();
  ir_.branch(ir_.icmp(LLVMIntSGE, part.count, ir_.num(n)), whole, parts);
  ir_.go_on_in(whole);
  ir_.store(raw, pointer, size);
  ir_.jump(done);
  ir_.go_on_in(parts);
  Value rest = raw;
  for (int half = n / 2; half >= 1; half /= 2) {
    const Block yes = ir_.block(), after = ir_.block(), before = ir_.here();
    const Value low = ir_.part(rest, 0, half), high = ir_.part(rest, half, half);
    ir_.branch(ir_.icmp(LLVMIntNE, ir_.and_(part.count, ir_.num(half)), ir_.num(0)), yes, after);
    ir_.go_on_in(yes);
    ir_.store(half == 1 ? ir_.extract(rest, 0) : low, pointer, size);
    const Value moved = ir_.at(pointer, int64_t{half} * size);
    ir_.jump(after);
    ir_.go_on_in(after);
    if (half == 1) break;
    const Value next = ir_.phi(ir_.type(low)), place = ir_.phi(ir_.ptr);
    ir_.incoming(next, low, before);
    ir_.incoming(next, high, yes);
    ir_.incoming(place, pointer, before);
    ir_.incoming(place, moved, yes);
    rest = next;
    pointer = place;
  }
  ir_.jump(done);
  ir_.go_on_in(done);
}

void Emitter::store_strided(Value raw, Value pointer, Value stride, int size, int n,
                            const Part& part) {
  if (n == 0) {
    ir_.store(raw, pointer, size);
    return;
  }
  if (part.count == nullptr) {
    for (int lane = 0; lane < n; ++lane)
      ir_.store(ir_.extract(raw, lane), ir_.at(pointer, ir_.mul(ir_.num(lane), stride)), size);
    return;
  }
  if (raw_buffer_ == nullptr) raw_buffer_ = ir_.stack(kMaxLanes * 8);
  ir_.store(raw, raw_buffer_, size);
  const Block before = ir_.here(), loop = ir_.block(), done = ir_.block();
  ir_.jump(loop);
  ir_.go_on_in(loop);
  const Value i = ir_.phi(ir_.i64);
  ir_.incoming(i, ir_.num(0), before);
  const Value x =
      ir_.load(ir_.element(ir_.type(raw)), ir_.at(raw_buffer_, ir_.mul(i, ir_.num(size))), size);
  ir_.store(x, ir_.at(pointer, ir_.mul(i, stride)), size);
  const Value next = ir_.add(i, ir_.num(1));
  ir_.incoming(i, next, loop);
  ir_.branch(ir_.icmp(LLVMIntSLT, next, part.count), loop, done);
  ir_.go_on_in(done);
}

Value Emitter::scratch_at(int16_t v, Value index) {
  if (schedule_.strips) index = ir_.sub(index, strip_);
  return ir_.at(scratch_rows_[static_cast<size_t>(v)],
                ir_.mul(index, ir_.num(bytes_of(type_of(v)))));
}

Value Emitter::fetch(int16_t v, Value index, int n) {
  const LaneType t = type_of(v);
  const Value at = scratch_at(v, index);
  if (t != LaneType::mask) return ir_.load(lanes_.type(t, n), at, bytes_of(t));
  return ir_.trunc(ir_.load(ir_.vec(ir_.i8, n), at, 1), ir_.vec(ir_.i1, n));
}

void Emitter::keep(int16_t v, Value x, Value index, int n) {
  const LaneType t = type_of(v);
  const Value at = scratch_at(v, index);
  ir_.store(t == LaneType::mask ? ir_.zext(x, ir_.vec(ir_.i8, n)) : x, at, bytes_of(t));
}

}  // namespace tandem::jit
