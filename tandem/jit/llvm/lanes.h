#pragma once

#include "tandem/core/loop_nest.h"
#include "tandem/jit/llvm/ir.h"

namespace tandem::jit {

/// What scalar instructions mean, lane by lane: the same bits as kernels/simd/lane.h and
/// kernels/map_convert.h give. n is the number of lanes, 0 for a scalar.
class Lanes {
 public:
  Lanes(Ir& ir, bool fused_multiply_add) : ir_(ir), fused_(fused_multiply_add) {}

  Type type(LaneType t, int n) const;
  /// The type in which elements of a dtype are read and written.
  Type stored(DType t, int n) const;

  Value constant(LaneType t, double value, int n);
  Value identity(Combining c, LaneType t, int n);
  /// a combined with b as ExtremeOp, SumOp and ProdOp of kernels/reduce_simd.cpp do it.
  Value join(Combining c, LaneType t, Value a, Value b);
  /// One value of n lanes (a power of two), folded in halves.
  Value fold(Combining c, LaneType t, Value x, int n);

  /// Between the types that are computed in.
  Value convert(Value x, LaneType from, LaneType to, int n);
  Value from_stored(Value raw, DType from, LaneType to, int n);
  Value to_stored(Value x, LaneType from, DType to, int n);

  /// Any instruction but load, column, columns and reduce. `from` is the type of operand a. Of the
  /// lanes the first `count` matter; null: all do.
  Value compute(const ScalarInstr& i, LaneType from, Value a, Value b, Value c, int n, Value count);

 private:
  Value to_integer(Value x, Type real, Type integer, int bits, int n);
  Value compare(ScalarOp op, LaneType t, Value a, Value b);
  Value called(const ScalarInstr& i, Value a, Value b, int n, Value count);
  Value patched(const ScalarInstr& i, Value mask, Value x, Value otherwise, int n);
  Value buffer(int which);

  Ir& ir_;
  bool fused_;
  Value buffers_[2] = {nullptr, nullptr};
};

/// Lanes of the widest vector that is ever emitted.
inline constexpr int kMaxLanes = 64;

}  // namespace tandem::jit
