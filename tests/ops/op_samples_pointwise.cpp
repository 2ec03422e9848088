// Rows of the arithmetic, exponential and trigonometric functions.
#include <cmath>
#include <numbers>
#include <numeric>

#include "tests/ops/op_reference.h"
#include "tests/ops/op_table.h"

namespace tandem::table {
namespace {

Row unary(const char* name, Fn fn, InPlace inplace, double (*f)(double), Input x) {
  return {.name = name,
          .ops = {name},
          .fn = std::move(fn),
          .reference = pointwise(f),
          .inplace = std::move(inplace),
          .samples = {{.label = "plain", .inputs = {std::move(x)}}},
          .pointwise = true,
          .tolerance64 = 1e-13,
          .tolerance32 = 1e-6};
}

Row binary(const char* name, Fn fn, InPlace inplace, double (*f)(double, double), Input x,
           Input y) {
  return {.name = name,
          .ops = {name},
          .fn = std::move(fn),
          .reference = pointwise(f),
          .inplace = std::move(inplace),
          .samples = {{.label = "plain", .inputs = {std::move(x), std::move(y)}}},
          .pointwise = true,
          .tolerance64 = 1e-13,
          .tolerance32 = 1e-6};
}

// A unary row whose in-place form is the name with an underscore.
#define UNARY(f, formula, ...) \
  rows.push_back(unary(        \
      #f, FN1(f), INPLACE(a[0].f##_()), [](double x) -> double { return formula; }, __VA_ARGS__))
#define BINARY(f, formula, ...)                                                                   \
  rows.push_back(binary(                                                                          \
      #f, FN2(f), INPLACE(a[0].f##_(a[1])), [](double x, double y) -> double { return formula; }, \
      __VA_ARGS__))

// A sample that calls something else than the row's function of the same family: with a number,
// say.
void also(Row& row, const char* label, Fn fn, double (*f)(double), Input x,
          InPlace inplace = nullptr) {
  row.samples.push_back({.label = label,
                         .inputs = {std::move(x)},
                         .fn = std::move(fn),
                         .reference = pointwise(f),
                         .inplace = inplace,
                         .no_inplace = !inplace});
}

void add_rounding(std::vector<Row>& rows) {
  const Input x = real({2, 3}, -4, 4).avoiding({-4, -3, -2, -1, 0, 1, 2, 3, 4}, 0.05);
  const Input off_halves = real({2, 3}, -3, 3).avoiding({-2.5, -1.5, -0.5, 0.5, 1.5, 2.5}, 0.05);
  UNARY(floor, std::floor(x), x);
  rows.back().dtypes = kAllButBool;
  UNARY(ceil, std::ceil(x), x);
  rows.back().dtypes = kAllButBool;
  UNARY(trunc, std::trunc(x), x);
  rows.back().dtypes = kAllButBool;
  UNARY(round, std::nearbyint(x), off_halves);
  rows.back().dtypes = kAllButBool;
  UNARY(frac, x - std::trunc(x), x);
  rows.back().dtypes = kFloats;
  UNARY(sign, (x > 0) - (x < 0), real({2, 3}).avoiding({0}));
}

void add_unary_arithmetic(std::vector<Row>& rows) {
  const Input x = real({2, 3}).avoiding({0});
  UNARY(neg, -x, real({2, 3}));
  rows.back().dtypes = kAllButBool;
  UNARY(abs, std::abs(x), x);
  rows.back().dtypes = kAllButBool;
  UNARY(square, x * x, real({2, 3}));
  rows.back().dtypes = kAllButBool;
  rows.back().refuses_others = false;  // bool becomes int64
  UNARY(sqrt, std::sqrt(x), real({2, 3}, 0.2, 4));
  rows.back().out = Out::kFloat;
  UNARY(rsqrt, 1 / std::sqrt(x), real({2, 3}, 0.2, 4));
  rows.back().out = Out::kFloat;
  UNARY(reciprocal, 1 / x, x);
  rows.back().out = Out::kFloat;
  UNARY(deg2rad, x * std::numbers::pi / 180, real({2, 3}, -120, 120));
  rows.back().ops = {};
  rows.back().out = Out::kFloat;
  rows.back().tolerance16 = 2e-2;
  UNARY(rad2deg, x * 180 / std::numbers::pi, real({2, 3}));
  rows.back().ops = {};
  rows.back().out = Out::kFloat;
  rows.back().tolerance16 = 2e-2;
  rows.push_back(unary(
      "nan_to_num", FN(nan_to_num(a[0], 0.5, 100.0, -50.0)),
      INPLACE(a[0].nan_to_num_(0.5, 100.0, -50.0)),
      [](double x) { return std::isnan(x)   ? 0.5
                            : std::isinf(x) ? (x > 0 ? 100 : -50)
                                            : x; },
      real({2, 3})));
}

void add_exponential(std::vector<Row>& rows) {
  const size_t first = rows.size();
  UNARY(exp, std::exp(x), real({2, 3}));
  UNARY(exp2, std::exp2(x), real({2, 3}));
  UNARY(expm1, std::expm1(x), real({2, 3}));
  UNARY(log, std::log(x), real({2, 3}, 0.2, 4));
  UNARY(log2, std::log2(x), real({2, 3}, 0.2, 4));
  UNARY(log10, std::log10(x), real({2, 3}, 0.2, 4));
  UNARY(log1p, std::log1p(x), real({2, 3}, -0.6, 4));
  UNARY(sin, std::sin(x), real({2, 3}, -4, 4));
  UNARY(cos, std::cos(x), real({2, 3}, -4, 4));
  UNARY(tan, std::tan(x), real({2, 3}, -1.2, 1.2));
  UNARY(asin, std::asin(x), real({2, 3}, -0.9, 0.9));
  UNARY(acos, std::acos(x), real({2, 3}, -0.9, 0.9));
  UNARY(atan, std::atan(x), real({2, 3}));
  UNARY(sinh, std::sinh(x), real({2, 3}));
  UNARY(cosh, std::cosh(x), real({2, 3}));
  UNARY(tanh, std::tanh(x), real({2, 3}));
  rows.back().ops = {"tanh", "tanh_backward"};
  UNARY(asinh, std::asinh(x), real({2, 3}));
  UNARY(acosh, std::acosh(x), real({2, 3}, 1.2, 4));
  UNARY(atanh, std::atanh(x), real({2, 3}, -0.9, 0.9));
  UNARY(erf, std::erf(x), real({2, 3}));
  UNARY(erfc, std::erfc(x), real({2, 3}));
  UNARY(erfinv, erfinv_reference(x), real({2, 3}, -0.9, 0.9));
  UNARY(lgamma, std::lgamma(x), real({2, 3}, 0.3, 6));
  UNARY(digamma, digamma_reference(x), real({2, 3}, 0.3, 6));
  rows.back().special = false;
  rows.back().tolerance32 = 4e-6;
  rows.push_back({.name = "polygamma",
                  .ops = {"polygamma"},
                  .fn = FN(polygamma(1, a[0])),
                  .reference = pointwise(trigamma_reference),
                  .inplace = INPLACE(a[0].polygamma_(1)),
                  .samples = {{.label = "plain", .inputs = {real({2, 3}, 0.3, 6)}}},
                  .pointwise = true,
                  .special = false});
  UNARY(sigmoid, 1 / (1 + std::exp(-x)), real({2, 3}));
  rows.back().ops = {"sigmoid", "sigmoid_backward"};
  UNARY(logit, std::log(x / (1 - x)), real({2, 3}, 0.1, 0.9));
  rows.back().ops = {};
  rows.back().tolerance16 = 2e-2;
  UNARY(sinc, x == 0 ? 1 : std::sin(std::numbers::pi * x) / (std::numbers::pi * x),
        real({2, 3}).avoiding({0}));
  rows.back().ops = {};
  rows.back().special = false;
  rows.back().tolerance16 = 2e-2;
  for (size_t i = first; i < rows.size(); ++i) rows[i].out = Out::kFloat;
}

void add_binary_arithmetic(std::vector<Row>& rows) {
  const Input x = real({2, 3}), y = real({2, 3}).avoiding({0});
  BINARY(add, x + y, x, x);
  also(
      rows.back(), "number", FN(a[0] + 2), [](double x) { return x + 2; }, x, INPLACE(a[0] += 2));
  rows.back().samples.back().dtypes = kAllButBool;
  also(
      rows.back(), "number first", FN(2 + a[0]), [](double x) { return x + 2; }, x);
  rows.back().samples.back().dtypes = kAllButBool;
  also(
      rows.back(), "alpha", FN(add(a[0], a[0], 3)), [](double x) { return 4 * x; }, x,
      INPLACE(a[0].add_(a[0], 3)));
  rows.back().samples.back().dtypes = kAllButBool;
  BINARY(sub, x - y, x, x);
  rows.back().dtypes = kAllButBool;
  also(
      rows.back(), "number", FN(a[0] - 2), [](double x) { return x - 2; }, x, INPLACE(a[0] -= 2));
  also(
      rows.back(), "number first", FN(2 - a[0]), [](double x) { return 2 - x; }, x);
  also(
      rows.back(), "alpha", FN(sub(a[0], a[0], 3)), [](double x) { return -2 * x; }, x,
      INPLACE(a[0].sub_(a[0], 3)));
  rows.push_back(binary(
      "rsub", FN2(rsub), nullptr, [](double x, double y) { return y - x; }, x, x));
  rows.back().ops = {"sub"};
  rows.back().dtypes = kAllButBool;
  BINARY(mul, x * y, x, x);
  also(
      rows.back(), "number", FN(a[0] * 3), [](double x) { return x * 3; }, x, INPLACE(a[0] *= 3));
  rows.back().samples.back().dtypes = kAllButBool;
  also(
      rows.back(), "number first", FN(3 * a[0]), [](double x) { return x * 3; }, x);
  rows.back().samples.back().dtypes = kAllButBool;
  BINARY(div, x / y, x, y);
  rows.back().out = Out::kFloat;
  also(
      rows.back(), "number", FN(a[0] / 4), [](double x) { return x / 4; }, x, INPLACE(a[0] /= 4));
  also(
      rows.back(), "number first", FN(4 / a[0]), [](double x) { return 4 / x; }, y);
  rows.back().samples.back().dtypes = kFloats;
  rows.push_back(binary(
      "true_divide", FN2(true_divide), INPLACE(a[0].true_divide_(a[1])),
      [](double x, double y) { return x / y; }, x, y));
  rows.back().ops = {"div"};
  rows.back().out = Out::kFloat;
  const Input far = real({2, 3}, -9, 9), by = given({2, 3}, {2.3, -1.7, 3.1, -2.6, 1.4, 3.7});
  BINARY(floor_divide, floor_divide_reference(x, y), far, by.avoiding({0}));
  rows.back().dtypes = kAllButBool;
  rows.push_back(binary(
      "div trunc", FN(div(a[0], a[1], "trunc")), INPLACE(a[0].div_(a[1], "trunc")),
      [](double x, double y) { return std::trunc(x / y); }, far, y));
  rows.back().ops = {"trunc_divide"};
  rows.back().dtypes = kAllButBool;
  rows.push_back(binary(
      "div floor", FN(div(a[0], a[1], "floor")), INPLACE(a[0].div_(a[1], "floor")),
      [](double x, double y) { return floor_divide_reference(x, y); }, far, y));
  rows.back().ops = {"floor_divide"};
  rows.back().dtypes = kAllButBool;
  BINARY(remainder, remainder_reference(x, y), far, by.avoiding({0}));
  rows.back().dtypes = kAllButBool;
  also(
      rows.back(), "number", FN(remainder(a[0], 3)),
      [](double x) { return remainder_reference(x, 3); }, far, INPLACE(a[0].remainder_(3)));
  BINARY(fmod, std::fmod(x, y), far, by.avoiding({0}));
  rows.back().dtypes = kAllButBool;
}

void add_powers(std::vector<Row>& rows) {
  const Input base = real({2, 3}, 0.6, 3), exponent = real({2, 3}, 0, 3);
  BINARY(pow, std::pow(x, y), base, exponent);
  rows.back().dtypes = kAllButBool;
  also(
      rows.back(), "squared", FN(pow(a[0], 2)), [](double x) { return x * x; }, real({2, 3}),
      INPLACE(a[0].pow_(2)));
  also(
      rows.back(), "cubed", FN(pow(a[0], 3)), [](double x) { return x * x * x; }, real({2, 3}),
      INPLACE(a[0].pow_(3)));
  also(
      rows.back(), "to the 0.5", FN(pow(a[0], 0.5)), [](double x) { return std::sqrt(x); }, base,
      INPLACE(a[0].pow_(0.5)));
  rows.back().samples.back().dtypes = kFloats;
  also(
      rows.back(), "to the -1.5", FN(pow(a[0], -1.5)), [](double x) { return std::pow(x, -1.5); },
      base);
  rows.back().samples.back().dtypes = kFloats;
  also(
      rows.back(), "to the 0", FN(pow(a[0], 0)), [](double) { return 1.0; }, base);
  also(
      rows.back(), "of 2", FN(pow(2, a[0])), [](double x) { return std::exp2(x); },
      real({2, 3}, 0, 3));
  BINARY(float_power, std::pow(x, y), base, exponent);
  rows.back().ops = {"pow"};
  rows.back().out = Out::kUnchecked;
  rows.back().inplace = nullptr;
  rows.back().tolerance16 = 4e-3;
  rows.back().tolerance32 = 2e-6;
  BINARY(atan2, std::atan2(x, y), real({2, 3}).avoiding({0}), real({2, 3}).avoiding({0}));
  rows.back().out = Out::kFloat;
  BINARY(hypot, std::hypot(x, y), real({2, 3}).avoiding({0}), real({2, 3}));
  rows.back().dtypes = kFloats;
  BINARY(xlogy,
         std::isnan(y) ? y
         : x == 0      ? 0
                       : x * std::log(y),
         real({2, 3}, 0.2, 2), real({2, 3}, 0.2, 3));
  rows.back().out = Out::kFloat;
  BINARY(copysign, std::copysign(x, y), real({2, 3}).avoiding({0}), real({2, 3}).avoiding({0}));
  rows.back().out = Out::kFloat;
  rows.push_back(binary("logaddexp", FN2(logaddexp), nullptr, logaddexp_reference, real({2, 3}),
                        real({2, 3})));
  rows.back().dtypes = kFloats;
  rows.push_back(binary("logaddexp2", FN2(logaddexp2), nullptr, logaddexp2_reference, real({2, 3}),
                        real({2, 3})));
  rows.back().dtypes = kFloats;
  BINARY(nextafter, std::nextafter(x, y), real({2, 3}), real({2, 3}));
  rows.back().special = false;  // the reference steps in double
  rows.back().dtypes = kFullFloats;
  rows.back().grad = Grad::kNo;
  rows.push_back(binary(
      "ldexp", FN2(ldexp), nullptr, [](double x, double y) { return x * std::exp2(y); },
      real({2, 3}), real({2, 3})));
  rows.back().ops = {};
  rows.back().out = Out::kFloat;
  rows.back().special = false;
  rows.back().tolerance16 = 2e-2;
}

void add_extremes(std::vector<Row>& rows) {
  const Input x = real({2, 3}), y = real({2, 3});
  const auto no_inplace = [&](const char* name, Fn fn, double (*f)(double, double)) {
    rows.push_back(binary(name, std::move(fn), nullptr, f, x, y));
  };
  no_inplace("maximum", FN2(maximum), [](double x, double y) {
    return std::isnan(x) ? x : std::isnan(y) ? y : std::max(x, y);
  });
  no_inplace("minimum", FN2(minimum), [](double x, double y) {
    return std::isnan(x) ? x : std::isnan(y) ? y : std::min(x, y);
  });
  no_inplace("fmax", FN2(fmax), [](double x, double y) { return std::fmax(x, y); });
  no_inplace("fmin", FN2(fmin), [](double x, double y) { return std::fmin(x, y); });
  BINARY(heaviside, x == 0 ? y : x > 0, x, y);
  rows.back().grad = Grad::kNo;

  const Input off = real({2, 3}, -3, 3).avoiding({-1, 2});
  rows.push_back(unary(
      "clamp", FN(clamp(a[0], -1, 2)), INPLACE(a[0].clamp_(-1, 2)),
      [](double x) { return x < -1  ? -1
                            : x > 2 ? 2
                                    : x; }, off));
  rows.back().dtypes = kAllButBool & ~bit(kByte);
  rows.back().refuses_others = false;
  also(
      rows.back(), "fractions", FN(clamp(a[0], -1.0, 2.0)),
      [](double x) { return x < -1  ? -1
                            : x > 2 ? 2
                                    : x; }, off);
  rows.back().samples.back().dtypes = kFloats;
  rows.push_back(unary(
      "clamp_min", FN(clamp_min(a[0], -1)), INPLACE(a[0].clamp_min_(-1)),
      [](double x) { return x < -1 ? -1 : x; }, off));
  rows.back().ops = {"clamp"};
  rows.back().dtypes = kAllButBool & ~bit(kByte);
  rows.back().refuses_others = false;
  rows.push_back(unary(
      "clamp_max", FN(clamp_max(a[0], 2)), INPLACE(a[0].clamp_max_(2)),
      [](double x) { return x > 2 ? 2 : x; }, off));
  rows.back().ops = {"clamp"};
  rows.back().dtypes = kAllButBool;
  rows.back().refuses_others = false;
  rows.push_back(
      {.name = "clamp between tensors",
       .ops = {"clamp_between"},
       .fn = FN(clamp(a[0], a[1], a[2])),
       .reference = pointwise([](double x, double lo, double hi) {
         if (std::isnan(x) || std::isnan(lo) || std::isnan(hi)) return x + lo + hi;
         return std::min(std::max(x, lo), hi);
       }),
       .inplace = INPLACE(a[0].clamp_(a[1], a[2])),
       .samples = {{.label = "plain",
                    .inputs = {real({2, 3}, -3, 3), real({2, 3}, -2, 0), real({2, 3}, 0, 2)}}},
       .dtypes = kAllButBool,
       .pointwise = true,
       .special = false,
       .refuses_others = false});
}

void add_ternary(std::vector<Row>& rows) {
  const Input x = real({2, 3}), z = real({2, 3}).avoiding({0}, 0.3);
  rows.push_back(
      {.name = "addcmul",
       .ops = {"addcmul"},
       .fn = FN(addcmul(a[0], a[1], a[2], 2)),
       .reference = pointwise([](double x, double y, double z) { return x + 2 * y * z; }),
       .inplace = INPLACE(a[0].addcmul_(a[1], a[2], 2)),
       .samples = {{.label = "plain", .inputs = {x, x, x}}},
       .dtypes = kAllButBool,
       .pointwise = true});
  rows.push_back(
      {.name = "addcdiv",
       .ops = {"addcdiv"},
       .fn = FN(addcdiv(a[0], a[1], a[2], 2)),
       .reference = pointwise([](double x, double y, double z) { return x + 2 * y / z; }),
       .inplace = INPLACE(a[0].addcdiv_(a[1], a[2], 2)),
       .samples = {{.label = "plain", .inputs = {x, x, z}}},
       .dtypes = kFloats,
       .pointwise = true});
  rows.push_back(
      {.name = "lerp",
       .ops = {"lerp"},
       .fn = FN(lerp(a[0], a[1], a[2])),
       .reference = pointwise([](double x, double y, double z) { return x + z * (y - x); }),
       .inplace = INPLACE(a[0].lerp_(a[1], a[2])),
       .samples = {{.label = "plain", .inputs = {x, x, x}}},
       .dtypes = kFloats,
       .pointwise = true,
       .special = false});
  rows.back().samples.push_back(
      {.label = "number",
       .inputs = {x, x},
       .fn = FN(lerp(a[0], a[1], 0.3)),
       .reference = pointwise([](double x, double y) { return x + 0.3 * (y - x); }),
       .inplace = INPLACE(a[0].lerp_(a[1], 0.3))});
  rows.push_back(
      {.name = "where",
       .ops = {"where"},
       .fn = FN(where(a[0], a[1], a[2])),
       .reference = pointwise([](double c, double x, double y) { return c != 0 ? x : y; }),
       .samples = {{.label = "plain", .inputs = {mask({2, 3}), x, x}}},
       .pointwise = true});
}

}  // namespace

void add_pointwise_rows(std::vector<Row>& rows) {
  add_unary_arithmetic(rows);
  add_rounding(rows);
  add_exponential(rows);
  add_binary_arithmetic(rows);
  add_powers(rows);
  add_extremes(rows);
  add_ternary(rows);
}

}  // namespace tandem::table
