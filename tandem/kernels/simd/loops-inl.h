// The formulas and the loops around them for Highway's registers. Included once per instruction
// set.
#if defined(TANDEM_KERNELS_LOOPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TANDEM_KERNELS_LOOPS_INL_H_
#undef TANDEM_KERNELS_LOOPS_INL_H_
#else
#define TANDEM_KERNELS_LOOPS_INL_H_
#endif

#include <utility>

#include "tandem/kernels/map_table.h"
#include "tandem/kernels/simd/lane_functions.h"
#include "tandem/kernels/simd/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::kernels {
namespace HWY_NAMESPACE {

#include "tandem/kernels/simd/formulas.inc"
#include "tandem/kernels/simd/loops.inc"

// Enters a formula's kernels for both float types into the table.
template <class F, MapKind kind, int arity, int types>
void enter(MapFn fn, InnerTable& table) {
  if constexpr ((types & kMapF) != 0) {
    table.inner[static_cast<int>(fn)][kComputeF32] = &inner<F, kind, arity, float>;
    table.inner[static_cast<int>(fn)][kComputeF64] = &inner<F, kind, arity, double>;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tandem::kernels
HWY_AFTER_NAMESPACE();

#endif
