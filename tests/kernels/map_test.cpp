// map(), copy() and fill() over every dtype and layout against plain loops.
#include "tandem/kernels/map.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "tandem/base/parallel.h"

namespace tandem::kernels {
namespace {

constexpr DType kAll[] = {kByte, kChar,  kShort,  kInt,  kLong,
                          kHalf, kFloat, kDouble, kBool, kBFloat16};
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// Memory with guard bytes around it, and an Array that looks at it with any strides.
struct Guarded {
  DType dtype;
  Dims sizes, strides;
  std::vector<char> memory;
  static constexpr size_t kGuard = 128;

  Guarded(DType t, Dims size, Dims stride) : dtype(t), sizes(size), strides(stride) {
    int64_t extent = 1;
    for (size_t d = 0; d < sizes.size(); ++d) extent += (sizes[d] - 1) * strides[d];
    if (numel_of(sizes) == 0) extent = 0;
    memory.assign(extent * size_of(t) + 2 * kGuard, '\x5a');
  }
  Guarded(DType t, Dims size) : Guarded(t, size, contiguous_strides(size)) {}

  Array array() {
    Array a;
    a.data = memory.data() + kGuard;
    a.sizes = sizes.data();
    a.strides = strides.data();
    a.numel = numel_of(sizes);
    a.ndim = static_cast<int32_t>(sizes.size());
    a.dtype = dtype;
    a.contiguous = is_contiguous(sizes, strides);
    return a;
  }
  int64_t numel() const { return numel_of(sizes); }
  /// Where element `linear` (row major) lies.
  int64_t offset(int64_t linear) const {
    int64_t at = 0;
    for (int d = static_cast<int>(sizes.size()) - 1; d >= 0; --d) {
      at += linear % sizes[d] * strides[d];
      linear /= sizes[d];
    }
    return at;
  }
  double get(int64_t linear) {
    return dispatch(dtype, [&]<class T>(T) {
      return static_cast<double>(reinterpret_cast<T*>(memory.data() + kGuard)[offset(linear)]);
    });
  }
  void set(int64_t linear, double value) {
    dispatch(dtype, [&]<class T>(T) {
      reinterpret_cast<T*>(memory.data() + kGuard)[offset(linear)] = static_cast<T>(value);
    });
  }
  bool guards_intact() const {
    for (size_t i = 0; i < kGuard; ++i)
      if (memory[i] != '\x5a' || memory[memory.size() - 1 - i] != '\x5a') return false;
    return true;
  }
};

/// Small whole numbers that every dtype but bool holds; halves for floats.
void randomize(Guarded& b, std::mt19937& random, bool positive = false) {
  for (int64_t i = 0; i < b.numel(); ++i) {
    double v = static_cast<int>(random() % 15) - 7;
    if (b.dtype == kBool) v = random() & 1;
    if (b.dtype == kByte || positive) v = std::fabs(v) + 1;
    if (b.dtype == kBool && positive) v = 1;
    if (is_floating(b.dtype)) v /= 2;
    b.set(i, v);
  }
}

/// Index into `from` of the element that lines up with element `linear` of a result of shape `to`.
int64_t broadcast_index(int64_t linear, const Dims& to, const Dims& from) {
  int64_t index = 0, step = 1;
  for (int d = static_cast<int>(to.size()) - 1, j = static_cast<int>(from.size()) - 1; j >= 0;
       --d, --j) {
    if (from[j] != 1) index += linear % to[d] * step;
    step *= from[j];
    linear /= to[d];
  }
  return index;
}

struct Placement {
  Dims sizes, strides;
};
/// Layouts of a result of shape [3, 5, 37] and of operands that broadcast to it.
const std::vector<Placement>& out_layouts() {
  static const std::vector<Placement> all = {
      {{3, 5, 37}, {185, 37, 1}},  // contiguous
      {{3, 5, 37}, {1, 3, 15}},    // transposed
      {{3, 5, 37}, {400, 75, 2}},  // gaps
  };
  return all;
}
const std::vector<Placement>& in_layouts() {
  static const std::vector<Placement> all = {
      {{3, 5, 37}, {185, 37, 1}},
      {{3, 5, 37}, {1, 3, 15}},
      {{3, 5, 37}, {400, 75, 2}},
      {{37}, {1}},
      {{5, 1}, {1, 1}},
      {{3, 1, 37}, {37, 37, 1}},
      {{}, {}},
      {{1, 1, 1, 1}, {1, 1, 1, 1}},
      {{3, 5, 37}, {0, 1, 0}},
  };
  return all;
}

TEST(Map, AddOfEveryDtypeAndLayout) {
  std::mt19937 random(1);
  for (DType t : kAll) {
    for (const Placement& o : out_layouts()) {
      for (const Placement& a : in_layouts()) {
        for (const Placement& b : in_layouts()) {
          Guarded x(t, a.sizes, a.strides), y(t, b.sizes, b.strides), out(t, o.sizes, o.strides);
          randomize(x, random);
          randomize(y, random);
          const Array in[] = {x.array(), y.array()};
          map(MapFn::add, in, 2, out.array(), t, {.a = 1});
          ASSERT_TRUE(x.guards_intact() && y.guards_intact() && out.guards_intact());
          for (int64_t i = 0; i < out.numel(); ++i) {
            double want = x.get(broadcast_index(i, o.sizes, a.sizes)) +
                          y.get(broadcast_index(i, o.sizes, b.sizes));
            if (t == kBool) want = want != 0;
            ASSERT_EQ(out.get(i), want) << name_of(t) << " " << a.strides << b.strides << o.strides;
          }
        }
      }
    }
  }
}

TEST(Map, MixedDtypes) {
  std::mt19937 random(2);
  for (DType a : kAll) {
    for (DType b : kAll) {
      for (const DType compute : {kFloat, kDouble, kLong}) {
        Guarded x(a, {40, 3}), y(b, {3}), out(promote_types(a, b), {40, 3}, {1, 41});
        randomize(x, random);
        randomize(y, random);
        const Array in[] = {x.array(), y.array()};
        map(MapFn::mul, in, 2, out.array(), compute);
        for (int64_t i = 0; i < out.numel(); ++i) {
          double l = x.get(i), r = y.get(i % 3);
          if (compute == kLong) l = std::trunc(l), r = std::trunc(r);
          double want = l * r;
          if (out.dtype == kByte) want = static_cast<uint8_t>(static_cast<int>(want));
          if (out.dtype == kBool) want = want != 0;
          ASSERT_EQ(out.get(i), want) << name_of(a) << " " << name_of(b);
        }
      }
    }
  }
}

TEST(Map, EveryLengthAndInPlace) {
  for (DType t : {kFloat, kDouble, kLong, kInt, kHalf}) {
    for (int64_t n = 0; n < 70; ++n) {
      Guarded x(t, {n}), y(t, {n}), s(t, {});
      for (int64_t i = 0; i < n; ++i) x.set(i, i), y.set(i, 2 * i);
      s.set(0, 3);
      const Array in[] = {x.array(), y.array()};
      map(MapFn::sub, in, 2, x.array(), t, {.a = 2});  // x -= 2 y
      const Array with_scalar[] = {s.array(), y.array()};
      map(MapFn::mul, with_scalar, 2, y.array(), t);  // y *= 3
      ASSERT_TRUE(x.guards_intact() && y.guards_intact());
      for (int64_t i = 0; i < n; ++i) {
        ASSERT_EQ(x.get(i), -3 * i) << n;
        ASSERT_EQ(y.get(i), 6 * i) << n;
      }
    }
  }
}

TEST(Map, AScalarInsideTheOutput) {
  Guarded x(kFloat, {100000});
  for (int64_t i = 0; i < x.numel(); ++i) x.set(i, 5);
  Array first = x.array();
  first.ndim = 0;
  first.numel = 1;
  const Array in[] = {x.array(), first};
  map(MapFn::mul, in, 2, x.array(), kFloat);
  for (int64_t i = 0; i < x.numel(); ++i) ASSERT_EQ(x.get(i), 25);
}

TEST(Map, ComparisonsGiveBoolOrWhateverTheOutputIs) {
  std::mt19937 random(3);
  for (DType t : kAll) {
    for (DType result : {kBool, kFloat, kLong, kHalf}) {
      Guarded x(t, {71}), y(t, {71}), out(result, {71});
      randomize(x, random);
      randomize(y, random);
      const Array in[] = {x.array(), y.array()};
      map(MapFn::le, in, 2, out.array(), t);
      for (int64_t i = 0; i < 71; ++i) ASSERT_EQ(out.get(i), x.get(i) <= y.get(i));
      map(MapFn::logical_xor, in, 2, out.array(), t);
      for (int64_t i = 0; i < 71; ++i) ASSERT_EQ(out.get(i), (x.get(i) != 0) != (y.get(i) != 0));
      ASSERT_TRUE(out.guards_intact());
    }
  }
}

TEST(Map, WhereTakesAnyCondition) {
  std::mt19937 random(4);
  for (DType c : kAll) {
    for (DType t : kAll) {
      for (int64_t n : {1, 5, 64, 600}) {
        Guarded cond(c, {n}), x(t, {n}), y(t, {}), out(t, {n});
        randomize(cond, random);
        randomize(x, random);
        randomize(y, random);
        const Array in[] = {cond.array(), x.array(), y.array()};
        map(MapFn::where, in, 3, out.array(), t);
        for (int64_t i = 0; i < n; ++i)
          ASSERT_EQ(out.get(i), cond.get(i) != 0 ? x.get(i) : y.get(0)) << name_of(c) << name_of(t);
        ASSERT_TRUE(out.guards_intact());
      }
    }
  }
}

double apply1(MapFn fn, double x, DType t, MapParams p = {}) {
  Guarded in(t, {}), out(t, {});
  in.set(0, x);
  const Array a[] = {in.array()};
  map(fn, a, 1, out.array(), t, p);
  return out.get(0);
}
double apply2(MapFn fn, double x, double y, DType t, MapParams p = {}) {
  Guarded a(t, {}), b(t, {}), out(t, {});
  a.set(0, x);
  b.set(0, y);
  const Array in[] = {a.array(), b.array()};
  map(fn, in, 2, out.array(), t, p);
  return out.get(0);
}
int64_t apply_int(MapFn fn, int64_t x, int64_t y) {
  int64_t r = 0;
  const auto array = [](int64_t* p) {
    Array a;
    a.data = p;
    a.numel = 1;
    a.dtype = kLong;
    a.contiguous = true;
    return a;
  };
  const Array in[] = {array(&x), array(&y)};
  map(fn, in, 2, array(&r), kLong);
  return r;
}

TEST(Map, DivisionSigns) {
  for (DType t : {kFloat, kDouble, kLong, kInt}) {
    EXPECT_EQ(apply2(MapFn::floor_divide, 7, 2, t), 3);
    EXPECT_EQ(apply2(MapFn::floor_divide, -7, 2, t), -4);
    EXPECT_EQ(apply2(MapFn::floor_divide, 7, -2, t), -4);
    EXPECT_EQ(apply2(MapFn::floor_divide, -8, -2, t), 4);
    EXPECT_EQ(apply2(MapFn::trunc_divide, -7, 2, t), -3);
    EXPECT_EQ(apply2(MapFn::remainder, -7, 3, t), 2);
    EXPECT_EQ(apply2(MapFn::remainder, 7, -3, t), -2);
    EXPECT_EQ(apply2(MapFn::remainder, -6, 3, t), 0);
    EXPECT_EQ(apply2(MapFn::fmod, -7, 3, t), -1);
    EXPECT_EQ(apply2(MapFn::fmod, 7, -3, t), 1);
  }
  EXPECT_EQ(apply2(MapFn::floor_divide, 1, 0, kFloat), kInf);
  EXPECT_EQ(apply2(MapFn::floor_divide, -1, 0, kFloat), -kInf);
  EXPECT_TRUE(std::isnan(apply2(MapFn::floor_divide, 0, 0, kFloat)));
  EXPECT_TRUE(std::isnan(apply2(MapFn::remainder, 1, 0, kDouble)));
}

TEST(Map, IntegersAreSafe) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  for (MapFn fn : {MapFn::floor_divide, MapFn::trunc_divide, MapFn::remainder, MapFn::fmod})
    EXPECT_THROW(apply_int(fn, 1, 0), Error);
  EXPECT_EQ(apply_int(MapFn::floor_divide, kMin, -1), kMin);
  EXPECT_EQ(apply_int(MapFn::trunc_divide, kMin, -1), kMin);
  EXPECT_EQ(apply_int(MapFn::remainder, kMin, -1), 0);
  EXPECT_EQ(apply_int(MapFn::fmod, kMin, -1), 0);
  EXPECT_EQ(apply_int(MapFn::mul, kMax, 2), -2);
  EXPECT_EQ(apply_int(MapFn::add, 1, 1), 1);  // alpha 0
  EXPECT_EQ(apply_int(MapFn::pow, 3, 4), 81);
  EXPECT_EQ(apply_int(MapFn::pow, -2, 63), kMin);
  EXPECT_EQ(apply_int(MapFn::pow, 0, 0), 1);
  EXPECT_EQ(apply_int(MapFn::pow, 2, -1), 0);
  EXPECT_EQ(apply_int(MapFn::pow, -1, -3), -1);
  EXPECT_EQ(apply_int(MapFn::gcd, -12, 18), 6);
  EXPECT_EQ(apply_int(MapFn::lcm, 4, -6), 12);
  EXPECT_EQ(apply_int(MapFn::bitwise_and, 12, 10), 8);
  EXPECT_EQ(apply_int(MapFn::bitwise_or, 12, 10), 14);
  EXPECT_EQ(apply_int(MapFn::bitwise_xor, 12, 10), 6);
  EXPECT_EQ(apply_int(MapFn::shift_left, 3, 4), 48);
  EXPECT_EQ(apply_int(MapFn::shift_left, 1, 64), 0);
  EXPECT_EQ(apply_int(MapFn::shift_left, -1, 70), 0);
  EXPECT_EQ(apply_int(MapFn::shift_right, -16, 2), -4);
  EXPECT_EQ(apply_int(MapFn::shift_right, -16, 99), -1);
  EXPECT_EQ(apply1(MapFn::neg, 5, kByte), 251);
  EXPECT_EQ(apply1(MapFn::clamp, 50, kLong, {.a = -kInf, .b = 9}), 9);
  EXPECT_EQ(apply1(MapFn::clamp_min, 50, kLong, {.a = kInf}), static_cast<double>(kMax));
}

TEST(Map, NaNsGoWhereTheyShould) {
  for (DType t : {kFloat, kDouble, kHalf, kBFloat16}) {
    for (MapFn fn : {MapFn::maximum, MapFn::minimum}) {
      EXPECT_TRUE(std::isnan(apply2(fn, kNaN, 1, t)));
      EXPECT_TRUE(std::isnan(apply2(fn, 1, kNaN, t)));
    }
    for (MapFn fn : {MapFn::fmax, MapFn::fmin}) {
      EXPECT_EQ(apply2(fn, kNaN, 1, t), 1);
      EXPECT_EQ(apply2(fn, 1, kNaN, t), 1);
    }
    for (MapFn fn : {MapFn::relu,        MapFn::clamp,       MapFn::clamp_min, MapFn::clamp_max,
                     MapFn::neg,         MapFn::abs,         MapFn::tanh,      MapFn::sigmoid,
                     MapFn::gelu,        MapFn::gelu_tanh,   MapFn::silu,      MapFn::mish,
                     MapFn::softplus,    MapFn::log_sigmoid, MapFn::elu,       MapFn::leaky_relu,
                     MapFn::hardsigmoid, MapFn::hardswish,   MapFn::softsign,  MapFn::threshold,
                     MapFn::digamma,     MapFn::erfinv,      MapFn::frac,      MapFn::round})
      EXPECT_TRUE(std::isnan(apply1(fn, kNaN, t, {1, 1, 1}))) << map_name(fn) << " " << name_of(t);
    EXPECT_EQ(apply1(MapFn::nan_to_num, kNaN, t, {.a = 2, .b = 3, .c = 4}), 2);
    EXPECT_EQ(apply1(MapFn::nan_to_num, kInf, t, {.a = 2, .b = 3, .c = 4}), 3);
    EXPECT_EQ(apply1(MapFn::nan_to_num, -kInf, t, {.a = 2, .b = 3, .c = 4}), 4);
    EXPECT_EQ(apply1(MapFn::nan_to_num, 5, t, {.a = 2, .b = 3, .c = 4}), 5);
  }
}

TEST(Map, RoundingFunctions) {
  for (DType t : {kFloat, kDouble}) {
    EXPECT_EQ(apply1(MapFn::round, 2.5, t), 2);
    EXPECT_EQ(apply1(MapFn::round, 3.5, t), 4);
    EXPECT_EQ(apply1(MapFn::round, -0.5, t), 0);
    EXPECT_EQ(apply1(MapFn::floor, -1.5, t), -2);
    EXPECT_EQ(apply1(MapFn::ceil, -1.5, t), -1);
    EXPECT_EQ(apply1(MapFn::trunc, -1.5, t), -1);
    EXPECT_EQ(apply1(MapFn::frac, -1.75, t), -0.75);
    EXPECT_EQ(apply1(MapFn::sign, -1.75, t), -1);
    EXPECT_EQ(apply2(MapFn::copysign, 3, -0.0, t), -3);
    EXPECT_EQ(apply2(MapFn::nextafter, 1, 2, t),
              1 + (t == kFloat ? std::numeric_limits<float>::epsilon()
                               : std::numeric_limits<double>::epsilon()));
    EXPECT_EQ(apply2(MapFn::heaviside, 0, 0.25, t), 0.25);
  }
}

/// Functions without a test of their own, against their definitions in double.
TEST(Map, FormulasMatchTheirDefinitions) {
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  struct Case {
    MapFn fn;
    std::function<double(double)> exact;
    MapParams p = {};
  };
  const std::vector<Case> cases = {
      {MapFn::silu, [&](double x) { return x * sigmoid(x); }},
      {MapFn::mish, [&](double x) { return x * std::tanh(std::log1p(std::exp(x))); }},
      {MapFn::gelu, [&](double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }},
      {MapFn::gelu_tanh,
       [&](double x) {
         return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
       }},
      {MapFn::softplus,
       [&](double x) { return x * 2 > 20 ? x : std::log1p(std::exp(x * 2)) / 2; },
       {2, 20}},
      {MapFn::log_sigmoid, [&](double x) { return -std::log1p(std::exp(-x)); }},
      {MapFn::elu,
       [&](double x) { return x > 0 ? x * 3 : 3 * 2 * std::expm1(x * 0.5); },
       {2, 3, 0.5}},
      {MapFn::leaky_relu, [&](double x) { return x > 0 ? x : 0.25 * x; }, {0.25}},
      {MapFn::hardsigmoid, [&](double x) { return std::clamp(x / 6 + 0.5, 0.0, 1.0); }},
      {MapFn::hardswish, [&](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); }},
      {MapFn::softsign, [&](double x) { return x / (1 + std::fabs(x)); }},
      {MapFn::tanhshrink, [&](double x) { return x - std::tanh(x); }},
      {MapFn::hardshrink, [&](double x) { return std::fabs(x) > 0.5 ? x : 0; }, {0.5}},
      {MapFn::softshrink,
       [&](double x) { return x > 0.5    ? x - 0.5
                              : x < -0.5 ? x + 0.5
                                         : 0; },
       {0.5}},
      {MapFn::threshold, [&](double x) { return x > 0.5 ? x : 7; }, {0.5, 7}},
      {MapFn::rsqrt, [&](double x) { return 1 / std::sqrt(x); }},
      {MapFn::digamma,
       [&](double x) {
         const double h = 1e-4;
         return (8 * (std::lgamma(x + h) - std::lgamma(x - h)) -
                 (std::lgamma(x + 2 * h) - std::lgamma(x - 2 * h))) /
                (12 * h);
       }},
  };
  for (const Case& c : cases) {
    for (DType t : {kFloat, kDouble}) {
      const double tolerance = t == kFloat ? 2e-6 : c.fn == MapFn::digamma ? 1e-9 : 1e-13;
      for (double x = -8.0625; x < 12; x += 0.375) {
        const double got = apply1(c.fn, x, t, c.p), want = c.exact(x);
        if (std::isnan(want)) {
          EXPECT_TRUE(std::isnan(got));
        } else {
          EXPECT_NEAR(got, want, tolerance * (1 + std::fabs(want)))
              << map_name(c.fn) << " of " << x;
        }
      }
    }
  }
  // The tails that a careless form loses.
  EXPECT_NEAR(apply1(MapFn::gelu, -12, kFloat) / (-12 * 0.5 * std::erfc(12 / std::sqrt(2.0))), 1,
              1e-5);
  EXPECT_NEAR(apply1(MapFn::silu, -95, kFloat) / (-95 * std::exp(-95.0)), 1, 1e-4);
  EXPECT_EQ(apply1(MapFn::mish, 1e30, kFloat), static_cast<double>(1e30f));
}

