#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tandem/kernels/simd/fused.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h comes first.
#include <hwy/highway.h>

#include "tandem/kernels/scalar_expr.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::kernels {
namespace HWY_NAMESPACE {

bool fma_is_fused() { return HWY_NATIVE_FMA != 0; }

}  // namespace HWY_NAMESPACE
}  // namespace tandem::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::kernels {
HWY_EXPORT(fma_is_fused);
bool fma_is_fused() { return HWY_DYNAMIC_DISPATCH(fma_is_fused)(); }
}  // namespace tandem::kernels
#endif
