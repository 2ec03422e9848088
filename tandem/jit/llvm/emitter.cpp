#include "tandem/jit/llvm/emitter.h"

#include <algorithm>

#include "tandem/base/error.h"

namespace tandem::jit {
namespace {

// Lanes of a step. A long formula is a long chain of instructions that wait for each other; two
// registers side by side keep the processor busy where a second iteration is too far away for it,
// and four where the formula is longer still and could not be cut.
int lanes_of(const LoopNest& nest, const Schedule& schedule, const Machine& machine,
             int long_body) {
  if (schedule.strips) return 2 * machine.lanes;
  int cost = 0;
  for (const Schedule::Pass& pass : schedule.passes) cost = std::max(cost, pass.cost);
  if (cost <= long_body) return machine.lanes;
  // No more lanes than a reduction has strands.
  int most = (cost > 2 * long_body ? 4 : 2) * machine.lanes;
  for (const ScalarInstr& i : nest.program)
    if (i.op == ScalarOp::reduce) most = std::min(most, 128 / bytes_of(i.type));
  return most;
}

}  // namespace

Emitter::Emitter(Ir& ir, const LoopNest& nest, const Schedule& schedule, const Machine& machine)
    : ir_(ir),
      nest_(nest),
      schedule_(schedule),
      machine_(machine),
      lanes_(ir, machine.fused),
      by_rows_(nest.by_rows()),
      lanes_n_(lanes_of(nest, schedule, machine, kLongBody)),
      narrow_n_(16) {
  scalar_.resize(nest.program.size());
  spread_.resize(nest.program.size());
  element_.resize(nest.program.size());
  strands_.resize(nest.program.size());
  pointer_.resize(nest.operands.size());
}

void Emitter::emit() {
  read_arguments();
  for (const int16_t v : schedule_.once) scalar_[static_cast<size_t>(v)] = scalar_value(v);
  if (!by_rows_ && nest_.outer_dims == 0) {
    pointer_ = base_;
    spread_constants(lanes_n_);
    emit_row_values(schedule_.passes[0].row, lanes_n_);
    emit_passes(begin_, end_);
    emit_row_stores();
    ir_.api.BuildRetVoid(ir_.builder);
    return;
  }
  start_rows();
  const Block none = ir_.block(), some = ir_.block();
  ir_.branch(ir_.icmp(LLVMIntSLT, begin_, end_), some, none);
  ir_.go_on_in(none);
  ir_.api.BuildRetVoid(ir_.builder);
  ir_.go_on_in(some);
  // One row alone is not worth code of its own for narrow ones.
  if (!by_rows_ || nest_.outer_dims == 0) {
    emit_rows(false);
    return;
  }
  const Block narrow = ir_.block(), wide = ir_.block();
  ir_.branch(ir_.icmp(LLVMIntSLE, columns_, ir_.num(narrow_n_)), narrow, wide);
  ir_.go_on_in(narrow);
  emit_rows(true);
  ir_.go_on_in(wide);
  emit_rows(false);
}

void Emitter::read_arguments() {
  const Value call = ir_.api.GetParam(ir_.function, 0);
  begin_ = ir_.api.GetParam(ir_.function, 1);
  end_ = ir_.api.GetParam(ir_.function, 2);
  const Value data = ir_.load(ir_.ptr, ir_.at(call, int64_t{offsetof(LoopCall, data)}), 8);
  extents_ = ir_.load(ir_.ptr, ir_.at(call, int64_t{offsetof(LoopCall, extents)}), 8);
  strides_ = ir_.load(ir_.ptr, ir_.at(call, int64_t{offsetof(LoopCall, strides)}), 8);
  scratch_ = ir_.load(ir_.ptr, ir_.at(call, int64_t{offsetof(LoopCall, scratch)}), 8);
  columns_ = ir_.load(ir_.i64, ir_.at(extents_, 8 * nest_.outer_dims), 8);
  for (size_t k = 0; k < nest_.operands.size(); ++k) {
    base_.push_back(ir_.load(ir_.ptr, ir_.at(data, 8 * static_cast<int64_t>(k)), 8));
    Value stride = nullptr;
    if (nest_.operands[k].along == Along::strided) {
      const int64_t at = static_cast<int64_t>(k) * (nest_.outer_dims + 1) + nest_.outer_dims;
      stride = ir_.mul(ir_.load(ir_.i64, ir_.at(strides_, 8 * at), 8), ir_.num(size_of_operand(k)));
    }
    column_stride_.push_back(stride);
  }
  // Scratch rows lie one after another, each with room for a whole vector behind its end.
  scratch_rows_.resize(nest_.program.size());
  std::vector<Value> slots;
  for (const int bytes : schedule_.slot_bytes)
    slots.push_back(ir_.stack((kStrip + kScratchPadding) * bytes));
  Value row = scratch_;
  for (const int16_t v : schedule_.scratch) {
    if (schedule_.strips) {
      const int slot = schedule_.slot[static_cast<size_t>(v)];
      scratch_rows_[static_cast<size_t>(v)] = slots[static_cast<size_t>(slot)];
      continue;
    }
    scratch_rows_[static_cast<size_t>(v)] = row;
    row = ir_.at(
        row, ir_.mul(ir_.add(columns_, ir_.num(kScratchPadding)), ir_.num(bytes_of(type_of(v)))));
  }
}

// The scalar value of a constant of the kernel or of a row.
Value Emitter::scalar_value(int16_t v) {
  const ScalarInstr& i = instr(v);
  if (i.op == ScalarOp::load) {
    const auto k = static_cast<size_t>(i.index);
    const Value pointer = nest_.operands[k].along == Along::scalar ? base_[k] : pointer_[k];
    const DType dtype = nest_.operands[k].dtype;
    return lanes_.from_stored(ir_.load(lanes_.stored(dtype, 0), pointer, size_of_operand(k)), dtype,
                              i.type, 0);
  }
  if (i.op == ScalarOp::columns) return lanes_.convert(columns_, LaneType::i64, i.type, 0);
  auto get = [&](int16_t x) { return x < 0 ? nullptr : scalar_[static_cast<size_t>(x)]; };
  return lanes_.compute(i, i.a < 0 ? i.type : type_of(i.a), get(i.a), get(i.b), get(i.c), 0,
                        nullptr);
}

void Emitter::spread_constants(int n) {
  for (const int16_t v : schedule_.once) {
    const auto k = static_cast<size_t>(v);
    if (instr(v).op == ScalarOp::constant) {
      spread_[k] = lanes_.constant(type_of(v), instr(v).value, n);
    } else if (schedule_.spread[k]) {
      spread_[k] = ir_.spread(scalar_[k], n);
    }
  }
}

void Emitter::emit_row_values(const std::vector<int16_t>& list, int n) {
  for (const int16_t v : list) {
    const auto k = static_cast<size_t>(v);
    scalar_[k] = scalar_value(v);
    if (schedule_.spread[k]) spread_[k] = ir_.spread(scalar_[k], n);
  }
}

// What goes to operands with one value a row.
void Emitter::emit_row_stores() {
  for (size_t s = 0; s < nest_.stores.size(); ++s) {
    const auto k = static_cast<size_t>(nest_.n_inputs) + s;
    const Operand& o = nest_.operands[k];
    if (o.along >= Along::unit) continue;
    const int16_t v = nest_.stores[s];
    TANDEM_ASSERT(level(v) != Level::element,
                  "jit: a value of every element is to be stored once a row");
    const Value pointer = o.along == Along::scalar ? base_[k] : pointer_[k];
    ir_.store(lanes_.to_stored(scalar_[static_cast<size_t>(v)], type_of(v), o.dtype, 0), pointer,
              size_of_operand(k));
  }
}

// Pointers to the first row, and by how much they move: steps_[d][k] when the index of dimension d
// goes up by one and those behind it start again.
void Emitter::start_rows() {
  const int dims = nest_.outer_dims;
  if (dims == 0) {
    pointer_ = base_;
    return;
  }
  const auto n = static_cast<int64_t>(nest_.operands.size());
  steps_ = ir_.stack(8 * dims * n);
  std::vector<Value> index(static_cast<size_t>(dims)), extent(static_cast<size_t>(dims));
  Value rest = begin_;
  for (int d = dims - 1; d >= 0; --d) {
    extent[static_cast<size_t>(d)] = ir_.load(ir_.i64, ir_.at(extents_, 8 * d), 8);
    // Nothing is divided by an extent of 0: there are no rows then.
    index[static_cast<size_t>(d)] = rest;
    if (d == 0) break;
    const Value divisor =
        ir_.select(ir_.icmp(LLVMIntEQ, extent[static_cast<size_t>(d)], ir_.num(0)), ir_.num(1),
                   extent[static_cast<size_t>(d)]);
    index[static_cast<size_t>(d)] = ir_.urem(rest, divisor);
    rest = ir_.udiv(rest, divisor);
  }
  if (dims > 1) {
    for (int d = 0; d < dims; ++d) {
      index_slots_.push_back(ir_.stack(8));
      ir_.store(index[static_cast<size_t>(d)], index_slots_.back(), 8);
    }
  }
  for (int64_t k = 0; k < n; ++k) {
    const auto at = static_cast<size_t>(k);
    slots_.push_back(nullptr);
    if (nest_.operands[at].along == Along::scalar) continue;
    slots_.back() = ir_.stack(8);
    Value offset = ir_.num(0), behind = ir_.num(0);
    for (int d = dims - 1; d >= 0; --d) {
      const Value stride = ir_.mul(ir_.load(ir_.i64, ir_.at(strides_, 8 * (k * (dims + 1) + d)), 8),
                                   ir_.num(size_of_operand(at)));
      offset = ir_.add(offset, ir_.mul(index[static_cast<size_t>(d)], stride));
      ir_.store(ir_.sub(stride, behind), ir_.at(steps_, 8 * (d * n + k)), 8);
      behind =
          ir_.add(behind, ir_.mul(ir_.sub(extent[static_cast<size_t>(d)], ir_.num(1)), stride));
    }
    ir_.store(ir_.at(base_[at], offset), slots_.back(), 8);
  }
}

void Emitter::enter_row() {
  if (nest_.outer_dims == 0) return;
  for (size_t k = 0; k < nest_.operands.size(); ++k)
    pointer_[k] = slots_[k] == nullptr ? base_[k] : ir_.load(ir_.ptr, slots_[k], 8);
}

void Emitter::advance_rows() {
  const int dims = nest_.outer_dims;
  const auto n = static_cast<int64_t>(nest_.operands.size());
  Value row_of_steps = steps_;
  if (dims > 1) {
    // The last dimension whose index can go up does; those behind it start again.
    const Block done = ir_.block();
    std::vector<std::pair<Value, Block>> found;
    for (int d = dims - 1; d >= 0; --d) {
      const Value slot = index_slots_[static_cast<size_t>(d)];
      const Value next = ir_.add(ir_.load(ir_.i64, slot, 8), ir_.num(1));
      ir_.store(next, slot, 8);
      const Value steps = ir_.at(steps_, 8 * d * n);
      found.emplace_back(steps, ir_.here());
      if (d == 0) {
        ir_.jump(done);
        break;
      }
      const Block wrap = ir_.block();
      const Value extent = ir_.load(ir_.i64, ir_.at(extents_, 8 * d), 8);
      ir_.branch(ir_.icmp(LLVMIntSLT, next, extent), done, wrap);
      ir_.go_on_in(wrap);
      ir_.store(ir_.num(0), slot, 8);
    }
    ir_.go_on_in(done);
    row_of_steps = ir_.phi(ir_.ptr);
    for (const auto& [steps, from] : found) ir_.incoming(row_of_steps, steps, from);
  }
  for (int64_t k = 0; k < n; ++k) {
    const auto at = static_cast<size_t>(k);
    if (slots_[at] == nullptr) continue;
    const Value step = ir_.load(ir_.i64, ir_.at(row_of_steps, 8 * k), 8);
    ir_.store(ir_.at(pointer_[at], step), slots_[at], 8);
  }
}

void Emitter::emit_rows(bool narrow_rows) {
  const int n = narrow_rows ? narrow_n_ : lanes_n_;
  spread_.assign(nest_.program.size(), nullptr);
  spread_constants(n);
  Part part;
  if (narrow_rows) {
    part.count = columns_;
    part.mask = mask_of(columns_, n);
  }
  const Block before = ir_.here(), loop = ir_.block(), end = ir_.block();
  ir_.jump(loop);
  ir_.go_on_in(loop);
  const Value row = ir_.phi(ir_.i64);
  ir_.incoming(row, begin_, before);
  enter_row();
  if (narrow_rows) {
    emit_narrow_row(part);
  } else if (!by_rows_) {
    emit_row_values(schedule_.passes[0].row, n);
    emit_passes(ir_.num(0), columns_);
  } else {
    for (const Schedule::Pass& pass : schedule_.passes) {
      emit_row_values(pass.row, n);
      if (!pass.reduces.empty()) {
        emit_reducing_pass(pass);
      } else {
        emit_loop(pass, ir_.num(0), columns_);
      }
    }
    emit_row_values(schedule_.after, n);
  }
  emit_row_stores();
  if (nest_.outer_dims > 0) advance_rows();
  const Value next = ir_.add(row, ir_.num(1));
  ir_.incoming(row, next, ir_.here());
  ir_.branch(ir_.icmp(LLVMIntSLT, next, end_), loop, end);
  ir_.go_on_in(end);
  ir_.api.BuildRetVoid(ir_.builder);
}

}  // namespace tandem::jit
