#include "tandem/kernels/scalar_expr.h"

#include <limits>
#include <type_traits>
#include <utility>

#include "tandem/base/error.h"
#include "tandem/kernels/simd/lane.h"
#include "tandem/kernels/simd/lane_functions.h"

namespace tandem::kernels {

int16_t record(const ScalarInstr& instr, std::vector<ScalarInstr>& program) {
  // Later ones are the likelier match; programs have a few hundred instructions at most.
  for (size_t i = program.size(); i-- > 0;)
    if (program[i] == instr) return static_cast<int16_t>(i);
  TANDEM_ASSERT(program.size() < std::numeric_limits<int16_t>::max(),
                "record: a scalar program of ", program.size(), " instructions is too long");
  program.push_back(instr);
  return static_cast<int16_t>(program.size() - 1);
}

namespace expressions {

// Where running a formula on this thread writes to.
thread_local std::vector<ScalarInstr>* t_program = nullptr;

template <class T>
inline constexpr LaneType kTypeOf = std::is_same_v<T, float>    ? LaneType::f32
                                    : std::is_same_v<T, double> ? LaneType::f64
                                                                : LaneType::i64;

int16_t emit(ScalarOp op, LaneType type, int16_t a, int16_t b = -1, int16_t c = -1,
             const char* name = nullptr) {
  ScalarInstr instr{op, type};
  instr.a = a;
  instr.b = b;
  instr.c = c;
  instr.name = name;
  return record(instr, *t_program);
}

struct Mask {
  int16_t id;
  friend Mask operator&(Mask a, Mask b) {
    return {emit(ScalarOp::mask_and, LaneType::mask, a.id, b.id)};
  }
  friend Mask operator|(Mask a, Mask b) {
    return {emit(ScalarOp::mask_or, LaneType::mask, a.id, b.id)};
  }
  friend Mask operator^(Mask a, Mask b) {
    return {emit(ScalarOp::mask_xor, LaneType::mask, a.id, b.id)};
  }
  friend Mask operator!(Mask a) { return {emit(ScalarOp::mask_not, LaneType::mask, a.id)}; }
};

/// A value of lane type T in the program that is being recorded.
template <class T>
struct Expr {
  using Lane = T;
  static constexpr LaneType kType = kTypeOf<T>;
  int16_t id = -1;

  Expr() = default;
  Expr(double c) {
    ScalarInstr instr{ScalarOp::constant, kType};
    instr.value = c;
    id = record(instr, *t_program);
  }
  static Expr of(int16_t id) {
    Expr e;
    e.id = id;
    return e;
  }
  bool is_one() const {
    const ScalarInstr& i = (*t_program)[static_cast<size_t>(id)];
    return i.op == ScalarOp::constant && i.value == 1;
  }

