#pragma once

#include <cmath>

#include "tandem/kernels/reduce.h"
#include "tandem/kernels/reduce_plan.h"
#include "tandem/kernels/reduce_simd.h"

/// What a reduction does before, between and after combining, and how rows are added up column by
/// column; shared by reduce.cpp and reduce_rows.cpp.
namespace tandem::kernels {

/// What happens to an element before it is combined, where CombineOps does not do it by itself.
enum class Premap : uint8_t { None, Nonzero, Abs, NanToZero, AbsPower };
/// What happens to the combined value.
enum class Finish : uint8_t { None, Divide, Any, All, Root, PowerRoot };

struct Recipe {
  Combine combine;
  Premap premap;
  Finish finish;
};

inline Recipe recipe(ReduceFn fn, double p) {
  switch (fn) {
    case ReduceFn::Sum:
      return {Combine::Sum, Premap::None, Finish::None};
    case ReduceFn::Mean:
      return {Combine::Sum, Premap::None, Finish::Divide};
    case ReduceFn::Prod:
      return {Combine::Prod, Premap::None, Finish::None};
    case ReduceFn::Max:
      return {Combine::Max, Premap::None, Finish::None};
    case ReduceFn::Min:
      return {Combine::Min, Premap::None, Finish::None};
    case ReduceFn::Any:
      return {Combine::Sum, Premap::Nonzero, Finish::Any};
    case ReduceFn::All:
      return {Combine::Sum, Premap::Nonzero, Finish::All};
    case ReduceFn::CountNonzero:
      return {Combine::Sum, Premap::Nonzero, Finish::None};
    case ReduceFn::NanSum:
      return {Combine::Sum, Premap::NanToZero, Finish::None};
    case ReduceFn::Norm:
      if (p == 2) return {Combine::SumSquares, Premap::None, Finish::Root};
      if (p == 1) return {Combine::Sum, Premap::Abs, Finish::None};
      if (p == 0) return {Combine::Sum, Premap::Nonzero, Finish::None};
      if (std::isinf(p)) return {p > 0 ? Combine::Max : Combine::Min, Premap::Abs, Finish::None};
      return {Combine::Sum, Premap::AbsPower, Finish::PowerRoot};
    case ReduceFn::SumPowers:
      if (p == 2) return {Combine::SumSquares, Premap::None, Finish::None};
      if (p == 1) return {Combine::Sum, Premap::Abs, Finish::None};
      if (p == 0) return {Combine::Sum, Premap::Nonzero, Finish::None};
      return {Combine::Sum, Premap::AbsPower, Finish::None};
  }
  return {};
}

template <class C>
C finished(Finish finish, C value, int64_t count, double p) {
  switch (finish) {
    case Finish::None:
      return value;
    case Finish::Divide:
      return value / static_cast<C>(count);
    case Finish::Any:
      return value > 0;
    case Finish::All:
      return value == static_cast<C>(count);
    case Finish::Root:
      return static_cast<C>(std::sqrt(value));
    case Finish::PowerRoot:
      return static_cast<C>(std::pow(static_cast<double>(value), 1 / p));
  }
  return value;
}

/// The wide rows that rows of few columns are taken as (reduce_plan.h), and their blocks.
struct WideRows {
  int64_t copies;  // rows side by side in a wide one
  int64_t width;   // elements of a wide row
  int64_t rows;    // wide ones; the last may be short
  int64_t blocks;  // of kRowBlock wide rows

  template <class C>
  static WideRows of(int64_t rows, int64_t columns) {
    int64_t copies = 1;
    if (columns < kLanes<C> && rows >= kRowBlock)
      while (copies * columns < kLanes<C>) copies *= 2;
    const int64_t wide = ceil_div(rows, copies);
    return {copies, copies * columns, wide, ceil_div(wide, kRowBlock)};
  }
};

/// acc takes n rows, x + offset[r] each, eight at once as long as there are eight. When `first`,
/// acc holds nothing yet.
template <class C>
void add_wide_rows(const CombineOps<C>& ops, C* acc, const C* x, const int64_t* offset, int64_t n,
                   int64_t width, bool first) {
  int64_t r = 0;
  for (; r + kRowsAtOnce <= n; r += kRowsAtOnce, first = false)
    ops.add_rows(acc, x, offset + r, width, first);
  for (; r < n; ++r, first = false) ops.add_row(acc, x + offset[r], width, first);
}

/// The copies of a wide row become one row.
template <class C>
void fold_copies(const CombineOps<C>& ops, C* row, int64_t copies, int64_t columns) {
  for (int64_t half = copies / 2; half > 0; half /= 2)
    ops.merge(row, row + half * columns, half * columns);
}

}  // namespace tandem::kernels
