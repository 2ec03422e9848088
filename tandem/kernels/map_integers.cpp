#include <utility>

#include "tandem/kernels/map_table.h"
#include "tandem/kernels/simd/lane.h"
#include "tandem/kernels/simd/lane_functions.h"

// The formulas on int64: one lane at a time, the same on every instruction set.

namespace tandem::kernels {
namespace integers {

template <class T>
using Vec = lane::Vec<T>;
using lane::call;
using lane::load;
using lane::load_mask;
using lane::load_mask_part;
using lane::load_part;
using lane::patch;
using lane::store;
using lane::store_part;

#include "tandem/kernels/simd/formulas.inc"
#include "tandem/kernels/simd/loops.inc"

template <class F, MapKind kind, int arity, int types>
void enter(MapFn fn, InnerTable& table) {
  if constexpr ((types & kMapI) != 0)
    table.inner[static_cast<int>(fn)][kComputeI64] = &inner<F, kind, arity, int64_t>;
}

}  // namespace integers

void enter_integers(InnerTable& table) {
#define TANDEM_CASE(name, arity, types, kind)                                                 \
  integers::enter<integers::formula::name##_, MapKind::kind, arity, kMap##types>(MapFn::name, \
                                                                                 table);
  TANDEM_MAP_FUNCTIONS(TANDEM_CASE)
#undef TANDEM_CASE
}

}  // namespace tandem::kernels
