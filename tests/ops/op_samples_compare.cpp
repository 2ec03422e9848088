// Rows of comparisons, truth values, bits and tests for special values.
#include <cmath>
#include <numeric>

#include "tests/ops/op_table.h"

namespace tandem::table {
namespace {

Row truth(const char* name, std::vector<Input> inputs, Fn fn, Reference reference,
          InPlace inplace) {
  return {.name = name,
          .ops = {name},
          .fn = std::move(fn),
          .reference = std::move(reference),
          .inplace = std::move(inplace),
          .samples = {{.label = "plain", .inputs = std::move(inputs)}},
          .grad = Grad::kNo,
          .out = Out::kBool,
          .pointwise = true};
}

// In-place comparisons write 0 and 1 into a tensor of the operands' own dtype.
#define COMPARE(f, formula)                                                             \
  rows.push_back(truth(#f, {x, y}, FN2(f),                                              \
                       pointwise([](double x, double y) -> double { return formula; }), \
                       INPLACE(a[0].f##_(a[1]))));                                      \
  rows.back().samples.push_back({.label = "number",                                     \
                                 .inputs = {x},                                         \
                                 .fn = FN(f(a[0], 1)),                                  \
                                 .reference = pointwise([](double x) -> double {        \
                                   const double y = 1;                                  \
                                   return formula;                                      \
                                 }),                                                    \
                                 .inplace = INPLACE(a[0].f##_(1))})
#define TEST_OF(f, formula) \
  rows.push_back(           \
      truth(#f, {x}, FN1(f), pointwise([](double x) -> double { return formula; }), nullptr))

void add_comparisons(std::vector<Row>& rows) {
  // Whole numbers, so that equal ones occur.
  const Input x = given({2, 3}, {0, 1, 2, -1, -2, 1}), y = given({2, 3}, {1, 1, 0, -1, 2, -2});
  const size_t first = rows.size();
  COMPARE(eq, x == y);
  COMPARE(ne, x != y);
  COMPARE(lt, x < y);
  COMPARE(le, x <= y);
  COMPARE(gt, x > y);
  COMPARE(ge, x >= y);
  for (size_t i = first; i < rows.size(); ++i) {
    static const char* const symbols[] = {"==", "!=", "<", "<=", ">", ">="};
    static const Fn operators[] = {FN(a[0] == a[1]), FN(a[0] != a[1]), FN(a[0] < a[1]),
                                   FN(a[0] <= a[1]), FN(a[0] > a[1]),  FN(a[0] >= a[1])};
    rows[i].samples.push_back({.label = str("operator ", symbols[i - first]),
                               .inputs = {x, y},
                               .fn = operators[i - first],
                               .no_inplace = true});
  }
  const auto logical = [&](const char* name, Fn fn, InPlace inplace, double (*f)(double, double)) {
    rows.push_back(truth(name, {x, y}, std::move(fn), pointwise(f), std::move(inplace)));
  };
  logical("logical_and", FN2(logical_and), INPLACE(a[0].logical_and_(a[1])),
          [](double x, double y) -> double { return x != 0 && y != 0; });
  logical("logical_or", FN2(logical_or), INPLACE(a[0].logical_or_(a[1])),
          [](double x, double y) -> double { return x != 0 || y != 0; });
  logical("logical_xor", FN2(logical_xor), INPLACE(a[0].logical_xor_(a[1])),
          [](double x, double y) -> double { return (x != 0) != (y != 0); });
  TEST_OF(logical_not, x == 0);
  rows.back().inplace = INPLACE(a[0].logical_not_());
}

void add_tests_of_values(std::vector<Row>& rows) {
  const Input x = given({2, 3}, {0, 1, 2, -1, -2, 1});
  TEST_OF(isnan, std::isnan(x));
  TEST_OF(isinf, std::isinf(x));
  TEST_OF(isfinite, std::isfinite(x));
  TEST_OF(isposinf, std::isinf(x) && x > 0);
  TEST_OF(isneginf, std::isinf(x) && x < 0);
  TEST_OF(signbit, std::signbit(x));
  TEST_OF(isreal, true + 0 * x == true + 0 * x || true);
  rows.back().ops = {};
  rows.push_back(truth("isclose", {x, x}, FN2(isclose), pointwise([](double x, double y) -> double {
                         return x == y || (std::isfinite(x) && std::isfinite(y) &&
                                           std::abs(x - y) <= 1e-8 + 1e-5 * std::abs(y));
                       }),
                       nullptr));
  rows.back().ops = {};
}

void add_bits(std::vector<Row>& rows) {
  const Input x = given({2, 3}, {12, 7, 1, 0, 9, 21}), y = given({2, 3}, {10, 3, 0, 0, 5, 6});
  const auto bits = [&](const char* name, const char* op, Fn fn, InPlace inplace,
                        double (*f)(double, double), Input b) {
    rows.push_back({.name = name,
                    .ops = {op},
                    .fn = std::move(fn),
                    .reference = pointwise(f),
                    .inplace = std::move(inplace),
                    .samples = {{.label = "plain", .inputs = {x, std::move(b)}}},
                    .grad = Grad::kNo,
                    .dtypes = kIntsAndBool,
                    .pointwise = true});
  };
  bits(
      "bitwise_and", "bitwise_and", FN2(bitwise_and), INPLACE(a[0].bitwise_and_(a[1])),
      [](double x, double y) -> double {
        return static_cast<int64_t>(x) & static_cast<int64_t>(y);
      },
      y);
  bits(
      "bitwise_or", "bitwise_or", FN2(bitwise_or), INPLACE(a[0].bitwise_or_(a[1])),
      [](double x, double y) -> double {
        return static_cast<int64_t>(x) | static_cast<int64_t>(y);
      },
      y);
  bits(
      "bitwise_xor", "bitwise_xor", FN2(bitwise_xor), INPLACE(a[0].bitwise_xor_(a[1])),
      [](double x, double y) -> double {
        return static_cast<int64_t>(x) ^ static_cast<int64_t>(y);
      },
      y);
  const Input places = given({2, 3}, {0, 1, 2, 3, 2, 1});
  bits(
      "bitwise_left_shift", "bitwise_left_shift", FN2(bitwise_left_shift),
      INPLACE(a[0].bitwise_left_shift_(a[1])),
      [](double x, double y) -> double {
        return static_cast<int64_t>(x) << static_cast<int64_t>(y);
      },
      places);
  rows.back().dtypes = kInts;
  rows.back().samples[0].inputs[1].low = 0;  // derived samples draw from here: no negative shifts
  bits(
      "bitwise_right_shift", "bitwise_right_shift", FN2(bitwise_right_shift),
      INPLACE(a[0].bitwise_right_shift_(a[1])),
      [](double x, double y) -> double {
        return static_cast<int64_t>(x) >> static_cast<int64_t>(y);
      },
      places);
  rows.back().dtypes = kInts;
  rows.back().samples[0].inputs[1].low = 0;
  bits(
      "gcd", "gcd", FN2(gcd), INPLACE(a[0].gcd_(a[1])),
      [](double x, double y) -> double {
        return static_cast<double>(std::gcd(static_cast<int64_t>(x), static_cast<int64_t>(y)));
      },
      y);
  rows.back().dtypes = kInts;
  bits(
      "lcm", "lcm", FN2(lcm), INPLACE(a[0].lcm_(a[1])),
      [](double x, double y) -> double {
        return static_cast<double>(std::lcm(static_cast<int64_t>(x), static_cast<int64_t>(y)));
      },
      y);
  rows.back().dtypes = kInts;
  rows.push_back({.name = "bitwise_not",
                  .ops = {"bitwise_not"},
                  .fn = FN1(bitwise_not),
                  .reference = pointwise([](double x) { return -x - 1; }),
                  .inplace = INPLACE(a[0].bitwise_not_()),
                  .samples = {{.label = "plain", .inputs = {x}, .dtypes = kInts},
                              {.label = "truth",
                               .inputs = {x},
                               .reference = pointwise([](double x) -> double { return x == 0; }),
                               .dtypes = bit(kBool)}},
                  .grad = Grad::kNo,
                  .dtypes = kIntsAndBool,
                  .pointwise = true});
}

}  // namespace

void add_compare_rows(std::vector<Row>& rows) {
  add_comparisons(rows);
  add_tests_of_values(rows);
  add_bits(rows);
}

}  // namespace tandem::table
