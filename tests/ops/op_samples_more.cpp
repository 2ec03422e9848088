// Rows of second names, and of functions made of other rows' functions.
#include <cmath>
#include <numeric>

#include "tests/ops/op_reference.h"
#include "tests/ops/op_table.h"

namespace tandem::table {
namespace {

using Numbers = std::vector<double>;

Sample named(const char* label, Fn fn, double (*f)(double), Input x, InPlace inplace) {
  return {.label = label,
          .inputs = {std::move(x)},
          .fn = std::move(fn),
          .reference = pointwise(f),
          .inplace = std::move(inplace)};
}

void add_second_names(std::vector<Row>& rows) {
  const Input x = real({2, 3}, -0.9, 0.9), above = real({2, 3}, 1.2, 3),
              any = real({2, 3}).avoiding({0});
#define SECOND(f, formula, in) \
  named(                       \
      #f, FN1(f), [](double x) -> double { return formula; }, in, INPLACE(f##_(a[0])))
  rows.push_back(
      {.name = "second names",
       .ops = {},
       .samples = {SECOND(absolute, std::abs(x), any), SECOND(negative, -x, any),
                   SECOND(arccos, std::acos(x), x), SECOND(arcsin, std::asin(x), x),
                   SECOND(arctan, std::atan(x), any), SECOND(arccosh, std::acosh(x), above),
                   SECOND(arcsinh, std::asinh(x), any), SECOND(arctanh, std::atanh(x), x),
                   SECOND(fix, std::trunc(x), real({2, 3}, 0.1, 0.9)),
                   SECOND(sgn, (x > 0) - (x < 0), any)},
       .dtypes = kFloats,
       .refuses_others = false});
#undef SECOND
  const auto two = [](const char* label, Fn fn, double (*f)(double, double)) -> Sample {
    return {.label = label,
            .inputs = {real({2, 3}).avoiding({0}), real({3}).avoiding({0})},
            .fn = std::move(fn),
            .reference = pointwise(f)};
  };
  rows.push_back(
      {.name = "second names of two operands",
       .ops = {},
       .samples = {two("subtract", FN2(subtract), [](double x, double y) { return x - y; }),
                   two("multiply", FN2(multiply), [](double x, double y) { return x * y; }),
                   two("divide", FN2(divide), [](double x, double y) { return x / y; }),
                   two("arctan2", FN2(arctan2),
                       [](double x, double y) { return std::atan2(x, y); })},
       .dtypes = kFloats,
       .refuses_others = false});
  rows.push_back(
      {.name = "second names of comparisons",
       .ops = {},
       .samples = {two("greater", FN2(greater), [](double x, double y) -> double { return x > y; }),
                   two("greater_equal", FN2(greater_equal),
                       [](double x, double y) -> double { return x >= y; }),
                   two("less", FN2(less), [](double x, double y) -> double { return x < y; }),
                   two("less_equal", FN2(less_equal),
                       [](double x, double y) -> double { return x <= y; }),
                   two("not_equal", FN2(not_equal),
                       [](double x, double y) -> double { return x != y; })},
       .grad = Grad::kNo,
       .out = Out::kBool});
}

double sum_of_all(const Numbers& x) { return std::accumulate(x.begin(), x.end(), 0.0); }

void add_more_statistics(std::vector<Row>& rows) {
  const auto composite = [&](Row row) {
    row.dtypes = kFullFloats;
    row.refuses_others = false;
    row.tolerance_layout = 1e-5;
    rows.push_back(std::move(row));
  };
  composite({.name = "nanmean",
             .ops = {},
             .samples = {{.label = "plain",
                          .inputs = {real({2, 3})},
                          .fn = FN(nanmean(a[0], IntArrayRef{1})),
                          .reference = [](const ValuesList& a) -> ValuesList {
                            return {reduce(a[0], {1}, false,
                                           [](const Numbers& x) { return sum_of_all(x) / 3; })};
                          }},
                         {.label = "with a nan",
                          .inputs = {given({3}, {1, NAN, 5})},
                          .fn = FN(nanmean(a[0])),
                          .reference = [](const ValuesList&) -> ValuesList {
                            return {Values{{}, {3}}};
                          },
                          .grad = false}}});
  composite({.name = "linalg_vector_norm",
             .ops = {},
             .samples = {{.label = "two",
                          .inputs = {given({2}, {3, 4})},
                          .fn = FN(linalg_vector_norm(a[0])),
                          .reference = [](const ValuesList&) -> ValuesList {
                            return {Values{{}, {5}}};
                          }},
                         {.label = "frobenius",
                          .inputs = {given({2, 2}, {1, 1, 1, 1})},
                          .fn = FN(frobenius_norm(a[0])),
                          .reference = [](const ValuesList&) -> ValuesList {
                            return {Values{{}, {2}}};
                          }}}});
  composite({.name = "cumulative_trapezoid",
             .ops = {},
             .samples = {{.label = "unit steps",
                          .inputs = {real({3})},
                          .fn = FN(cumulative_trapezoid(a[0])),
                          .reference = [](const ValuesList& a) -> ValuesList {
                            const double one = (a[0].v[0] + a[0].v[1]) / 2;
                            return {Values{{2}, {one, one + (a[0].v[1] + a[0].v[2]) / 2}}};
                          }}}});
  composite({.name = "corrcoef",
             .ops = {},
             .samples = {
                 {.label = "opposite",
                  .inputs = {given({2, 3}, {1, 2, 3, 6, 4, 2})},
                  .fn = FN1(corrcoef),
                  .reference = [](const ValuesList&) -> ValuesList {
                    return {Values{{2, 2}, {1, -1, -1, 1}}};
                  },
                  .grad = false},
                 {.label = "any", .inputs = {real({2, 4})}, .fn = FN1(corrcoef), .grad = false}}});
}

void add_combinations(std::vector<Row>& rows) {
  rows.push_back({.name = "meshgrid",
                  .ops = {},
                  .samples = {{.label = "ij",
                               .inputs = {real({2}), real({3})},
                               .fn = [](const List& a) { return meshgrid(a, "ij"); },
                               .reference = [](const ValuesList& a) -> ValuesList {
                                 Values x = a[0];
                                 x.sizes = {2, 1};
                                 return {expand_to(x, {2, 3}), expand_to(a[1], {2, 3})};
                               }}}});
  rows.push_back({.name = "vander",
                  .ops = {},
                  .samples = {{.label = "increasing",
                               .inputs = {real({2})},
                               .fn = FN(vander(a[0], 3, true)),
                               .reference = [](const ValuesList& a) -> ValuesList {
                                 const double x = a[0].v[0], y = a[0].v[1];
                                 return {Values{{2, 3}, {1, x, x * x, 1, y, y * y}}};
                               }}},
                  .dtypes = kFullFloats,
                  .refuses_others = false});
  rows.push_back({.name = "one_hot",
                  .ops = {"one_hot_index"},
                  .samples = {{.label = "plain",
                               .inputs = {given_index({3}, {2, 0, 1})},
                               .fn = FN(one_hot(a[0], 4)),
                               .reference = [](const ValuesList&) -> ValuesList {
                                 return {Values{{3, 4}, {0, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0}}};
                               }}},
                  .grad = Grad::kNo,
                  .dtypes = bit(kLong),
                  .out = Out::kLong,
                  .refuses_others = false});
  rows.push_back(
      {.name = "cartesian_prod",
       .ops = {},
       .samples = {{.label = "two",
                    .inputs = {real({2}), real({2})},
                    .fn = FN(cartesian_prod(a)),
                    .reference = [](const ValuesList& a) -> ValuesList {
                      const Numbers &x = a[0].v, &y = a[1].v;
                      return {Values{{4, 2}, {x[0], y[0], x[0], y[1], x[1], y[0], x[1], y[1]}}};
                    }}}});
  rows.push_back({.name = "combinations",
                  .ops = {},
                  .samples = {{.label = "combinations",
                               .inputs = {real({3})},
                               .fn = FN(combinations(a[0])),
                               .reference = [](const ValuesList& a) -> ValuesList {
                                 const Numbers& x = a[0].v;
                                 return {Values{{3, 2}, {x[0], x[1], x[0], x[2], x[1], x[2]}}};
                               }}},
                  .dynamic = true});
}

}  // namespace

void add_more_rows(std::vector<Row>& rows) {
  add_second_names(rows);
  add_more_statistics(rows);
  add_combinations(rows);
}

}  // namespace tandem::table