TEST(Map, ErfinvUndoesErf) {
  for (double y : {1e-300, 1e-8, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 0.999999, 1 - 1e-12}) {
    for (double s : {y, -y}) {
      EXPECT_NEAR(std::erf(apply1(MapFn::erfinv, s, kDouble)), s, 1e-15) << s;
    }
  }
  EXPECT_EQ(apply1(MapFn::erfinv, 1, kDouble), kInf);
  EXPECT_EQ(apply1(MapFn::erfinv, -1, kFloat), -kInf);
  EXPECT_TRUE(std::isnan(apply1(MapFn::erfinv, 1.5, kFloat)));
  EXPECT_NEAR(apply1(MapFn::digamma, 1, kDouble), -0.57721566490153286061, 1e-14);
  EXPECT_NEAR(apply1(MapFn::digamma, -0.5, kDouble), 0.03648997397857652056, 1e-14);
  EXPECT_EQ(apply1(MapFn::digamma, 0, kDouble), -kInf);
  EXPECT_TRUE(std::isnan(apply1(MapFn::digamma, -3, kDouble)));
}

TEST(Map, BesselFunctions) {
  // At 0.5, 1.5, 7.25, 19.5, 20.5 and 60: near and far series and the integral between them.
  const double x[] = {0.5, 1.5, 7.25, 19.5, 20.5, 60};
  struct Case {
    MapFn fn;
    double want[6];
  };
  const Case cases[] = {
      {MapFn::i0,
       {1.0634833707413236, 1.646723189772891, 212.5583411627976, 26760525.339838766,
        70922869.83431701, 5.894077055609801e+24}},
      {MapFn::i0e,
       {0.6450352704491501, 0.36743360905415834, 0.15095349002867584, 0.09093943209515648,
        0.08866442901574524, 0.05161154917360984}},
      {MapFn::i1,
       {0.2578943053908963, 0.9816664285779075, 197.3015658656383, 26065069.264457166,
        69170831.67918438, 5.844751588390468e+24}},
      {MapFn::i1e,
       {0.1564208031848717, 0.21903938742092569, 0.14011851895630761, 0.08857608609431485,
        0.08647411349408725, 0.05117963018902872}},
      {MapFn::bessel_j0,
       {0.9384698072408129, 0.5118276717359181, 0.291996924191779, 0.17885382704017289,
        0.11509696025367476, -0.09147180408906187}},
      {MapFn::bessel_j1,
       {0.2422684576748739, 0.5579365079100996, 0.06858170065313174, -0.02087707014809752,
        0.13625468819339573, 0.046598383758166315}},
      {MapFn::bessel_y0,
       {-0.44451873350670656, 0.38244892379775886, 0.04842252986520283, -0.025451742976154466,
        0.1334095666575905, 0.0473589522094494}},
      {MapFn::bessel_y1,
       {-1.471472392670243, -0.4123086269739113, -0.28934799419758706, -0.1795645668963179,
        -0.11187909834450974, 0.09186960936986689}},
      {MapFn::bessel_k0,
       {0.9244190712276659, 0.21380556264752573, 0.00032525417308693023, 9.584824009312829e-10,
        3.440008581708598e-10, 1.4138978405591078e-27}},
      {MapFn::bessel_k1,
       {1.656441120003301, 0.2773878004568438, 0.00034700062309896867, 9.82758775436381e-10,
        3.522934478711248e-10, 1.4256320265171043e-27}},
      {MapFn::bessel_k0e,
       {1.5241093857739094, 0.9582100532948965, 0.4579919780225157, 0.2820502832156702,
        0.27516703550431326, 0.16146817823629392}},
      {MapFn::bessel_k1e,
       {2.731009708211786, 1.243165873552553, 0.48861325971570807, 0.28919403285359757,
        0.2818002960624662, 0.16280823094404426}},
  };
  for (const Case& c : cases)
    for (int i = 0; i < 6; ++i) {
      EXPECT_NEAR(apply1(c.fn, x[i], kDouble) / c.want[i], 1, 4e-14) << map_name(c.fn) << x[i];
      if (std::fabs(c.want[i]) > 1e-30 && std::fabs(c.want[i]) < 1e30) {
        EXPECT_NEAR(apply1(c.fn, x[i], kFloat) / c.want[i], 1, 1e-7) << map_name(c.fn) << x[i];
      }
    }
  for (MapFn even : {MapFn::i0, MapFn::i0e, MapFn::bessel_j0})
    EXPECT_EQ(apply1(even, -1.5, kDouble), apply1(even, 1.5, kDouble));
  for (MapFn odd : {MapFn::i1, MapFn::i1e, MapFn::bessel_j1})
    EXPECT_EQ(apply1(odd, -1.5, kDouble), -apply1(odd, 1.5, kDouble));
  for (MapFn fn :
       {MapFn::i0e, MapFn::i1e, MapFn::bessel_j0, MapFn::bessel_j1, MapFn::bessel_y0,
        MapFn::bessel_y1, MapFn::bessel_k0, MapFn::bessel_k1, MapFn::bessel_k0e, MapFn::bessel_k1e})
    EXPECT_EQ(apply1(fn, kInf, kDouble), 0) << map_name(fn);
  EXPECT_EQ(apply1(MapFn::i0, -kInf, kDouble), kInf);
  EXPECT_EQ(apply1(MapFn::i1, -kInf, kDouble), -kInf);
  EXPECT_EQ(apply1(MapFn::i0, 0, kFloat), 1);
  EXPECT_EQ(apply1(MapFn::i1, 0, kFloat), 0);
  for (MapFn fn : {MapFn::bessel_y0, MapFn::bessel_y1, MapFn::bessel_k0, MapFn::bessel_k1,
                   MapFn::bessel_k0e, MapFn::bessel_k1e}) {
    const bool k = fn != MapFn::bessel_y0 && fn != MapFn::bessel_y1;
    EXPECT_EQ(apply1(fn, 0, kDouble), k ? kInf : -kInf) << map_name(fn);
    EXPECT_TRUE(std::isnan(apply1(fn, -1, kDouble))) << map_name(fn);
  }
  for (MapFn fn : {MapFn::i0, MapFn::i0e, MapFn::i1, MapFn::i1e, MapFn::bessel_j0, MapFn::bessel_y1,
                   MapFn::bessel_k0, MapFn::bessel_k1e})
    EXPECT_TRUE(std::isnan(apply1(fn, kNaN, kFloat))) << map_name(fn);
}

