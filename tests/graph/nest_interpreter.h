#pragma once

#include <cmath>
#include <cstring>
#include <unordered_map>
#include <vector>

#include "tandem/base/error.h"
#include "tandem/core/loop_nest.h"
#include "tandem/kernels/map_convert.h"
#include "tandem/kernels/reduce_plan.h"
#include "tandem/kernels/reduce_simd.h"
#include "tandem/kernels/scalar_expr.h"
#include "tandem/kernels/simd/lane.h"
#include "tandem/kernels/simd/lane_functions.h"

/// Runs a LoopNest as loop_nest.h describes it, one instruction after the other over a whole row:
/// slow, plain, and independent of the code generator. What both agree on is what the nest says.
namespace tandem::test {

class NestInterpreter {
 public:
  NestInterpreter(const LoopNest& nest, const LoopCall& call)
      : nest_(nest), call_(call), dims_(static_cast<size_t>(nest.outer_dims) + 1) {
    n_columns_ = call.extents[nest.outer_dims];
  }

  void run() {
    std::vector<int64_t> index(dims_ - 1, 0);
    for (;;) {
      run_row(index);
      size_t d = dims_ - 1;
      while (d > 0 && ++index[d - 1] == call_.extents[d - 1]) index[--d] = 0;
      if (d == 0) return;
    }
  }

 private:
  union Lane {
    float f;
    double d;
    int64_t i;
    bool m;
  };
  using Row = std::vector<Lane>;

  template <class T>
  static T& get(Lane& l) {
    if constexpr (std::is_same_v<T, float>) return l.f;
    if constexpr (std::is_same_v<T, double>) return l.d;
    if constexpr (std::is_same_v<T, int64_t>) return l.i;
    if constexpr (std::is_same_v<T, bool>) return l.m;
  }
  template <class F>
  static void by_type(LaneType t, const F& fn) {
    if (t == LaneType::f32) fn(float());
    if (t == LaneType::f64) fn(double());
    if (t == LaneType::i64) fn(int64_t());
    if (t == LaneType::mask) fn(bool());
  }

  char* at(size_t operand, const std::vector<int64_t>& index, int64_t column) const {
    const int64_t* strides = call_.strides + operand * dims_;
    int64_t offset = column * strides[dims_ - 1];
    for (size_t d = 0; d + 1 < dims_; ++d) offset += index[d] * strides[d];
    const DType dtype = nest_.operands[operand].dtype;
    return static_cast<char*>(call_.data[operand]) + offset * static_cast<int64_t>(size_of(dtype));
  }

  void run_row(const std::vector<int64_t>& index) {
    rows_.assign(nest_.program.size(), Row(static_cast<size_t>(n_columns_)));
    for (size_t k = 0; k < nest_.program.size(); ++k) {
      const ScalarInstr& instr = nest_.program[k];
      if (instr.op == ScalarOp::load) {
        load(instr, index, rows_[k]);
      } else if (instr.op == ScalarOp::reduce) {
        by_type(instr.type, [&]<class T>(T) { reduce<T>(instr, rows_[k]); });
      } else {
        for (int64_t c = 0; c < n_columns_; ++c)
          rows_[k][static_cast<size_t>(c)] = element(instr, c);
      }
    }
    for (size_t k = 0; k < nest_.stores.size(); ++k) {
      const size_t operand = static_cast<size_t>(nest_.n_inputs) + k;
      const ScalarInstr& from = nest_.program[static_cast<size_t>(nest_.stores[k])];
      Row& row = rows_[static_cast<size_t>(nest_.stores[k])];
      for (int64_t c = 0; c < n_columns_; ++c)
        dispatch(nest_.operands[operand].dtype, [&]<class S>(S) {
          by_type(from.type, [&]<class T>(T) {
            const S value = kernels::convert_value<S>(get<T>(row[static_cast<size_t>(c)]));
            std::memcpy(at(operand, index, c), &value, sizeof(S));
          });
        });
    }
  }

