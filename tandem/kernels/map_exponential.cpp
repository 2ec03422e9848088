#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tandem/kernels/map_exponential.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h comes first.
#include "tandem/kernels/simd/loops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tandem::kernels {
namespace HWY_NAMESPACE {

void enter_exponential(InnerTable& table) {
#define TANDEM_CASE(name, arity, types, kind) \
  enter<formula::name##_, MapKind::kind, arity, kMap##types>(MapFn::name, table);
  TANDEM_MAP_EXPONENTIAL(TANDEM_CASE)
#undef TANDEM_CASE
}

}  // namespace HWY_NAMESPACE
}  // namespace tandem::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tandem::kernels {
HWY_EXPORT(enter_exponential);
void enter_exponential(InnerTable& table) { HWY_DYNAMIC_DISPATCH(enter_exponential)(table); }
}  // namespace tandem::kernels
#endif
