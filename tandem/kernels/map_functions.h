#pragma once

#include <cstdint>

// The one list of pointwise functions. Everything that needs a list of them (the enum, the names,
// the kernel tables, the tests) is generated from it.
//
// _(name, arity, types, kind)
//   types  F: float32 and float64, I: int64, FI: all three. Other dtypes are converted to one of
//   these. kind   value: the result has the compute type
//          truth: the result is bool
//          pick:  value, and the first operand is bool
// Parameters a, b, c are those of MapParams.

#define TANDEM_MAP_ARITHMETIC(_)                                              \
  _(neg, 1, FI, value)                                                        \
  _(abs, 1, FI, value)                                                        \
  _(sign, 1, FI, value)                                                       \
  _(square, 1, FI, value)                                                     \
  _(sqrt, 1, F, value)                                                        \
  _(rsqrt, 1, F, value)                                                       \
  _(reciprocal, 1, F, value)                                                  \
  _(floor, 1, FI, value)                                                      \
  _(ceil, 1, FI, value)                                                       \
  _(round, 1, FI, value) /* half to even */                                   \
  _(trunc, 1, FI, value)                                                      \
  _(frac, 1, F, value)                                                        \
  _(relu, 1, FI, value)                                                       \
  _(clamp, 1, FI, value)      /* to [a, b] */                                 \
  _(clamp_min, 1, FI, value)  /* to [a, inf) */                               \
  _(clamp_max, 1, FI, value)  /* to (-inf, b] */                              \
  _(nan_to_num, 1, FI, value) /* nan -> a, inf -> b, -inf -> c */             \
  _(bitwise_not, 1, I, value)                                                 \
  _(add, 2, FI, value) /* x + a * y */                                        \
  _(sub, 2, FI, value) /* x - a * y */                                        \
  _(mul, 2, FI, value)                                                        \
  _(div, 2, F, value)                                                         \
  _(floor_divide, 2, FI, value)                                               \
  _(trunc_divide, 2, FI, value)                                               \
  _(remainder, 2, FI, value) /* sign of the divisor */                        \
  _(fmod, 2, FI, value)      /* sign of the dividend */                       \
  _(maximum, 2, FI, value)   /* nan if either is */                           \
  _(minimum, 2, FI, value)                                                    \
  _(fmax, 2, FI, value) /* nan only if both are */                            \
  _(fmin, 2, FI, value)                                                       \
  _(copysign, 2, F, value)                                                    \
  _(nextafter, 2, F, value)                                                   \
  _(heaviside, 2, FI, value)                                                  \
  _(gcd, 2, I, value)                                                         \
  _(lcm, 2, I, value)                                                         \
  _(bitwise_and, 2, I, value)                                                 \
  _(bitwise_or, 2, I, value)                                                  \
  _(bitwise_xor, 2, I, value)                                                 \
  _(shift_left, 2, I, value)                                                  \
  _(shift_right, 2, I, value)                                                 \
  _(relu_backward, 2, FI, value)      /* (g, y): g where y > a, else 0 */     \
  _(leaky_relu_backward, 2, F, value) /* (g, x): g where x > 0, else a * g */ \
  _(where, 3, FI, pick)                                                       \
  _(addcmul, 3, FI, value)       /* x + a * y * z */                          \
  _(addcdiv, 3, F, value)        /* x + a * y / z */                          \
  _(lerp, 3, F, value)           /* x + z * (y - x) */                        \
  _(clamp_between, 3, FI, value) /* x to [y, z] */

#define TANDEM_MAP_COMPARE(_)  \
  _(logical_not, 1, FI, truth) \
  _(isnan, 1, F, truth)        \
  _(isinf, 1, F, truth)        \
  _(isfinite, 1, F, truth)     \
  _(isposinf, 1, F, truth)     \
  _(isneginf, 1, F, truth)     \
  _(signbit, 1, FI, truth)     \
  _(eq, 2, FI, truth)          \
  _(ne, 2, FI, truth)          \
  _(lt, 2, FI, truth)          \
  _(le, 2, FI, truth)          \
  _(gt, 2, FI, truth)          \
  _(ge, 2, FI, truth)          \
  _(logical_and, 2, FI, truth) \
  _(logical_or, 2, FI, truth)  \
  _(logical_xor, 2, FI, truth)

#define TANDEM_MAP_EXPONENTIAL(_)                                          \
  _(exp, 1, F, value)                                                      \
  _(exp2, 1, F, value)                                                     \
  _(expm1, 1, F, value)                                                    \
  _(log, 1, F, value)                                                      \
  _(log2, 1, F, value)                                                     \
  _(log10, 1, F, value)                                                    \
  _(log1p, 1, F, value)                                                    \
  _(sinh, 1, F, value)                                                     \
  _(cosh, 1, F, value)                                                     \
  _(tanh, 1, F, value)                                                     \
  _(asinh, 1, F, value)                                                    \
  _(acosh, 1, F, value)                                                    \
  _(atanh, 1, F, value)                                                    \
  _(sigmoid, 1, F, value)                                                  \
  _(log_sigmoid, 1, F, value)                                              \
  _(softplus, 1, F, value) /* log(1 + exp(a x)) / a, or x where a x > b */ \
  _(pow, 2, FI, value)                                                     \
  _(xlogy, 2, F, value)                                                    \
  _(logaddexp, 2, F, value)                                                \
  _(logaddexp2, 2, F, value)                                               \
  _(tanh_backward, 2, F, value)    /* (g, y): g (1 - y y) */               \
  _(sigmoid_backward, 2, F, value) /* (g, y): g y (1 - y) */

