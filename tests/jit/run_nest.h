#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tandem/jit/code_generator.h"
#include "tandem/jit/object_loader.h"
#include "tandem/jit/schedule.h"
#include "tandem/kernels/map.h"
#include "tandem/kernels/scalar_expr.h"

/// Makes and runs kernels without the cache and its thread.
namespace tandem::jit::test {

/// Why a test of generated code cannot run.
inline constexpr const char* kNoGenerator = "this build has no LLVM, so no machine code is made";

inline LoopFunction function_of(const LoopNest& nest) {
  std::string why;
  void* code = load_object(generate_object(nest), kKernelSymbol, &why);
  EXPECT_NE(code, nullptr) << why << "\n" << nest.str();
  return reinterpret_cast<LoopFunction>(code);
}

/// A block of elements of some dtype.
struct Buffer {
  DType dtype = kFloat;
  std::vector<unsigned char> bytes;

  Buffer() = default;
  Buffer(DType t, int64_t n) : dtype(t), bytes(static_cast<size_t>(n) * size_of(t)) {}
  /// Of any numbers, converted.
  Buffer(DType t, const std::vector<double>& values)
      : Buffer(t, static_cast<int64_t>(values.size())) {
    kernels::convert(kDouble, values.data(), t, bytes.data(), size());
  }
  int64_t size() const { return static_cast<int64_t>(bytes.size() / size_of(dtype)); }
  template <class T>
  T* as() {
    return reinterpret_cast<T*>(bytes.data());
  }
};

/// Index of the first element whose bits differ; -1 if none does. Any two nans are equal: which nan
/// an operation gives depends on the order of its operands, which compilers are free to choose.
inline int64_t first_difference(const Buffer& a, const Buffer& b) {
  if (a.dtype != b.dtype || a.bytes.size() != b.bytes.size()) return 0;
  const size_t size = size_of(a.dtype);
  for (int64_t i = 0; i < a.size(); ++i) {
    const size_t at = static_cast<size_t>(i) * size;
    if (std::memcmp(&a.bytes[at], &b.bytes[at], size) == 0) continue;
    if (is_floating(a.dtype)) {
      double x, y;
      kernels::convert(a.dtype, &a.bytes[at], kDouble, &x, 1);
      kernels::convert(b.dtype, &b.bytes[at], kDouble, &y, 1);
      if (x != x && y != y) continue;
    }
    return i;
  }
  return -1;
}

inline double number_at(const Buffer& a, int64_t i) {
  double x = 0;
  if (i >= 0 && i < a.size())
    kernels::convert(a.dtype, &a.bytes[static_cast<size_t>(i) * size_of(a.dtype)], kDouble, &x, 1);
  return x;
}

/// Everything of one call.
struct Call {
  std::vector<void*> data;
  std::vector<int64_t> extents, strides;
  std::vector<unsigned char> scratch;

  void run(LoopFunction f, const LoopNest& nest, int64_t begin, int64_t end) {
    const Schedule schedule(nest);
    const size_t columns = static_cast<size_t>(extents.back());
    // A guard behind the scratch memory shows who writes beyond it.
    const size_t bytes = schedule.scratch_per_column * columns + schedule.scratch_fixed;
    scratch.assign(bytes + 64, 0x5a);
    const LoopCall call = {data.data(), extents.data(), strides.data(), scratch.data()};
    f(&call, begin, end);
    for (size_t i = bytes; i < scratch.size(); ++i) EXPECT_EQ(scratch[i], 0x5a);
  }
};

inline LaneType lane_type(DType t) {
  return t == kDouble ? LaneType::f64 : is_floating(t) ? LaneType::f32 : LaneType::i64;
}

inline int16_t load(LoopNest& nest, int operand, LaneType type) {
  ScalarInstr i{ScalarOp::load, type};
  i.index = static_cast<int16_t>(operand);
  return kernels::record(i, nest.program);
}

inline int16_t reduce(LoopNest& nest, Combining combine, int16_t a) {
  ScalarInstr i{ScalarOp::reduce, nest.program[static_cast<size_t>(a)].type};
  i.combine = combine;
  i.a = a;
  return kernels::record(i, nest.program);
}

inline int16_t apply(LoopNest& nest, MapFn fn, std::initializer_list<int16_t> operands,
                     const kernels::MapParams& params = {1, 1, 1}, LaneType type = LaneType::f32) {
  return kernels::record_formula(fn, type, operands, params, nest.program);
}

}  // namespace tandem::jit::test
