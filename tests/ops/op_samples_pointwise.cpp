// Rows of the arithmetic, exponential and trigonometric functions.
#include <cmath>

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

void add_unary_arithmetic(std::vector<Row>& rows) {
  UNARY(neg, -x, real({2, 3}));
  rows.back().dtypes = kAllButBool;
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
}

}  // namespace

void add_pointwise_rows(std::vector<Row>& rows) {
  add_unary_arithmetic(rows);
  add_binary_arithmetic(rows);
}

}  // namespace tandem::table