TEST(Map, StatisticalFunctions) {
  const auto close = [](double got, double want) {
    EXPECT_NEAR(got, want, 2e-14 * std::max(0.1, std::fabs(want)));
  };
  struct Pair {
    double x, y, want;
  };
  const Pair gammas[] = {{0.25, 0.5, 0.8464864041916775},  {1.5, 0.5, 0.1987480430987992},
                         {1.5, 8.0, 0.9988660157102147},   {12.0, 11.0, 0.42073323707828797},
                         {25.0, 25.0, 0.5266015314436506}, {300.0, 330.0, 0.955109776129987}};
  const Pair zetas[] = {{1.5, 0.5, 4.776537947554833},       {2.0, 1.0, 1.6449340668482264},
                        {3.0, 250.0, 8.032063999658672e-06}, {40.0, 2.5, 1.2089275466329262e-16},
                        {2.0, -0.5, 8.934802200544679},      {3.0, -7.25, -62.00426301828287}};
  const Pair erfcxs[] = {{-5.3, 0, 3164914574749.34},    {0.3, 0, 0.7345993345676551},
                         {1.9, 0, 0.26650937366167265},  {2.1, 0, 0.24511912334517233},
                         {30.0, 0, 0.01879588886141675}, {10000000000.0, 0, 5.641895835477563e-11}};
  const Pair ndtris[] = {{1e-300, 0, -37.0470962993612},
                         {1e-10, 0, -6.361340902404057},
                         {0.02, 0, -2.053748910631823},
                         {0.3, 0, -0.5244005127080408},
                         {0.9, 0, 1.2815515655446006}};
  for (const Pair& p : gammas) {
    close(apply2(MapFn::igamma, p.x, p.y, kDouble), p.want);
    close(apply2(MapFn::igammac, p.x, p.y, kDouble), 1 - p.want);
    EXPECT_NEAR(apply2(MapFn::igamma, p.x, p.y, kFloat), p.want, 1e-5);
  }
  EXPECT_NEAR(apply2(MapFn::igammac, 2, 100, kDouble) / 3.757276735781044e-42, 1, 1e-13);
  for (const Pair& p : zetas)
    EXPECT_NEAR(apply2(MapFn::zeta, p.x, p.y, kDouble) / p.want, 1, 1e-14) << p.x << " " << p.y;
  for (const Pair& p : erfcxs)
    EXPECT_NEAR(apply1(MapFn::erfcx, p.x, kDouble) / p.want, 1, 1e-15) << p.x;
  for (const Pair& p : ndtris)
    EXPECT_NEAR(apply1(MapFn::ndtri, p.x, kDouble) / p.want, 1, 1e-14) << p.x;
  // Where a sum would need very many terms, or would never end.
  EXPECT_NEAR(apply2(MapFn::igamma, 1e8, 1e8, kDouble), 0.5000132980760141, 1e-13);
  EXPECT_NEAR(apply2(MapFn::igammac, 2e7, 2.001e7, kDouble), 0.01268342245653168, 1e-13);
  EXPECT_EQ(apply2(MapFn::igamma, 1e20, 2e20, kDouble), 1);
  EXPECT_EQ(apply2(MapFn::igamma, 1e38, 1e20, kDouble), 0);
  EXPECT_EQ(apply2(MapFn::zeta, 1e20, 1e19, kDouble), 0);
  // The ends of their ranges, as LibTorch has them.
  EXPECT_EQ(apply2(MapFn::igamma, 0, 1, kDouble), 1);
  EXPECT_EQ(apply2(MapFn::igamma, 1, 0, kDouble), 0);
  EXPECT_EQ(apply2(MapFn::igamma, kInf, 1, kDouble), 0);
  EXPECT_EQ(apply2(MapFn::igamma, 1, kInf, kFloat), 1);
  EXPECT_EQ(apply2(MapFn::igammac, 0, 1, kDouble), 0);
  EXPECT_EQ(apply2(MapFn::igammac, 1, 0, kDouble), 1);
  EXPECT_EQ(apply2(MapFn::igammac, 1, kInf, kFloat), 0);
  for (MapFn fn : {MapFn::igamma, MapFn::igammac}) {
    EXPECT_TRUE(std::isnan(apply2(fn, -1, 1, kDouble)));
    EXPECT_TRUE(std::isnan(apply2(fn, 1, -1, kDouble)));
    EXPECT_TRUE(std::isnan(apply2(fn, 0, 0, kDouble)));
    EXPECT_TRUE(std::isnan(apply2(fn, kInf, kInf, kDouble)));
    EXPECT_TRUE(std::isnan(apply2(fn, kNaN, 1, kDouble)));
  }
  EXPECT_EQ(apply2(MapFn::zeta, 1, 2, kDouble), kInf);
  EXPECT_EQ(apply2(MapFn::zeta, 2, -3, kDouble), kInf);
  EXPECT_TRUE(std::isnan(apply2(MapFn::zeta, 0.5, 2, kDouble)));
  EXPECT_TRUE(std::isnan(apply2(MapFn::zeta, 2.5, -0.5, kDouble)));
  EXPECT_EQ(apply1(MapFn::erfcx, kInf, kDouble), 0);
  EXPECT_EQ(apply1(MapFn::erfcx, -kInf, kDouble), kInf);
  EXPECT_EQ(apply1(MapFn::erfcx, -30, kDouble), kInf);
  EXPECT_EQ(apply1(MapFn::ndtri, 0, kDouble), -kInf);
  EXPECT_EQ(apply1(MapFn::ndtri, 1, kFloat), kInf);
  EXPECT_EQ(apply1(MapFn::ndtri, 0.5, kFloat), 0);
  EXPECT_TRUE(std::isnan(apply1(MapFn::ndtri, 1.5, kDouble)));
}

