// Rows of matrix products.
#include "tests/ops/op_reference.h"
#include "tests/ops/op_table.h"

namespace tandem::table {
namespace {

ValuesList product(const ValuesList& a) { return {matmul_reference(a[0], a[1])}; }

/// beta * a[0] + alpha * what `f` makes of a[1] and a[2].
Reference plus_product(Values (*f)(const Values&, const Values&), double beta = 1,
                       double alpha = 1) {
  return [=](const ValuesList& a) -> ValuesList {
    Values out = f(a[1], a[2]);
    const Values input = expand_to(a[0], out.sizes);
    for (size_t i = 0; i < out.v.size(); ++i)
      out.v[i] = alpha * out.v[i] + (beta == 0 ? 0 : beta * input.v[i]);
    return {out};
  };
}

Values outer_reference(const Values& x, const Values& y) {
  Values out = zeros_of({x.sizes[0], y.sizes[0]});
  for (int64_t i = 0; i < x.numel(); ++i)
    for (int64_t j = 0; j < y.numel(); ++j) out.at({i, j}) = x.v[i] * y.v[j];
  return out;
}

Values batch_sum_reference(const Values& x, const Values& y) {
  return reduce(matmul_reference(x, y), {0}, false, [](const std::vector<double>& v) {
    double sum = 0;
    for (double e : v) sum += e;
    return sum;
  });
}

Sample pair(const char* label, Sizes x, Sizes y, bool big = false) {
  return {.label = label, .inputs = {real(std::move(x)), real(std::move(y))}, .big = big};
}

// Composites of 16-bit floats round the product before they add.
constexpr double kRoundedTwice = 2e-2;

/// What all rows of products share: sums in another order for other layouts.
Row products(Row row, double tolerance16 = 0) {
  row.dtypes = kAllButBool;
  row.tolerance32 = 3e-5;
  row.tolerance_layout = 3e-5;
  row.tolerance64 = 1e-11;
  row.tolerance16 = tolerance16;
  return row;
}

void add_plain(std::vector<Row>& rows) {
  rows.push_back(products(
      {.name = "mm",
       .ops = {"mm"},
       .fn = FN(a[0].mm(a[1])),
       .reference = product,
       .samples = {pair("plain", {2, 3}, {3, 4}), pair("rows and a column", {5, 2}, {2, 1}),
                   pair("one row", {1, 6}, {6, 3}), pair("outer", {3, 1}, {1, 2}),
                   pair("no rows", {0, 3}, {3, 2}), pair("no columns", {2, 3}, {3, 0}),
                   pair("nothing to sum", {2, 0}, {0, 3}),
                   pair("big", {130, 210}, {210, 170}, true),
                   pair("long", {7, 9000}, {9000, 5}, true)}}));
  rows.push_back(
      products({.name = "bmm",
                .ops = {"bmm"},
                .fn = FN(a[0].bmm(a[1])),
                .reference = product,
                .samples = {pair("plain", {2, 2, 3}, {2, 3, 4}), pair("one", {1, 2, 3}, {1, 3, 2}),
                            pair("no batch", {0, 2, 3}, {0, 3, 2}),
                            pair("nothing to sum", {2, 2, 0}, {2, 0, 2}),
                            pair("big", {9, 60, 70}, {9, 70, 50}, true)}}));
  rows.push_back(products(
      {.name = "matmul",
       .ops = {"mm", "bmm", "dot"},
       .fn = FN2(matmul),
       .reference = product,
       .samples = {pair("2-d 2-d", {2, 3}, {3, 4}), pair("1-d 1-d", {3}, {3}),
                   pair("2-d 1-d", {2, 3}, {3}), pair("1-d 2-d", {3}, {3, 2}),
                   pair("3-d 1-d", {2, 2, 3}, {3}), pair("1-d 3-d", {3}, {2, 3, 2}),
                   pair("3-d 2-d", {2, 2, 3}, {3, 2}), pair("2-d 3-d", {2, 3}, {2, 3, 2}),
                   pair("3-d 3-d", {2, 2, 3}, {2, 3, 2}),
                   pair("batch of one", {1, 2, 3}, {2, 3, 2}),
                   pair("4-d broadcast", {2, 1, 2, 3}, {2, 3, 2}),
                   pair("both broadcast", {2, 1, 2, 2}, {1, 2, 2, 1}),
                   pair("4-d 2-d", {2, 1, 2, 3}, {3, 1}), pair("empty batch", {0, 2, 3}, {3, 2}),
                   pair("nothing to sum", {2, 2, 0}, {0, 3}),
                   pair("big 3-d", {6, 40, 50}, {50, 60}, true)}}));
  rows.push_back(products({.name = "mv",
                           .ops = {"mm"},
                           .fn = FN(a[0].mv(a[1])),
                           .reference = product,
                           .samples = {pair("plain", {2, 3}, {3}), pair("empty", {2, 0}, {0}),
                                       pair("big", {300, 500}, {500}, true)}}));
  rows.push_back(products({.name = "dot",
                           .ops = {"dot"},
                           .fn = FN(a[0].dot(a[1])),
                           .reference = product,
                           .samples = {pair("plain", {3}, {3}), pair("empty", {0}, {0}),
                                       pair("big", {100000}, {100000}, true)}}));
  rows.push_back(products({.name = "vdot",
                           .ops = {"dot"},
                           .fn = FN(a[0].vdot(a[1])),
                           .reference = product,
                           .samples = {pair("plain", {3}, {3})}}));
  rows.push_back(products(
      {.name = "inner",
       .ops = {"mm", "dot"},
       .fn = FN(a[0].inner(a[1])),
       .reference = [](const ValuesList& a) -> ValuesList {
         Sizes rows = a[0].sizes, cols = a[1].sizes;
         if (rows.empty() || cols.empty()) {
           Values out = rows.empty() ? a[1] : a[0];
           for (double& v : out.v) v *= (rows.empty() ? a[0] : a[1]).v[0];
           return {out};
         }
         const int64_t k = rows.back();
         rows.pop_back();
         cols.pop_back();
         Sizes sizes = rows;
         sizes.insert(sizes.end(), cols.begin(), cols.end());
         Values out = matmul_reference({{count(rows), k}, a[0].v},
                                       transpose_reference({{count(cols), k}, a[1].v}));
         out.sizes = sizes;
         return {out};
       },
       .samples = {pair("vectors", {3}, {3}), pair("2-d 1-d", {2, 3}, {3}),
                   pair("3-d 2-d", {2, 2, 3}, {4, 3}), pair("with a number", {2, 3}, {})}}));
  rows.push_back(
      {.name = "outer",
       .ops = {"mul"},
       .fn = FN(a[0].outer(a[1])),
       .reference = [](const ValuesList& a) -> ValuesList { return {outer_reference(a[0], a[1])}; },
       .samples = {pair("plain", {2}, {3}),
                   pair("empty", {0}, {3}),
                   {.label = "ger", .inputs = {real({2}), real({3})}, .fn = FN(a[0].ger(a[1]))}}});
}

Sample triple(const char* label, Sizes input, Sizes x, Sizes y, bool big = false) {
  return {.label = label,
          .inputs = {real(std::move(input)), real(std::move(x)), real(std::move(y))},
          .big = big};
}

Sample scaled(Sample s, Values (*f)(const Values&, const Values&), double beta, double alpha, Fn fn,
              InPlace inplace) {
  s.reference = plus_product(f, beta, alpha);
  s.fn = std::move(fn);
  s.inplace = std::move(inplace);
  return s;
}

void add_sums_of_products(std::vector<Row>& rows) {
  rows.push_back(products(
      {.name = "addmm",
       .ops = {"addmm"},
       .fn = FN(a[0].addmm(a[1], a[2])),
       .reference = plus_product(matmul_reference),
       .inplace = INPLACE(a[0].addmm_(a[1], a[2])),
       .samples = {
           triple("plain", {2, 4}, {2, 3}, {3, 4}), triple("row", {4}, {2, 3}, {3, 4}),
           triple("column", {2, 1}, {2, 3}, {3, 4}), triple("0-d", {}, {2, 3}, {3, 2}),
           triple("nothing to sum", {2, 2}, {2, 0}, {0, 2}), triple("no rows", {3}, {0, 2}, {2, 3}),
           triple("big", {170}, {130, 210}, {210, 170}, true),
           scaled(triple("scaled", {2, 2}, {2, 3}, {3, 2}), matmul_reference, 2, 3,
                  FN(a[0].addmm(a[1], a[2], 2, 3)), INPLACE(a[0].addmm_(a[1], a[2], 2, 3))),
           scaled(triple("without the input", {2, 2}, {2, 3}, {3, 2}), matmul_reference, 0, 1,
                  FN(a[0].addmm(a[1], a[2], 0)), INPLACE(a[0].addmm_(a[1], a[2], 0)))}}));
  rows.push_back(
      products({.name = "addmv",
                .ops = {"mm", "add"},
                .fn = FN(a[0].addmv(a[1], a[2])),
                .reference = plus_product(matmul_reference),
                .inplace = INPLACE(a[0].addmv_(a[1], a[2])),
                .samples = {triple("plain", {2}, {2, 3}, {3}), triple("0-d", {}, {2, 3}, {3}),
                            scaled(triple("scaled", {2}, {2, 3}, {3}), matmul_reference, 2, 3,
                                   FN(a[0].addmv(a[1], a[2], 2, 3)),
                                   INPLACE(a[0].addmv_(a[1], a[2], 2, 3)))}},
               kRoundedTwice));
  rows.push_back(products(
      {.name = "addr",
       .ops = {"mul", "add"},
       .fn = FN(a[0].addr(a[1], a[2])),
       .reference = plus_product(outer_reference),
       .inplace = INPLACE(a[0].addr_(a[1], a[2])),
       .samples = {triple("plain", {2, 3}, {2}, {3}), triple("row", {3}, {2}, {3}),
                   scaled(triple("scaled", {2, 3}, {2}, {3}), outer_reference, 2, 3,
                          FN(a[0].addr(a[1], a[2], 2, 3)), INPLACE(a[0].addr_(a[1], a[2], 2, 3)))},
       .refuses_others = false},
      kRoundedTwice));
  rows.push_back(
      products({.name = "baddbmm",
                .ops = {"bmm", "add"},
                .fn = FN(a[0].baddbmm(a[1], a[2])),
                .reference = plus_product(matmul_reference),
                .inplace = INPLACE(a[0].baddbmm_(a[1], a[2])),
                .samples = {triple("plain", {2, 2, 2}, {2, 2, 3}, {2, 3, 2}),
                            triple("row", {2}, {2, 2, 3}, {2, 3, 2}),
                            scaled(triple("scaled", {2, 2, 2}, {2, 2, 3}, {2, 3, 2}),
                                   matmul_reference, 2, 3, FN(a[0].baddbmm(a[1], a[2], 2, 3)),
                                   INPLACE(a[0].baddbmm_(a[1], a[2], 2, 3))),
                            scaled(triple("without the input", {2, 2, 2}, {2, 2, 3}, {2, 3, 2}),
                                   matmul_reference, 0, 1, FN(a[0].baddbmm(a[1], a[2], 0)),
                                   INPLACE(a[0].baddbmm_(a[1], a[2], 0)))}},
               kRoundedTwice));
  rows.push_back(
      products({.name = "addbmm",
                .ops = {"addmm"},
                .fn = FN(a[0].addbmm(a[1], a[2])),
                .reference = plus_product(batch_sum_reference),
                .inplace = INPLACE(a[0].addbmm_(a[1], a[2])),
                .samples = {triple("plain", {2, 2}, {3, 2, 3}, {3, 3, 2}),
                            scaled(triple("scaled", {2, 2}, {2, 2, 3}, {2, 3, 2}),
                                   batch_sum_reference, 2, 3, FN(a[0].addbmm(a[1], a[2], 2, 3)),
                                   INPLACE(a[0].addbmm_(a[1], a[2], 2, 3)))}}));
  const auto affine = [](const ValuesList& a) -> ValuesList {
    Values w = a[1].dim() == 1 ? a[1] : transpose_reference(a[1]);
    Values out = matmul_reference(a[0], w);
    if (a.size() == 3) {
      const Values bias = expand_to(a[2], out.sizes);
      for (size_t i = 0; i < out.v.size(); ++i) out.v[i] += bias.v[i];
    }
    return {out};
  };
  const auto without_bias = [](const char* label, Sizes x, Sizes w) {
    Sample s = pair(label, std::move(x), std::move(w));
    s.fn = FN2(linear);
    return s;
  };
  rows.push_back(products(
      {.name = "linear",
       .ops = {"addmm", "mm"},
       .fn = FN3(linear),
       .reference = affine,
       .samples = {triple("plain", {2, 3}, {4, 3}, {4}), triple("vector", {3}, {4, 3}, {4}),
                   triple("3-d", {2, 2, 3}, {4, 3}, {4}), triple("no rows", {0, 3}, {4, 3}, {4}),
                   triple("big", {130, 210}, {170, 210}, {170}, true),
                   without_bias("no bias", {2, 3}, {4, 3}),
                   without_bias("3-d, no bias", {2, 2, 3}, {4, 3}),
                   without_bias("vector weight", {2, 3}, {3})}}));
}

}  // namespace

void add_matmul_rows(std::vector<Row>& rows) {
  add_plain(rows);
  add_sums_of_products(rows);
}

}  // namespace tandem::table
