#pragma once

#include <cstdint>
#include <vector>

#include "tandem/base/array_ref.h"
#include "tandem/core/loop_nest.h"
#include "tandem/kernels/map_functions.h"

/// The formulas of simd/formulas.inc once more, as data: running one on operands that record what
/// is done to them gives the scalar program that jit/ and opencl/ turn into code. What a fused
/// kernel computes is therefore what the eager loop computes.
namespace tandem::kernels {

/// Appends the instruction to the program, or finds an equal one that is there. Gives its number.
int16_t record(const ScalarInstr& instr, std::vector<ScalarInstr>& program);

/// Appends `fn` of the operands (numbers of instructions of the program) and gives the number of
/// its result: of type `compute`, or `mask` where fn is a question. Operands of another type are
/// converted first. `compute` is f32, f64 or i64 and one that fn has (map_functions.h).
int16_t record_formula(MapFn fn, LaneType compute, ArrayRef<int16_t> operands,
                       const MapParams& params, std::vector<ScalarInstr>& program);

/// True iff fn has a formula in that compute type.
bool has_formula(MapFn fn, LaneType compute);

/// The functions of simd/lane_functions.h that formulas call, by type of lane and number of
/// operands.
#define TANDEM_LANE_FUNCTIONS_F64_1(_)                                                         \
  _(exp)                                                                                       \
  _(exp2)                                                                                      \
  _(expm1)                                                                                     \
  _(log)                                                                                       \
  _(log2)                                                                                      \
  _(log10) _(log1p) _(sinh) _(cosh) _(tanh) _(asinh) _(acosh) _(atanh) _(sin) _(cos) _(tan)    \
      _(asin) _(acos) _(atan) _(erf) _(erfc) _(lgamma) _(digamma) _(erfinv) _(i0) _(i0e) _(i1) \
          _(i1e) _(bessel_j0) _(bessel_j1) _(bessel_y0) _(bessel_y1) _(bessel_k0) _(bessel_k1) \
              _(bessel_k0e) _(bessel_k1e) _(erfcx) _(ndtri)
#define TANDEM_LANE_FUNCTIONS_F64_2(_)                                                         \
  _(pow)                                                                                       \
  _(atan2)                                                                                     \
  _(hypot) _(nextafter) _(polygamma) _(igamma) _(igammac) _(zeta) _(floor_divide) _(remainder) \
      _(fmod)
#define TANDEM_LANE_FUNCTIONS_F32_2(_) _(nextafterf)
#define TANDEM_LANE_FUNCTIONS_I64_1(_) _(not_int)
#define TANDEM_LANE_FUNCTIONS_I64_2(_) \
  _(floor_divide_int)                  \
  _(trunc_divide_int)                  \
  _(remainder_int)                     \
  _(fmod_int)                          \
  _(pow_int)                           \
  _(gcd_int) _(lcm_int) _(and_int) _(or_int) _(xor_int) _(shift_left_int) _(shift_right_int)
#define TANDEM_LANE_FUNCTIONS(_) \
  TANDEM_LANE_FUNCTIONS_F64_1(_) \
  TANDEM_LANE_FUNCTIONS_F64_2(_) \
  TANDEM_LANE_FUNCTIONS_F32_2(_) TANDEM_LANE_FUNCTIONS_I64_1(_) TANDEM_LANE_FUNCTIONS_I64_2(_)

/// True iff the eager kernels' fma rounds once on this machine.
bool fma_is_fused();

}  // namespace tandem::kernels