  friend Expr operator+(Expr a, Expr b) { return of(emit(ScalarOp::add, kType, a.id, b.id)); }
  friend Expr operator-(Expr a, Expr b) { return of(emit(ScalarOp::sub, kType, a.id, b.id)); }
  friend Expr operator*(Expr a, Expr b) {
    if (a.is_one()) return b;
    if (b.is_one()) return a;
    return of(emit(ScalarOp::mul, kType, a.id, b.id));
  }
  friend Expr operator/(Expr a, Expr b) requires(std::is_floating_point_v<T>) {
    return of(emit(ScalarOp::div, kType, a.id, b.id));
  }
  friend Expr operator-(Expr a) { return of(emit(ScalarOp::neg, kType, a.id)); }
  // A comparison carries the type of what it compares in its operands.
  friend Mask operator<(Expr a, Expr b) { return {emit(ScalarOp::lt, LaneType::mask, a.id, b.id)}; }
  friend Mask operator<=(Expr a, Expr b) {
    return {emit(ScalarOp::le, LaneType::mask, a.id, b.id)};
  }
  friend Mask operator>(Expr a, Expr b) { return {emit(ScalarOp::gt, LaneType::mask, a.id, b.id)}; }
  friend Mask operator>=(Expr a, Expr b) {
    return {emit(ScalarOp::ge, LaneType::mask, a.id, b.id)};
  }
  friend Mask operator==(Expr a, Expr b) {
    return {emit(ScalarOp::eq, LaneType::mask, a.id, b.id)};
  }
  friend Mask operator!=(Expr a, Expr b) {
    return {emit(ScalarOp::ne, LaneType::mask, a.id, b.id)};
  }
};

template <class T>
Expr<T> fma(Expr<T> a, Expr<T> b, Expr<T> c) {
  return Expr<T>::of(emit(ScalarOp::fma, kTypeOf<T>, a.id, b.id, c.id));
}
template <class T>
Expr<T> select(Mask m, Expr<T> a, Expr<T> b) {
  return Expr<T>::of(emit(ScalarOp::select, kTypeOf<T>, m.id, a.id, b.id));
}
#define TANDEM_EXPR_UNARY(name)                                 \
  template <class T>                                            \
  Expr<T> name(Expr<T> a) {                                     \
    return Expr<T>::of(emit(ScalarOp::name, kTypeOf<T>, a.id)); \
  }
TANDEM_EXPR_UNARY(abs)
TANDEM_EXPR_UNARY(sqrt)
TANDEM_EXPR_UNARY(floor)
TANDEM_EXPR_UNARY(ceil)
TANDEM_EXPR_UNARY(trunc)
TANDEM_EXPR_UNARY(round)
TANDEM_EXPR_UNARY(pow2)
TANDEM_EXPR_UNARY(exponent)
TANDEM_EXPR_UNARY(mantissa)
#undef TANDEM_EXPR_UNARY
#define TANDEM_EXPR_BINARY(name)                                      \
  template <class T>                                                  \
  Expr<T> name(Expr<T> a, Expr<T> b) {                                \
    return Expr<T>::of(emit(ScalarOp::name, kTypeOf<T>, a.id, b.id)); \
  }
TANDEM_EXPR_BINARY(min)
TANDEM_EXPR_BINARY(max)
TANDEM_EXPR_BINARY(copysign)
#undef TANDEM_EXPR_BINARY
template <class T>
Mask signbit(Expr<T> a) {
  return {emit(ScalarOp::signbit, LaneType::mask, a.id)};
}
inline Expr<double> to_f64(Expr<float> x) {
  return Expr<double>::of(emit(ScalarOp::convert, LaneType::f64, x.id));
}
inline Expr<float> to_f32(Expr<double> x) {
  return Expr<float>::of(emit(ScalarOp::convert, LaneType::f32, x.id));
}

// The name of a function that is a template argument.
template <auto F>
struct NameOf;
#define TANDEM_CASE(function)                       \
  template <>                                       \
  struct NameOf<&libm::function> {                  \
    static constexpr const char* value = #function; \
  };
TANDEM_LANE_FUNCTIONS(TANDEM_CASE)
#undef TANDEM_CASE

template <auto F, class T>
Expr<T> call(Expr<T> x) {
  return Expr<T>::of(emit(ScalarOp::call, kTypeOf<T>, x.id, -1, -1, NameOf<F>::value));
}
template <auto F, class T>
Expr<T> call(Expr<T> x, Expr<T> y) {
  return Expr<T>::of(emit(ScalarOp::call, kTypeOf<T>, x.id, y.id, -1, NameOf<F>::value));
}
template <auto F, class T>
Expr<T> patch(Mask m, Expr<T> x, Expr<T> otherwise) {
  return Expr<T>::of(emit(ScalarOp::patch, kTypeOf<T>, m.id, x.id, otherwise.id, NameOf<F>::value));
}

#include "tandem/kernels/simd/formulas.inc"

template <class F, MapKind kind, int arity, class T>
int16_t run(const MapParams& params, ArrayRef<int16_t> operands) {
  const F f{{params}};
  auto x = [&](size_t k) { return Expr<T>::of(operands[k]); };
  if constexpr (kind == MapKind::pick) {
    return f(Mask{operands[0]}, x(1), x(2)).id;
  } else if constexpr (arity == 1) {
    return f(x(0)).id;
  } else if constexpr (arity == 2) {
    return f(x(0), x(1)).id;
  } else {
    return f(x(0), x(1), x(2)).id;
  }
}

template <class F, MapKind kind, int arity, int types>
int16_t run_as(LaneType compute, const MapParams& params, ArrayRef<int16_t> operands) {
  if constexpr ((types & kMapF) != 0) {
    if (compute == LaneType::f32) return run<F, kind, arity, float>(params, operands);
    if (compute == LaneType::f64) return run<F, kind, arity, double>(params, operands);
  }
  if constexpr ((types & kMapI) != 0) {
    if (compute == LaneType::i64) return run<F, kind, arity, int64_t>(params, operands);
  }
  return -1;
}

}  // namespace expressions

bool has_formula(MapFn fn, LaneType compute) {
  if (fn == MapFn::none || compute == LaneType::mask) return false;
  return (map_info(fn).types & (compute == LaneType::i64 ? kMapI : kMapF)) != 0;
}

int16_t record_formula(MapFn fn, LaneType compute, ArrayRef<int16_t> operands,
                       const MapParams& params, std::vector<ScalarInstr>& program) {
  const MapInfo& info = map_info(fn);
  TANDEM_ASSERT(has_formula(fn, compute) && operands.size() == info.arity,
                "record_formula: ", info.name, " of ", operands.size(),
                " operands has no formula in this type");
  expressions::t_program = &program;
  int16_t ready[3] = {-1, -1, -1};
  for (size_t k = 0; k < operands.size(); ++k) {
    const LaneType want = info.kind == MapKind::pick && k == 0 ? LaneType::mask : compute;
    ready[k] = operands[k];
    if (program[static_cast<size_t>(operands[k])].type != want)
      ready[k] = expressions::emit(ScalarOp::convert, want, operands[k]);
  }
  const ArrayRef<int16_t> list(ready, operands.size());
  switch (fn) {
#define TANDEM_CASE(name, arity, types, kind)                                                     \
  case MapFn::name:                                                                               \
    return expressions::run_as<expressions::formula::name##_, MapKind::kind, arity, kMap##types>( \
        compute, params, list);
    TANDEM_MAP_FUNCTIONS(TANDEM_CASE)
#undef TANDEM_CASE
    case MapFn::none:
      break;
  }
  return -1;
}

}  // namespace tandem::kernels