  void load(const ScalarInstr& instr, const std::vector<int64_t>& index, Row& row) const {
    const size_t operand = static_cast<size_t>(instr.index);
    for (int64_t c = 0; c < n_columns_; ++c)
      dispatch(nest_.operands[operand].dtype, [&]<class S>(S) {
        S value;
        std::memcpy(&value, at(operand, index, c), sizeof(S));
        by_type(instr.type, [&]<class T>(T) {
          get<T>(row[static_cast<size_t>(c)]) = kernels::convert_value<T>(value);
        });
      });
  }

  template <class T>
  void reduce(const ScalarInstr& instr, Row& row) {
    if constexpr (!std::is_same_v<T, bool>) {
      constexpr kernels::Combine kKinds[] = {kernels::Combine::Sum, kernels::Combine::Prod,
                                             kernels::Combine::Max, kernels::Combine::Min};
      const auto& ops = kernels::combine_ops<T>(kKinds[static_cast<int>(instr.combine)]);
      std::vector<T> values;
      for (Lane& l : rows_[static_cast<size_t>(instr.a)]) values.push_back(get<T>(l));
      kernels::Cascade<T, T (*)(T, T)> cascade(ops.join);
      for (int64_t i = 0; i < n_columns_; i += kernels::kBlock)
        cascade.push(ops.block(values.data() + i, std::min(kernels::kBlock, n_columns_ - i)));
      const T value = cascade.finish(ops.identity);
      for (Lane& l : row) get<T>(l) = value;
    }
  }

  Lane element(const ScalarInstr& x, int64_t column) {
    const size_t c = static_cast<size_t>(column);
    const auto arg = [&](int16_t k) { return rows_[static_cast<size_t>(k)][c]; };
    Lane out{};
    if (x.op == ScalarOp::column) {
      out.i = column;
    } else if (x.op == ScalarOp::convert) {
      by_type(nest_.program[static_cast<size_t>(x.a)].type, [&]<class F>(F) {
        Lane a = arg(x.a);
        by_type(x.type, [&]<class T>(T) { get<T>(out) = kernels::convert_value<T>(get<F>(a)); });
      });
    } else if (x.type == LaneType::mask) {
      out.m = truth(x, c);
    } else {
      by_type(x.type, [&]<class T>(T) {
        if constexpr (!std::is_same_v<T, bool>) get<T>(out) = value<T>(x, c);
      });
    }
    return out;
  }

  bool truth(const ScalarInstr& x, size_t c) {
    const auto arg = [&](int16_t k) { return rows_[static_cast<size_t>(k)][c]; };
    switch (x.op) {
      case ScalarOp::mask_and:
        return arg(x.a).m && arg(x.b).m;
      case ScalarOp::mask_or:
        return arg(x.a).m || arg(x.b).m;
      case ScalarOp::mask_xor:
        return arg(x.a).m != arg(x.b).m;
      case ScalarOp::mask_not:
        return !arg(x.a).m;
      case ScalarOp::select:
        return arg(x.a).m ? arg(x.b).m : arg(x.c).m;
      default:
        break;
    }
    bool result = false;
    by_type(nest_.program[static_cast<size_t>(x.a)].type, [&]<class T>(T) {
      if constexpr (!std::is_same_v<T, bool>) {
        Lane la = arg(x.a), lb = x.b >= 0 ? arg(x.b) : Lane{};
        const T a = get<T>(la), b = get<T>(lb);
        switch (x.op) {
          case ScalarOp::lt:
            result = a < b;
            break;
          case ScalarOp::le:
            result = a <= b;
            break;
          case ScalarOp::gt:
            result = a > b;
            break;
          case ScalarOp::ge:
            result = a >= b;
            break;
          case ScalarOp::eq:
            result = a == b;
            break;
          case ScalarOp::ne:
            result = a != b;
            break;
          case ScalarOp::signbit:
            result = kernels::lane::signbit(kernels::lane::Vec<T>::of(a)).m;
            break;
          default:
            TANDEM_ASSERT(false, "nest interpreter: not a question");
        }
      }
    });
    return result;
  }