TEST(Map, BinaryFormulas) {
  for (DType t : {kFloat, kDouble}) {
    const double eps = t == kFloat ? 1e-6 : 1e-14;
    EXPECT_NEAR(apply2(MapFn::logaddexp, 1, 2, t), std::log(std::exp(1) + std::exp(2)), 4 * eps);
    EXPECT_EQ(apply2(MapFn::logaddexp, -kInf, -kInf, t), -kInf);
    EXPECT_EQ(apply2(MapFn::logaddexp, kInf, 3, t), kInf);
    EXPECT_NEAR(apply2(MapFn::logaddexp2, 1, 2, t), std::log2(6), 4 * eps);
    EXPECT_EQ(apply2(MapFn::xlogy, 0, 0, t), 0);
    EXPECT_TRUE(std::isnan(apply2(MapFn::xlogy, 0, kNaN, t)));
    EXPECT_NEAR(apply2(MapFn::xlogy, 2, 3, t), 2 * std::log(3), 4 * eps);
    EXPECT_EQ(apply2(MapFn::tanh_backward, 2, 0.5, t), 1.5);
    EXPECT_EQ(apply2(MapFn::sigmoid_backward, 2, 0.5, t), 0.5);
    EXPECT_EQ(apply2(MapFn::relu_backward, 2, 0.5, t), 2);
    EXPECT_EQ(apply2(MapFn::relu_backward, 2, 0, t), 0);
    EXPECT_EQ(apply2(MapFn::leaky_relu_backward, 2, -1, t, {.a = 0.25}), 0.5);
  }
}

