#pragma once

#include <cstdint>
#include <vector>

#include "tandem/core/loop_nest.h"

namespace tandem::jit {

/// When the instructions of a nest run: once, once a row, or for every element of which pass.
///
/// A `reduce` ends a pass over the row: what depends on its result belongs to a later one. The
/// stage of a value is the number of passes that must be over before it can be known. Everything is
/// written in the last pass, so that an output may lie over an input. A value of an earlier pass
/// that is needed again is worked out again if that is cheap; otherwise it is kept in a scratch
/// row.
///
/// Note: strips
/// A long program without reductions (a chain of tanh, exp, ...) is cut into passes as well, over
/// strips of kStrip elements whose kept values stay in the first cache. In one loop every element
/// would wait for a chain of hundreds of instructions, and the next is too far away for the
/// processor to see; in a loop for each function many elements are on their way at once.
struct Schedule {
  enum class Level : uint8_t { constant, row, element };

  explicit Schedule(const LoopNest& nest);

  struct Pass {
    std::vector<int16_t> row;       // row values that become known before the pass, in order
    std::vector<int16_t> elements;  // what is worked out for every element, in order
    std::vector<int16_t> fetched;   // kept values that are read from their scratch rows
    std::vector<int16_t> kept;      // values that are written to their scratch rows
    std::vector<int16_t> reduces;   // what is combined
    bool stores = false;
    int cost = 0;  // of `elements`, in simple instructions
  };

  std::vector<Level> level;      // by instruction
  std::vector<int16_t> stage;    // by instruction
  std::vector<int16_t> once;     // constants of the kernel, in order
  std::vector<int16_t> scratch;  // the kept values; each has a row, in this order
  std::vector<bool> spread;      // True iff a row or kernel value is read by an element instruction
  std::vector<Pass> passes;
  bool strips = false;    // the passes are over strips, and kept values are in slots, not in rows:
  std::vector<int> slot;  // by instruction that is kept
  std::vector<int> slot_bytes;  // by slot: of an element
  std::vector<int16_t> after;   // row values that are known after the last pass, in order

  /// Scratch memory: so many bytes for a column and so many besides.
  size_t scratch_per_column = 0;
  size_t scratch_fixed = 0;

 private:
  void assign_slots(const LoopNest& nest);
};

/// Bytes of a value in a scratch row.
constexpr int bytes_of(LaneType t) { return t == LaneType::f32 ? 4 : t == LaneType::mask ? 1 : 8; }
/// Elements of a strip.
inline constexpr int kStrip = 256;
/// Room behind a scratch row, so that whole vectors can be written, in elements.
inline constexpr int kScratchPadding = 64;

}  // namespace tandem::jit