#define TANDEM_MAP_SPECIAL(_)                             \
  _(sin, 1, F, value)                                     \
  _(cos, 1, F, value)                                     \
  _(tan, 1, F, value)                                     \
  _(asin, 1, F, value)                                    \
  _(acos, 1, F, value)                                    \
  _(atan, 1, F, value)                                    \
  _(erf, 1, F, value)                                     \
  _(erfc, 1, F, value)                                    \
  _(erfinv, 1, F, value)                                  \
  _(lgamma, 1, F, value)                                  \
  _(digamma, 1, F, value)                                 \
  _(polygamma, 1, F, value) /* derivative a of digamma */ \
  _(i0, 1, F, value)                                      \
  _(i0e, 1, F, value)                                     \
  _(i1, 1, F, value)                                      \
  _(i1e, 1, F, value)                                     \
  _(bessel_j0, 1, F, value)                               \
  _(bessel_j1, 1, F, value)                               \
  _(bessel_y0, 1, F, value)                               \
  _(bessel_y1, 1, F, value)                               \
  _(bessel_k0, 1, F, value)                               \
  _(bessel_k1, 1, F, value)                               \
  _(bessel_k0e, 1, F, value)                              \
  _(bessel_k1e, 1, F, value)                              \
  _(erfcx, 1, F, value)                                   \
  _(ndtri, 1, F, value)                                   \
  _(igamma, 2, F, value)                                  \
  _(igammac, 2, F, value)                                 \
  _(zeta, 2, F, value)                                    \
  _(atan2, 2, F, value)                                   \
  _(hypot, 2, F, value)

#define TANDEM_MAP_ACTIVATION(_)                                            \
  _(leaky_relu, 1, F, value) /* slope a */                                  \
  _(elu, 1, F, value)        /* b x where x > 0, else b a (exp(c x) - 1) */ \
  _(silu, 1, F, value)                                                      \
  _(mish, 1, F, value)                                                      \
  _(gelu, 1, F, value)                                                      \
  _(gelu_tanh, 1, F, value)                                                 \
  _(hardsigmoid, 1, F, value)                                               \
  _(hardswish, 1, F, value)                                                 \
  _(softsign, 1, F, value)                                                  \
  _(tanhshrink, 1, F, value)                                                \
  _(hardshrink, 1, F, value) /* 0 where |x| <= a */                         \
  _(softshrink, 1, F, value) /* x moved towards 0 by a */                   \
  _(threshold, 1, FI, value) /* x where x > a, else b */

#define TANDEM_MAP_FUNCTIONS(_) \
  TANDEM_MAP_ARITHMETIC(_)      \
  TANDEM_MAP_COMPARE(_)         \
  TANDEM_MAP_EXPONENTIAL(_)     \
  TANDEM_MAP_SPECIAL(_)         \
  TANDEM_MAP_ACTIVATION(_)

namespace tandem {

/// A pointwise function; `none` is what ops without one have.
enum class MapFn : uint16_t {
  none,
#define TANDEM_CASE(name, arity, types, kind) name,
  TANDEM_MAP_FUNCTIONS(TANDEM_CASE)
#undef TANDEM_CASE
};

namespace kernels {

enum class MapKind : uint8_t { value, truth, pick };
/// Compute types as a set of bits.
enum MapTypes : uint8_t { kMapF = 1, kMapI = 2, kMapFI = 3 };

struct MapInfo {
  const char* name;
  uint8_t arity;
  uint8_t types;
  MapKind kind;
};
inline constexpr MapInfo kMapInfo[] = {{"none", 0, 0, MapKind::value},
#define TANDEM_CASE(name, arity, types, kind) {#name, arity, kMap##types, MapKind::kind},
                                       TANDEM_MAP_FUNCTIONS(TANDEM_CASE)
#undef TANDEM_CASE
};
inline constexpr int kNumMapFns = sizeof(kMapInfo) / sizeof(kMapInfo[0]);

constexpr const MapInfo& map_info(MapFn fn) { return kMapInfo[static_cast<int>(fn)]; }
constexpr int map_arity(MapFn fn) { return map_info(fn).arity; }
constexpr const char* map_name(MapFn fn) { return map_info(fn).name; }

/// The constants of a formula; the list above says which function uses which.
struct MapParams {
  double a = 0;
  double b = 0;
  double c = 0;
};

}  // namespace kernels
}  // namespace tandem