TEST(Map, ThreadsDoNotChangeAnything) {
  const int before = get_num_threads();
  std::mt19937 random(5);
  Guarded x(kFloat, {300, 701}), y(kHalf, {701}), a(kFloat, {300, 701}), b(kFloat, {300, 701});
  randomize(x, random);
  randomize(y, random);
  const Array in[] = {x.array(), y.array()};
  for (MapFn fn : {MapFn::add, MapFn::pow, MapFn::atan2}) {
    set_num_threads(1);
    map(fn, in, 2, a.array(), kFloat, {.a = 1});
    set_num_threads(2);
    map(fn, in, 2, b.array(), kFloat, {.a = 1});
    EXPECT_EQ(a.memory, b.memory);
  }
  set_num_threads(before);
}

TEST(Map, AnErrorInAThreadReachesTheCaller) {
  Guarded x(kLong, {200000}), y(kLong, {200000}), out(kLong, {200000});
  for (int64_t i = 0; i < x.numel(); ++i) x.set(i, 6), y.set(i, i == 150000 ? 0 : 2);
  const Array in[] = {x.array(), y.array()};
  EXPECT_THROW(map(MapFn::floor_divide, in, 2, out.array(), kLong), Error);
}

TEST(Map, EveryFunctionHasItsKernels) {
  for (int i = 1; i < kNumMapFns; ++i) {
    const MapFn fn = static_cast<MapFn>(i);
    for (DType t : {kFloat, kDouble, kLong}) {
      if (!(map_info(fn).types & (t == kLong ? kMapI : kMapF))) continue;
      Guarded x(t, {9}), out(t, {9});
      for (int k = 0; k < 9; ++k) x.set(k, k + 1);
      const Array in[] = {x.array(), x.array(), x.array()};
      map(fn, in, map_arity(fn), out.array(), t, {1, 1, 1});
      EXPECT_TRUE(out.guards_intact()) << map_name(fn);
    }
  }
}