  template <class T>
  T value(const ScalarInstr& x, size_t c) {
    namespace lane = kernels::lane;
    using V = lane::Vec<T>;
    const auto arg = [&](int16_t k) { return V::of(get<T>(rows_[static_cast<size_t>(k)][c])); };
    switch (x.op) {
      case ScalarOp::constant:
        return V(x.value).v;
      case ScalarOp::columns:
        return static_cast<T>(n_columns_);
      case ScalarOp::add:
        return (arg(x.a) + arg(x.b)).v;
      case ScalarOp::sub:
        return (arg(x.a) - arg(x.b)).v;
      case ScalarOp::mul:
        return (arg(x.a) * arg(x.b)).v;
      case ScalarOp::neg:
        return (-arg(x.a)).v;
      case ScalarOp::select:
        return rows_[static_cast<size_t>(x.a)][c].m ? arg(x.b).v : arg(x.c).v;
      case ScalarOp::min:
        return lane::min(arg(x.a), arg(x.b)).v;
      case ScalarOp::max:
        return lane::max(arg(x.a), arg(x.b)).v;
      case ScalarOp::abs:
        return lane::abs(arg(x.a)).v;
      case ScalarOp::narrow: {
        T result{};
        dispatch(x.dtype, [&]<class S>(S) {
          result = kernels::convert_value<T>(kernels::convert_value<S>(arg(x.a).v));
        });
        return result;
      }
      case ScalarOp::call:
        return called<T>(x.name, arg(x.a).v, x.b >= 0 ? arg(x.b).v : T(0));
      case ScalarOp::patch:
        return rows_[static_cast<size_t>(x.a)][c].m ? called<T>(x.name, arg(x.b).v, T(0))
                                                    : arg(x.c).v;
      default:
        break;
    }
    if constexpr (std::is_floating_point_v<T>) {
      switch (x.op) {
        case ScalarOp::div:
          return (arg(x.a) / arg(x.b)).v;
        case ScalarOp::fma:
          return kernels::fma_is_fused() ? std::fma(arg(x.a).v, arg(x.b).v, arg(x.c).v)
                                         : arg(x.a).v * arg(x.b).v + arg(x.c).v;
        case ScalarOp::sqrt:
          return lane::sqrt(arg(x.a)).v;
        case ScalarOp::floor:
          return lane::floor(arg(x.a)).v;
        case ScalarOp::ceil:
          return lane::ceil(arg(x.a)).v;
        case ScalarOp::trunc:
          return lane::trunc(arg(x.a)).v;
        case ScalarOp::round:
          return lane::round(arg(x.a)).v;
        case ScalarOp::copysign:
          return lane::copysign(arg(x.a), arg(x.b)).v;
        case ScalarOp::pow2:
          return lane::pow2(arg(x.a)).v;
        case ScalarOp::exponent:
          return lane::exponent(arg(x.a)).v;
        case ScalarOp::mantissa:
          return lane::mantissa(arg(x.a)).v;
        default:
          break;
      }
    }
    TANDEM_ASSERT(false, "nest interpreter: no such instruction for this type");
    return T();
  }

  // Formulas call functions in the lane's type or, for floats, in double precision.
  template <class T>
  static T called(const char* name, T a, T b) {
    namespace libm = kernels::libm;
    const std::string_view wanted = name;
#define TANDEM_CASE(f) \
  if (wanted == #f) return static_cast<T>(libm::f(a));
#define TANDEM_CASE2(f) \
  if (wanted == #f) return static_cast<T>(libm::f(a, b));
    if constexpr (std::is_integral_v<T>) {
      TANDEM_LANE_FUNCTIONS_I64_1(TANDEM_CASE)
      TANDEM_LANE_FUNCTIONS_I64_2(TANDEM_CASE2)
    } else {
      TANDEM_LANE_FUNCTIONS_F64_1(TANDEM_CASE)
      TANDEM_LANE_FUNCTIONS_F64_2(TANDEM_CASE2)
      if constexpr (std::is_same_v<T, float>) {
        TANDEM_LANE_FUNCTIONS_F32_2(TANDEM_CASE2)
      }
    }
#undef TANDEM_CASE
#undef TANDEM_CASE2
    TANDEM_ASSERT(false, "nest interpreter: no function ", name);
    return T();
  }

  const LoopNest& nest_;
  const LoopCall& call_;
  size_t dims_;
  int64_t n_columns_;
  std::vector<Row> rows_;  // by instruction: its values over the current row
};

}  // namespace tandem::test
