#include <algorithm>

#include "tandem/jit/llvm/emitter.h"

namespace tandem::jit {
namespace {

// As kernels/reduce_simd.h and reduce_plan.h have it.
constexpr int kStrandBytes = 128;
constexpr int64_t kBlock = 4096;

int strands_of(LaneType t) { return kStrandBytes / bytes_of(t); }

const char* name(LaneType t) {
  return t == LaneType::f32 ? "f32" : t == LaneType::f64 ? "f64" : "i64";
}
const char* name(Combining c) {
  constexpr const char* kNames[] = {"sum", "prod", "max", "min"};
  return kNames[static_cast<int>(c)];
}

}  // namespace

Value Emitter::mask_of(Value count, int n) {
  // In 32 bits: a register of them has as many lanes as one of float32.
  std::vector<Value> lanes;
  for (int i = 0; i < n; ++i)
    lanes.push_back(ir_.api.ConstInt(ir_.i32, static_cast<unsigned>(i), 0));
  return ir_.icmp(LLVMIntSLT, ir_.api.ConstVector(lanes.data(), static_cast<unsigned>(n)),
                  ir_.spread(ir_.trunc(count, ir_.i32), n));
}

// A value as an operand of an element instruction.
Value Emitter::operand(int16_t v, int n) {
  if (v < 0) return nullptr;
  const auto k = static_cast<size_t>(v);
  if (level(v) == Level::element) return element_[k];
  if (n == 0) return scalar_[k];
  return spread_[k] != nullptr ? spread_[k] : ir_.spread(scalar_[k], n);
}

Value Emitter::element(int16_t v, Value index, int n, const Part& part) {
  const ScalarInstr& i = instr(v);
  if (i.op == ScalarOp::load) return load_element(i, index, n, part);
  if (i.op == ScalarOp::column)
    return lanes_.convert(ir_.add(ir_.spread(index, n), ir_.iota(n)), LaneType::i64, i.type, n);
  return lanes_.compute(i, i.a < 0 ? i.type : type_of(i.a), operand(i.a, n), operand(i.b, n),
                        operand(i.c, n), n, part.count);
}

void Emitter::emit_stores(Value index, int n, const Part& part) {
  for (size_t s = 0; s < nest_.stores.size(); ++s) {
    const auto k = static_cast<size_t>(nest_.n_inputs) + s;
    const Operand& o = nest_.operands[k];
    if (o.along < Along::unit) continue;
    const int16_t v = nest_.stores[s];
    const Value raw = lanes_.to_stored(operand(v, n), type_of(v), o.dtype, n);
    const int size = size_of_operand(k);
    if (o.along == Along::unit) {
      store_unit(raw, ir_.at(pointer_[k], ir_.mul(index, ir_.num(size))), size, n, part);
    } else {
      store_strided(raw, ir_.at(pointer_[k], ir_.mul(index, column_stride_[k])), column_stride_[k],
                    size, n, part);
    }
  }
}

// Elements index .. index + n - 1 of a pass, or one as a scalar for n = 0. `strands` are the
// registers of reductions, step-th part of the strands first; null: they are in memory.
void Emitter::emit_step(const Schedule::Pass& pass, Value index, int n, const Part& part,
                        std::vector<Value>* strands, int step) {
  for (const int16_t v : pass.fetched) element_[static_cast<size_t>(v)] = fetch(v, index, n);
  for (const int16_t v : pass.elements)
    element_[static_cast<size_t>(v)] = element(v, index, n, part);
  for (const int16_t v : pass.kept) keep(v, element_[static_cast<size_t>(v)], index, n);
  size_t first = 0;
  for (const int16_t r : pass.reduces) {
    const ScalarInstr& i = instr(r);
    const int per_row = strands_of(i.type);
    Value x = operand(i.a, n);
    if (part.mask != nullptr) x = ir_.select(part.mask, x, lanes_.identity(i.combine, i.type, n));
    if (strands != nullptr) {
      const int registers = per_row / n;
      Value& strand = (*strands)[first + static_cast<size_t>(step % registers)];
      strand = lanes_.join(i.combine, i.type, strand, x);
      first += static_cast<size_t>(registers);
      continue;
    }
    const Value lane = ir_.and_(index, ir_.num(per_row - 1));
    const Value at =
        ir_.at(strands_[static_cast<size_t>(r)], ir_.mul(lane, ir_.num(bytes_of(i.type))));
    const int align = std::max(n, 1) * bytes_of(i.type);
    ir_.store(lanes_.join(i.combine, i.type, ir_.load(lanes_.type(i.type, n), at, align), x), at,
              align);
  }
  if (pass.stores) emit_stores(index, n, part);
}

// Steps that the loop takes at once: enough for all strands to have a register where the body is
// short, which otherwise would wait for its own stores.
int Emitter::unrolled(const Schedule::Pass& pass) const {
  if (always_masked(pass)) return 1;
  if (pass.reduces.empty()) return pass.cost <= kShortBody ? 2 : 1;
  int steps = 1;
  for (const int16_t r : pass.reduces) steps = std::max(steps, strands_of(type_of(r)) / lanes_n_);
  return pass.reduces.size() <= 2 && pass.cost * steps <= 64 ? steps : 1;
}

// True iff every step of the pass may as well be masked: half the code takes half the time to make.
// A mask costs little beside a long body and a reduction, and a tenth of the time without one.
bool Emitter::always_masked(const Schedule::Pass& pass) const {
  if (!by_rows_ || pass.cost <= kLongBody) return false;
  for (const int16_t v : pass.elements) {
    if (instr(v).op != ScalarOp::load) continue;
    const Operand& o = nest_.operands[static_cast<size_t>(instr(v).index)];
    if (size_of(o.dtype) < 4 && !machine_.masks) return false;
  }
  for (size_t k = static_cast<size_t>(nest_.n_inputs); k < nest_.operands.size(); ++k)
    if (pass.stores && nest_.operands[k].along == Along::strided) return false;
  return true;
}

// True iff a step may go beyond the end of a strip: it touches nothing but values that are kept,
// which have room there, and calls nobody.
bool Emitter::may_overrun(const Schedule::Pass& pass) const {
  if (!schedule_.strips || pass.stores) return false;
  for (const int16_t v : pass.elements) {
    const ScalarOp op = instr(v).op;
    if (op == ScalarOp::load || op == ScalarOp::call || op == ScalarOp::patch) return false;
  }
  return true;
}

// True iff what is left behind whole vectors is better done one by one. AVX2's masks take LLVM more
// time than all the rest of a short loop, and few elements are left; but where the loop begins anew
// for each row and reduces, several steps would be.
bool Emitter::ends_in_scalars(const Schedule::Pass& pass) const {
  return !machine_.masks && pass.cost <= kShortBody &&
         (pass.reduces.empty() || nest_.outer_dims == 0);
}

// Steps of n elements as long as they fit before the end; returns where they end.
Value Emitter::emit_whole_steps(const Schedule::Pass& pass, Value begin, Value end, int n) {
  const Value width = ir_.num(std::max(n, 1)), last = ir_.sub(end, width);
  const Block before = ir_.here(), loop = ir_.block(), done = ir_.block();
  ir_.branch(ir_.icmp(LLVMIntSLE, begin, last), loop, done);
  ir_.go_on_in(loop);
  const Value i = ir_.phi(ir_.i64);
  ir_.incoming(i, begin, before);
  emit_step(pass, i, n, {}, nullptr, 0);
  const Value next = ir_.add(i, width);
  const Block loop_end = ir_.here();
  ir_.incoming(i, next, loop_end);
  ir_.branch(ir_.icmp(LLVMIntSLE, next, last), loop, done);
  ir_.go_on_in(done);
  const Value reached = ir_.phi(ir_.i64);
  ir_.incoming(reached, begin, before);
  ir_.incoming(reached, next, loop_end);
  return reached;
}

// A loop of one step, which is masked or may go beyond the end.
void Emitter::emit_plain_loop(const Schedule::Pass& pass, Value begin, Value end, bool masked) {
  const int n = lanes_n_;
  const Block before = ir_.here(), loop = ir_.block(), done = ir_.block();
  ir_.branch(ir_.icmp(LLVMIntSLT, begin, end), loop, done);
  ir_.go_on_in(loop);
  const Value i = ir_.phi(ir_.i64);
  ir_.incoming(i, begin, before);
  Part part;
  if (masked) {
    const Value left = ir_.sub(end, i);
    part.count = ir_.select(ir_.icmp(LLVMIntSLT, left, ir_.num(n)), left, ir_.num(n));
    part.mask = mask_of(part.count, n);
  }
  emit_step(pass, i, n, part, nullptr, 0);
  const Value next = ir_.add(i, ir_.num(n));
  ir_.incoming(i, next, ir_.here());
  ir_.branch(ir_.icmp(LLVMIntSLT, next, end), loop, done);
  ir_.go_on_in(done);
}

// All passes where nothing is reduced: one, or several over each strip.
void Emitter::emit_passes(Value begin, Value end) {
  if (!schedule_.strips) {
    emit_loop(schedule_.passes[0], begin, end);
    return;
  }
  const Block before = ir_.here(), loop = ir_.block(), done = ir_.block();
  ir_.branch(ir_.icmp(LLVMIntSLT, begin, end), loop, done);
  ir_.go_on_in(loop);
  strip_ = ir_.phi(ir_.i64);
  ir_.incoming(strip_, begin, before);
  const Value next = ir_.add(strip_, ir_.num(kStrip));
  const Value strip_end = ir_.select(ir_.icmp(LLVMIntSLT, next, end), next, end);
  for (const Schedule::Pass& pass : schedule_.passes) emit_loop(pass, strip_, strip_end);
  ir_.incoming(strip_, next, ir_.here());
  ir_.branch(ir_.icmp(LLVMIntSLT, next, end), loop, done);
  ir_.go_on_in(done);
}

void Emitter::emit_loop(const Schedule::Pass& pass, Value begin, Value end) {
  if (may_overrun(pass) || always_masked(pass)) {
    emit_plain_loop(pass, begin, end, !may_overrun(pass));
    return;
  }
  const int n = lanes_n_, steps = unrolled(pass);
  const bool registers = !pass.reduces.empty() && steps > 1;
  std::vector<Value> start;
  std::vector<Type> types;
  if (registers) {
    for (const int16_t r : pass.reduces)
      for (int s = 0; s < strands_of(type_of(r)) / n; ++s) {
        start.push_back(lanes_.identity(instr(r).combine, type_of(r), n));
        types.push_back(lanes_.type(type_of(r), n));
      }
  }

  // Whole vectors.
  const Block before = ir_.here(), loop = ir_.block(), rest = ir_.block(), done = ir_.block();
  const Value last = ir_.sub(end, ir_.num(int64_t{n} * steps));
  ir_.branch(ir_.icmp(LLVMIntSLE, begin, last), loop, rest);
  ir_.go_on_in(loop);
  const Value i = ir_.phi(ir_.i64);
  ir_.incoming(i, begin, before);
  std::vector<Value> carried, strands;
  for (size_t s = 0; s < start.size(); ++s) {
    carried.push_back(ir_.phi(types[s]));
    ir_.incoming(carried.back(), start[s], before);
  }
  strands = carried;
  for (int s = 0; s < steps; ++s)
    emit_step(pass, s == 0 ? i : ir_.add(i, ir_.num(int64_t{n} * s)), n, {},
              registers ? &strands : nullptr, s);
  const Value next = ir_.add(i, ir_.num(int64_t{n} * steps));
  const Block loop_end = ir_.here();
  ir_.incoming(i, next, loop_end);
  for (size_t s = 0; s < start.size(); ++s) ir_.incoming(carried[s], strands[s], loop_end);
  ir_.branch(ir_.icmp(LLVMIntSLE, next, last), loop, rest);

  // What is left: at most one step, or several where the loop takes several at once.
  ir_.go_on_in(rest);
  const Value from = ir_.phi(ir_.i64);
  ir_.incoming(from, begin, before);
  ir_.incoming(from, next, loop_end);
  if (registers) {
    std::vector<Value> result;
    for (size_t s = 0; s < start.size(); ++s) {
      result.push_back(ir_.phi(types[s]));
      ir_.incoming(result.back(), start[s], before);
      ir_.incoming(result.back(), strands[s], loop_end);
    }
    size_t s = 0;
    for (const int16_t r : pass.reduces)
      for (int k = 0; k < strands_of(type_of(r)) / n; ++k, ++s)
        ir_.store(result[s], ir_.at(strands_[static_cast<size_t>(r)], k * n * bytes_of(type_of(r))),
                  n * bytes_of(type_of(r)));
  }
  if (ends_in_scalars(pass)) {
    emit_whole_steps(pass, steps == 1 ? from : emit_whole_steps(pass, from, end, n), end, 0);
    ir_.jump(done);
    ir_.go_on_in(done);
    return;
  }
  const Block tail = ir_.block(), tail_start = ir_.here();
  ir_.branch(ir_.icmp(LLVMIntSLT, from, end), tail, done);
  ir_.go_on_in(tail);
  const Value j = ir_.phi(ir_.i64);
  ir_.incoming(j, from, tail_start);
  const Value left = ir_.sub(end, j);
  Part part;
  part.count =
      steps == 1 ? left : ir_.select(ir_.icmp(LLVMIntSLT, left, ir_.num(n)), left, ir_.num(n));
  part.mask = mask_of(part.count, n);
  emit_step(pass, j, n, part, nullptr, 0);
  if (steps == 1) {
    ir_.jump(done);
  } else {
    const Value after = ir_.add(j, ir_.num(n));
    ir_.incoming(j, after, ir_.here());
    ir_.branch(ir_.icmp(LLVMIntSLT, after, end), tail, done);
  }
  ir_.go_on_in(done);
}

// A pass that ends in reductions: blocks of kBlock elements, each folded to one value; the values
// of several blocks go through a binary counter.
void Emitter::emit_reducing_pass(const Schedule::Pass& pass) {
  const size_t count = pass.reduces.size();
  std::vector<Value> counters;
  for (const int16_t r : pass.reduces) {
    auto& strands = strands_[static_cast<size_t>(r)];
    if (strands == nullptr) strands = ir_.stack(kStrandBytes);
    counters.push_back(ir_.stack(8 * 64));
    ir_.store(ir_.num(0), counters.back(), 8);
  }
  const bool registers = unrolled(pass) > 1;
  const Block before = ir_.here(), loop = ir_.block(), push = ir_.block(), finish = ir_.block(),
              done = ir_.block();
  ir_.jump(loop);
  ir_.go_on_in(loop);
  const Value begin = ir_.phi(ir_.i64);
  ir_.incoming(begin, ir_.num(0), before);
  if (!registers) {
    for (const int16_t r : pass.reduces) {
      const int n = strands_of(type_of(r));
      ir_.store(lanes_.identity(instr(r).combine, type_of(r), n), strands_[static_cast<size_t>(r)],
                64);
    }
  }
  const Value next = ir_.add(begin, ir_.num(kBlock));
  const Value end = ir_.select(ir_.icmp(LLVMIntSLT, next, columns_), next, columns_);
  emit_loop(pass, begin, end);
  std::vector<Value> folded;
  for (const int16_t r : pass.reduces) {
    const int n = strands_of(type_of(r));
    folded.push_back(
        lanes_.fold(instr(r).combine, type_of(r),
                    ir_.load(lanes_.type(type_of(r), n), strands_[static_cast<size_t>(r)], 64), n));
  }
  const Block single = ir_.here();
  ir_.branch(ir_.icmp(LLVMIntSLE, columns_, ir_.num(kBlock)), done, push);

  ir_.go_on_in(push);
  auto symbol = [&](const char* what, int16_t r) {
    return std::string("tandem_") + what + "_" + name(type_of(r)) + "_" + name(instr(r).combine);
  };
  for (size_t k = 0; k < count; ++k)
    ir_.call(symbol("push", pass.reduces[k]), ir_.none, {counters[k], folded[k]});
  ir_.incoming(begin, next, ir_.here());
  ir_.branch(ir_.icmp(LLVMIntSLT, next, columns_), loop, finish);
  ir_.go_on_in(finish);
  std::vector<Value> combined;
  for (size_t k = 0; k < count; ++k)
    combined.push_back(ir_.call(symbol("finish", pass.reduces[k]),
                                lanes_.type(type_of(pass.reduces[k]), 0), {counters[k]}));
  ir_.jump(done);

  ir_.go_on_in(done);
  for (size_t k = 0; k < count; ++k) {
    const auto r = static_cast<size_t>(pass.reduces[k]);
    scalar_[r] = ir_.phi(lanes_.type(type_of(pass.reduces[k]), 0));
    ir_.incoming(scalar_[r], folded[k], single);
    ir_.incoming(scalar_[r], combined[k], finish);
  }
  for (const int16_t r : pass.reduces)
    if (schedule_.spread[static_cast<size_t>(r)])
      spread_[static_cast<size_t>(r)] = ir_.spread(scalar_[static_cast<size_t>(r)], lanes_n_);
}

// All passes over a row of at most narrow_n_ columns: one step, every value in a register.
void Emitter::emit_narrow_row(const Part& part) {
  const int n = narrow_n_;
  std::vector<bool> needed(nest_.program.size(), false);
  for (const Schedule::Pass& pass : schedule_.passes)
    for (const int16_t v : pass.elements) needed[static_cast<size_t>(v)] = true;
  for (size_t k = 0; k < nest_.program.size(); ++k) {
    const auto v = static_cast<int16_t>(k);
    const ScalarInstr& i = instr(v);
    if (i.op == ScalarOp::reduce) {
      const Value x = ir_.select(part.mask, operand(i.a, n), lanes_.identity(i.combine, i.type, n));
      scalar_[k] = lanes_.fold(i.combine, i.type, x, n);
      spread_[k] = schedule_.spread[k] ? ir_.spread(scalar_[k], n) : nullptr;
    } else if (level(v) == Level::row) {
      scalar_[k] = scalar_value(v);
      spread_[k] = schedule_.spread[k] ? ir_.spread(scalar_[k], n) : nullptr;
    } else if (level(v) == Level::element && needed[k]) {
      element_[k] = element(v, ir_.num(0), n, part);
    }
  }
  emit_stores(ir_.num(0), n, part);
}

}  // namespace tandem::jit