TEST(Copy, EveryPairOfDtypesAndLayouts) {
  std::mt19937 random(6);
  for (DType from : kAll) {
    for (DType to : kAll) {
      for (const Placement& o : out_layouts()) {
        for (const Placement& l : in_layouts()) {
          Guarded src(from, l.sizes, l.strides), dst(to, o.sizes, o.strides);
          randomize(src, random);
          copy(src.array(), dst.array());
          ASSERT_TRUE(dst.guards_intact());
          for (int64_t i = 0; i < dst.numel(); ++i) {
            const double v = src.get(broadcast_index(i, o.sizes, l.sizes));
            double want = v;
            if (to == kBool) want = v != 0;
            if (isIntegralType(to)) want = std::trunc(v);
            if (to == kByte) want = static_cast<uint8_t>(static_cast<int>(want));
            ASSERT_EQ(dst.get(i), want) << name_of(from) << " to " << name_of(to) << l.strides;
          }
        }
      }
    }
  }
}

TEST(Copy, Transposed) {
  for (DType t : kAll) {
    for (auto [r, c] : {std::pair<int64_t, int64_t>{8, 8}, {33, 65}, {100, 7}, {257, 129}}) {
      Guarded src(t, {3, r, c}, {r * c, 1, r}), dst(t, {3, r, c}),
          back(t, {3, r, c}, {r * c, 1, r});
      for (int64_t i = 0; i < src.numel(); ++i) src.set(i, i % 120);
      copy(src.array(), dst.array());
      copy(dst.array(), back.array());
      ASSERT_TRUE(dst.guards_intact());
      for (int64_t i = 0; i < src.numel(); ++i)
        ASSERT_EQ(dst.get(i), t == kBool ? i % 120 != 0 : i % 120);
      EXPECT_EQ(src.memory, back.memory);
    }
  }
}

