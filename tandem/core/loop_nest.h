#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tandem/base/small_vector.h"
#include "tandem/core/dtype.h"

/// What a fused kernel computes, as data: made by graph/fuse, turned into machine code by jit/ and
/// into OpenCL C by opencl/.
///
/// A kernel walks `rows` rows of `columns` elements. Each row or element is worked out by one
/// straight-line program of scalar instructions. An instruction is at one of three levels: constant
/// over the whole kernel, one value a row, or one value an element; the level follows from what it
/// reads. `reduce` makes a row value out of an element value, and element instructions that depend
/// on it form the next pass over the row.
///
/// Extents and strides are not part of it: they are arguments (LoopCall), so that one kernel serves
/// every size. The number of columns is at least 1 where there is a `reduce`.
///
/// An operand that is written may be the same memory, element for element, as one that is read:
/// nothing of a row is written before all of it has been read for the last time.
namespace tandem {

/// In which type an instruction computes. `mask` is a truth value.
enum class LaneType : uint8_t { f32, f64, i64, mask };

enum class ScalarOp : uint8_t {
  load,      // operand `index`, converted from its dtype to `type`
  constant,  // `value`, rounded to `type`
  column,    // i64: the element's number in its row
  columns,   // the number of columns, as `type`: what a mean divides by
  // As in kernels/simd/formulas.inc.
  add,
  sub,
  mul,
  div,
  neg,
  lt,
  le,
  gt,
  ge,
  eq,
  ne,  // to mask, of operands of the type of a
  mask_and,
  mask_or,
  mask_xor,
  mask_not,
  select,  // a ? b : c
  fma,
  min,
  max,
  abs,
  sqrt,
  floor,
  ceil,
  trunc,
  round,
  copysign,
  signbit,
  pow2,
  exponent,
  mantissa,
  convert,  // a to `type`, as kernels/map_convert.h does it (f32 to i64 truncates, mask is 0 or 1)
  narrow,   // a rounded or wrapped to `dtype` and back: what storing and loading would do
  call,     // the function `name` of kernels/simd/lane_functions.h of a, or of a and b
  patch,    // name(b) where a (rarely) holds, c elsewhere
  reduce,   // all a of the row combined by `combine`, in the order of kernels/reduce_simd.h
};

enum class Combining : uint8_t { sum, prod, max, min };

/// One instruction. a, b, c are numbers of earlier instructions, -1 if there is none.
struct ScalarInstr {
  ScalarOp op;
  LaneType type;
  DType dtype = DType::Undefined;  // narrow
  Combining combine = Combining::sum;
  int16_t index = -1;  // load
  int16_t a = -1, b = -1, c = -1;
  double value = 0;            // constant
  const char* name = nullptr;  // call, patch: a string literal
  friend bool operator==(const ScalarInstr&, const ScalarInstr&);
};

/// How an operand lies along the columns. Along the other dimensions it has any strides.
enum class Along : uint8_t {
  scalar,   // one value for the whole kernel: every stride is 0
  still,    // one value a row: the column stride is 0
  unit,     // side by side
  strided,  // any column stride
};

struct Operand {
  DType dtype;
  Along along;
  friend bool operator==(const Operand&, const Operand&) = default;
};

struct LoopNest {
  std::vector<Operand> operands;  // what is read, then what is written
  int n_inputs = 0;
  std::vector<ScalarInstr> program;
  std::vector<int16_t>
      stores;          // stores[k]: the instruction whose value goes to operand n_inputs + k
  int outer_dims = 1;  // dimensions that make up the rows; 0: one row

  /// True iff it has a `reduce`: rows must then be worked out as wholes.
  bool by_rows() const;
  size_t hash() const;
  std::string str() const;  // readable, and equal iff the nests are: the key of the disk cache
  friend bool operator==(const LoopNest&, const LoopNest&);
};

/// The arguments of one run of a kernel.
struct LoopCall {
  void* const* data;       // by operand
  const int64_t* extents;  // of the outer dimensions, then the number of columns
  const int64_t* strides;  // [operand][outer dimension..., column], in elements
  void* scratch;           // LoopKernel::scratch_bytes(columns) bytes, one block a thread
};

/// A compiled kernel. Works on [begin, end): rows; or, where outer_dims is 0 and nothing is
/// reduced, elements.
using LoopFunction = void (*)(const LoopCall* call, int64_t begin, int64_t end);

}  // namespace tandem
