#pragma once

#include <vector>

#include "tandem/jit/llvm/lanes.h"
#include "tandem/jit/machine.h"
#include "tandem/jit/schedule.h"

namespace tandem::jit {

/// Writes the function of a nest as LLVM's IR, in explicit vectors of `lanes` elements.
///
/// Note: the shape of the code
/// A kernel is a loop over rows. Where nothing is reduced a row is one loop over vectors with a
/// masked step or some scalar ones at its end, or such a loop for each pass over a strip. Otherwise
/// a row is a loop for each pass of the Schedule, with the strands of reductions in registers or,
/// where the loop's body is long, in memory; rows that fit in one wide vector have a loop of their
/// own in which every value stays in a register.
class Emitter {
 public:
  Emitter(Ir& ir, const LoopNest& nest, const Schedule& schedule, const Machine& machine);
  void emit();

 private:
  using Level = Schedule::Level;
  /// A pass with no more simple instructions than this is a short one, with more than that a long
  /// one.
  static constexpr int kShortBody = 8, kLongBody = 24;
  /// Bytes from what is read to what is asked for ahead of time.
  static constexpr int64_t kAhead = 4096;

  // The lanes of a step that count: all of them where both are null.
  struct Part {
    Value count = nullptr;  // how many, i64
    Value mask = nullptr;
  };

  // emitter.cpp: the walk over rows
  void read_arguments();
  void start_rows();
  void emit_rows(bool narrow_rows);
  void advance_rows();
  void enter_row();
  void emit_row_values(const std::vector<int16_t>& list, int n);
  void emit_row_stores();
  void spread_constants(int n);
  Value scalar_value(int16_t v);

  // emitter_row.cpp: the walk over a row
  void emit_passes(Value begin, Value end);
  void emit_loop(const Schedule::Pass& pass, Value begin, Value end);
  bool may_overrun(const Schedule::Pass& pass) const;
  bool ends_in_scalars(const Schedule::Pass& pass) const;
  Value emit_whole_steps(const Schedule::Pass& pass, Value begin, Value end, int n);
  void emit_plain_loop(const Schedule::Pass& pass, Value begin, Value end, bool masked);
  bool always_masked(const Schedule::Pass& pass) const;
  void emit_reducing_pass(const Schedule::Pass& pass);
  void emit_narrow_row(const Part& part);
  void emit_step(const Schedule::Pass& pass, Value index, int n, const Part& part,
                 std::vector<Value>* strands, int step);
  int unrolled(const Schedule::Pass& pass) const;
  Value operand(int16_t v, int n);
  Value element(int16_t v, Value index, int n, const Part& part);
  void emit_stores(Value index, int n, const Part& part);
  Value mask_of(Value count, int n);

  // emitter_memory.cpp
  Value load_element(const ScalarInstr& i, Value index, int n, const Part& part);
  Value load_unit(Value pointer, DType dtype, int n, const Part& part);
  Value load_strided(Value pointer, Value stride, DType dtype, int n, const Part& part);
  void store_unit(Value raw, Value pointer, int size, int n, const Part& part);
  void store_strided(Value raw, Value pointer, Value stride, int size, int n, const Part& part);
  Value scratch_at(int16_t v, Value index);
  Value fetch(int16_t v, Value index, int n);
  void keep(int16_t v, Value x, Value index, int n);

  const ScalarInstr& instr(int16_t v) const { return nest_.program[static_cast<size_t>(v)]; }
  Level level(int16_t v) const { return schedule_.level[static_cast<size_t>(v)]; }
  LaneType type_of(int16_t v) const { return instr(v).type; }
  int size_of_operand(size_t k) const { return static_cast<int>(size_of(nest_.operands[k].dtype)); }

  Ir& ir_;
  const LoopNest& nest_;
  const Schedule& schedule_;
  const Machine machine_;
  Lanes lanes_;
  const bool by_rows_;
  const int lanes_n_;   // of a step
  const int narrow_n_;  // of the one step of a narrow row

  // Arguments, and what follows from them.
  Value begin_ = nullptr, end_ = nullptr, columns_ = nullptr, extents_ = nullptr;
  Value strides_ = nullptr, scratch_ = nullptr;
  std::vector<Value> base_;           // by operand: its first element
  std::vector<Value> column_stride_;  // by operand, in bytes; only for strided ones
  std::vector<Value> slots_;          // by operand: where its pointer to the row is kept
  std::vector<Value> index_slots_;    // by outer dimension, where there are several
  std::vector<Value> scratch_rows_;   // by instruction that is kept
  Value steps_ = nullptr;             // [outer dimension][operand]: bytes from row to row

  // The state of the row and the step that are being written.
  std::vector<Value> pointer_;  // by operand: its row
  std::vector<Value> scalar_;   // by instruction: constants of the kernel and values of the row
  std::vector<Value> spread_;   // the same in every lane
  std::vector<Value> element_;  // by instruction: values of the step
  std::vector<Value> strands_;  // by instruction that reduces: its strands in memory
  Value strip_ = nullptr;       // the first element of the strip
  Value raw_buffer_ = nullptr;
};

}  // namespace tandem::jit