TEST(Copy, WhatDoesNotFitIsDefined) {
  const std::vector<double> odd = {kNaN,         kInf,          -kInf,  1e30,    -1e30, 3e9, -3e9,
                                   2147483647.5, -2147483648.5, 9.3e18, -9.3e18, 300,   -1};
  const auto n = static_cast<int64_t>(odd.size());
  for (DType from : {kDouble, kFloat}) {
    Guarded src(from, {n});
    for (int64_t i = 0; i < n; ++i) src.set(i, odd[i]);
    Guarded wide(kLong, {n}), narrow(kInt, {n}), byte(kByte, {n}), truth(kBool, {n});
    copy(src.array(), wide.array());
    copy(src.array(), narrow.array());
    copy(src.array(), byte.array());
    copy(src.array(), truth.array());
    constexpr double kMin64 = -0x1p63, kMin32 = -0x1p31;
    for (int i : {0, 1, 2, 3, 4, 9, 10}) EXPECT_EQ(wide.get(i), kMin64) << i;
    EXPECT_EQ(wide.get(5), 3e9);
    for (int i : {0, 1, 2, 3, 4, 5, 6, 9, 10}) EXPECT_EQ(narrow.get(i), kMin32) << i;
    EXPECT_EQ(narrow.get(8), kMin32);
    EXPECT_EQ(byte.get(0), 0);
    EXPECT_EQ(byte.get(11), 300 - 256);
    EXPECT_EQ(byte.get(12), 255);
    for (int64_t i = 0; i < n; ++i) EXPECT_EQ(truth.get(i), 1);
  }
}

TEST(Copy, SixteenBitFloatsRoundToNearestEvenAndKeepDenormals) {
  // Long enough for whole registers and a tail: both must agree with Half's own conversion.
  std::vector<float> values;
  for (uint32_t bits = 0; bits < 0xffffu; bits += 7) {
    values.push_back(Half::from_bits(static_cast<uint16_t>(bits)));
    values.push_back(std::nextafter(static_cast<float>(values.back()), 1e9f));
    values.push_back(std::bit_cast<float>(bits << 16 | 0x8000));
    values.push_back(std::bit_cast<float>(bits << 16 | 0x1000));
  }
  const auto n = static_cast<int64_t>(values.size());
  std::vector<Half> half(n);
  std::vector<BFloat16> brain(n);
  std::vector<float> back(n);
  convert(kFloat, values.data(), kHalf, half.data(), n);
  convert(kFloat, values.data(), kBFloat16, brain.data(), n);
  for (int64_t i = 0; i < n; ++i) {
    if (std::isnan(values[i])) continue;
    ASSERT_EQ(half[i].bits, Half(values[i]).bits) << values[i];
    ASSERT_EQ(brain[i].bits, BFloat16(values[i]).bits) << values[i];
  }
  convert(kHalf, half.data(), kFloat, back.data(), n);
  for (int64_t i = 0; i < n; ++i)
    if (!std::isnan(values[i])) {
      ASSERT_EQ(back[i], static_cast<float>(half[i]));
    }
}

TEST(Fill, EveryDtypeAndLayout) {
  for (DType t : kAll) {
    for (const Placement& o : out_layouts()) {
      Guarded dst(t, o.sizes, o.strides);
      const std::vector<char> before = dst.memory;
      fill(dst.array(), 3.75);
      ASSERT_TRUE(dst.guards_intact());
      for (int64_t i = 0; i < dst.numel(); ++i)
        ASSERT_EQ(dst.get(i), is_floating(t) ? 3.75 : t == kBool ? 1 : 3);
      fill(dst.array(), int64_t{1});
      for (int64_t i = 0; i < dst.numel(); ++i) ASSERT_EQ(dst.get(i), 1);
    }
  }
  int64_t big = 0;
  Array a;
  a.data = &big;
  a.numel = 1;
  a.dtype = kLong;
  a.contiguous = true;
  fill(a, std::numeric_limits<int64_t>::max());
  EXPECT_EQ(big, std::numeric_limits<int64_t>::max());
}

}  // namespace
}  // namespace tandem::kernels
