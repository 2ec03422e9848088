// Rows of functions and norms of matrices, and of products that go by index.
#include <cmath>
#include <limits>

#include "tests/ops/op_reference.h"
#include "tests/ops/op_table.h"

namespace tandem::table {
namespace {

Row composite(Row row, double tolerance16 = 4e-2) {
  row.tolerance32 = 2e-4;
  row.tolerance64 = 1e-10;
  row.tolerance_layout = 2e-4;
  row.tolerance16 = tolerance16;
  row.grad_tolerance = 1e-4;
  return row;
}

Sample one_matrix(const char* label, Input x, Fn fn, Reference reference = nullptr,
                  bool grad = true) {
  return {.label = label, .inputs = {std::move(x)}, .fn = fn, .reference = reference, .grad = grad};
}
Sample of(const char* label, std::vector<Input> inputs, Fn fn, Reference reference) {
  return {.label = label, .inputs = std::move(inputs), .fn = fn, .reference = reference};
}

/// The series, term by term.
ValuesList exp_series(const ValuesList& a) {
  const int64_t n = a[0].sizes.back();
  Values term = zeros_of(a[0].sizes);
  for (int64_t i = 0; i < term.numel(); ++i) term.v[i] = i % (n * n) % (n + 1) == 0;
  Values sum = term;
  for (int k = 1; k < 60; ++k) {
    term = matmul_reference(term, a[0]);
    for (int64_t i = 0; i < term.numel(); ++i) sum.v[i] += term.v[i] /= k;
  }
  return {sum};
}

void add_functions(std::vector<Row>& rows) {
  rows.push_back(composite({.name = "linalg.matrix_exp",
                            .ops = {"linalg_matrix_exp"},
                            .fn = FN(a[0].matrix_exp()),
                            .reference = exp_series,
                            .samples = {one_matrix("plain", real({3, 3}), nullptr),
                                        one_matrix("large", real({2, 2}, -6, 6), nullptr),
                                        one_matrix("batch", real({2, 2, 2}), nullptr),
                                        one_matrix("number", real({1, 1}), nullptr)},
                            .dtypes = kFullFloats}));
  const auto power = [](int64_t n) -> Reference {
    return [n](const ValuesList& a) -> ValuesList {
      Values base = n < 0 ? inverse_reference(a[0]) : a[0], r = base;
      for (int64_t i = 1; i < std::abs(n); ++i) r = matmul_reference(r, base);
      return {r};
    };
  };
  const Input nice = given({2, 2}, {2, 1, -1, 3});
  rows.push_back(composite(
      {.name = "linalg.matrix_power",
       .ops = {"mm"},
       .samples = {one_matrix("third", nice, FN(a[0].matrix_power(3)), power(3)),
                   one_matrix("first", nice, FN(linalg_matrix_power(a[0], 1)), power(1)),
                   one_matrix("sixth", nice, FN(linalg_matrix_power(a[0], 6)), power(6)),
                   one_matrix("none", nice, FN(linalg_matrix_power(a[0], 0)),
                              [](const ValuesList&) -> ValuesList {
                                return {Values{{2, 2}, {1, 0, 0, 1}}};
                              }),
                   one_matrix("inverse", nice, FN(linalg_matrix_power(a[0], -2)), power(-2))},
       .dtypes = kFullFloats,
       .refuses_others = false}));
  rows.push_back(composite(
      {.name = "linalg.multi_dot",
       .ops = {"mm"},
       .samples = {of("three", {real({2, 3}), real({3, 4}), real({4, 2})},
                      FN(linalg_multi_dot({a[0], a[1], a[2]})),
                      [](const ValuesList& a) -> ValuesList {
                        return {matmul_reference(matmul_reference(a[0], a[1]), a[2])};
                      }),
                   of("vectors", {real({3}), real({3, 3}), real({3})},
                      FN(linalg_multi_dot({a[0], a[1], a[2]})),
                      [](const ValuesList& a) -> ValuesList {
                        return {matmul_reference(matmul_reference(a[0], a[1]), a[2])};
                      }),
                   of("chain_matmul", {real({2, 3}), real({3, 2})}, FN(chain_matmul({a[0], a[1]})),
                      [](const ValuesList& a) -> ValuesList {
                        return {matmul_reference(a[0], a[1])};
                      })},
       .dtypes = kAllButBool,
       .refuses_others = false}));
  rows.push_back(composite({.name = "trace",
                            .ops = {"diagonal"},
                            .fn = FN(a[0].trace()),
                            .reference = [](const ValuesList& a) -> ValuesList {
                              double sum = 0;
                              for (int64_t i = 0; i < std::min(a[0].sizes[0], a[0].sizes[1]); ++i)
                                sum += a[0].at({i, i});
                              return {Values{{}, {sum}}};
                            },
                            .samples = {one_matrix("square", real({3, 3}), nullptr),
                                        one_matrix("wide", real({2, 4}), nullptr)},
                            .out = Out::kSum}));
  const Reference kronecker = [](const ValuesList& a) -> ValuesList {
    const Sizes &x = a[0].sizes, &y = a[1].sizes;
    Values out = zeros_of({x[0] * y[0], x[1] * y[1]});
    each_index(out.sizes, [&](const Sizes& i) {
      out.at(i) = a[0].at({i[0] / y[0], i[1] / y[1]}) * a[1].at({i[0] % y[0], i[1] % y[1]});
    });
    return {out};
  };
  rows.push_back({.name = "kron",
                  .ops = {"mul"},
                  .fn = FN(a[0].kron(a[1])),
                  .reference = kronecker,
                  .samples = {of("plain", {real({2, 2}), real({2, 3})}, nullptr, nullptr)}});
  const Reference crossed = [](const ValuesList& a) -> ValuesList {
    Values out = zeros_of(a[0].sizes);  // along the last dimension
    for (int64_t r = 0; r < out.numel(); r += 3)
      for (int64_t i = 0; i < 3; ++i) {
        const int64_t j = (i + 1) % 3, k = (i + 2) % 3;
        out.v[r + i] = a[0].v[r + j] * a[1].v[r + k] - a[0].v[r + k] * a[1].v[r + j];
      }
    return {out};
  };
  rows.push_back(composite(
      {.name = "linalg.cross",
       .ops = {"mul", "sub"},
       .fn = FN(linalg_cross(a[0], a[1])),
       .reference = crossed,
       .samples = {of("plain", {real({2, 3}), real({2, 3})}, nullptr, nullptr),
                   of("cross", {real({2, 3}), real({2, 3})}, FN(a[0].cross(a[1])), nullptr),
                   of("vectors", {real({3}), real({3})}, FN(cross(a[0], a[1], 0)), nullptr)},
       .dtypes = kAllButBool,
       .refuses_others = false}));
  rows.push_back(
      composite({.name = "linalg.vecdot",
                 .ops = {"mul"},
                 .fn = FN(linalg_vecdot(a[0], a[1])),
                 .reference = [](const ValuesList& a) -> ValuesList {
                   Values out = zeros_of({2});
                   for (int64_t i = 0; i < 6; ++i) out.v[i / 3] += a[0].v[i] * a[1].v[i];
                   return {out};
                 },
                 .samples = {of("plain", {real({2, 3}), real({2, 3})}, nullptr, nullptr)},
                 .dtypes = kFloats,
                 .refuses_others = false}));
  rows.push_back(composite({.name = "linalg.vander",
                            .ops = {"mul"},
                            .fn = FN(linalg_vander(a[0])),
                            .reference = [](const ValuesList& a) -> ValuesList {
                              Values out = zeros_of({3, 3});
                              each_index(out.sizes, [&](const Sizes& i) {
                                out.at(i) = std::pow(a[0].v[i[0]], static_cast<double>(i[1]));
                              });
                              return {out};
                            },
                            .samples = {one_matrix("plain", real({3}), nullptr)},
                            .dtypes = kAllButBool,
                            .refuses_others = false}));
  const Input nice4 = given({2, 2, 2, 2}, {3, 1, 0, -1, 1, 4, 1, 0, 0, 1, 5, 1, -1, 0, 1, 6});
  const auto flat = [](Values a, Sizes sizes) {
    a.sizes = std::move(sizes);
    return a;
  };
  rows.push_back(composite({.name = "linalg.tensorinv",
                            .ops = {"linalg_inv"},
                            .fn = FN(linalg_tensorinv(a[0])),
                            .reference = [flat](const ValuesList& a) -> ValuesList {
                              return {flat(inverse_reference(flat(a[0], {4, 4})), {2, 2, 2, 2})};
                            },
                            .samples = {one_matrix("plain", nice4, nullptr)},
                            .dtypes = kFullFloats,
                            .refuses_others = false}));
  rows.push_back(composite(
      {.name = "linalg.tensorsolve",
       .ops = {"linalg_solve"},
       .fn = FN(linalg_tensorsolve(a[0], a[1])),
       .reference = [flat](const ValuesList& a) -> ValuesList {
         return {flat(matmul_reference(inverse_reference(flat(a[0], {4, 4})), flat(a[1], {4, 1})),
                      {2, 2})};
       },
       .samples = {of("plain", {nice4, real({2, 2})}, nullptr, nullptr)},
       .dtypes = kFullFloats,
       .refuses_others = false}));
}

void add_matrix_norms(std::vector<Row>& rows) {
  const auto sums = [](const Values& a, bool columns) {
    std::vector<double> s(columns ? a.sizes[1] : a.sizes[0]);
    each_index(a.sizes, [&](const Sizes& i) { s[columns ? i[1] : i[0]] += std::abs(a.at(i)); });
    return s;
  };
  const auto extreme = [=](bool columns, bool greatest) -> Reference {
    return [=](const ValuesList& a) -> ValuesList {
      const auto s = sums(a[0], columns);
      return {Values{{},
                     {greatest ? *std::max_element(s.begin(), s.end())
                               : *std::min_element(s.begin(), s.end())}}};
    };
  };
  // Singular values of a 2 x 2 matrix, from trace and determinant of A^T A.
  const auto singular = [](const Values& a) -> std::pair<double, double> {
    double square = 0;
    for (double x : a.v) square += x * x;
    const double d = a.v[0] * a.v[3] - a.v[1] * a.v[2],
                 root = std::sqrt(square * square / 4 - d * d);
    return {std::sqrt(square / 2 + root), std::sqrt(square / 2 - root)};
  };
  const auto by_singular = [=](double (*f)(double, double)) -> Reference {
    return [=](const ValuesList& a) -> ValuesList {
      const auto [first, second] = singular(a[0]);
      return {Values{{}, {f(first, second)}}};
    };
  };
  const Reference frobenius = [](const ValuesList& a) -> ValuesList {
    double sum = 0;
    for (double x : a[0].v) sum += x * x;
    return {Values{{}, {std::sqrt(sum)}}};
  };
  const Input m = given({2, 2}, {1, -2, 3, 0.5});
  const Input apart = real({2, 3}).avoiding({0}, 0.2);
  const auto first = +[](double x, double) { return x; };
  rows.push_back(composite(
      {.name = "linalg.matrix_norm",
       .ops = {"linalg_svdvals"},
       .samples = {one_matrix("fro", m, FN(linalg_matrix_norm(a[0])), frobenius),
                   one_matrix("nuc", m, FN(linalg_matrix_norm(a[0], "nuc")),
                              by_singular([](double x, double y) { return x + y; })),
                   one_matrix("2", m, FN(linalg_matrix_norm(a[0], 2)), by_singular(first)),
                   one_matrix("-2", m, FN(linalg_matrix_norm(a[0], -2)),
                              by_singular([](double, double y) { return y; })),
                   one_matrix("1", apart, FN(linalg_matrix_norm(a[0], 1)), extreme(true, true)),
                   one_matrix("-1", apart, FN(linalg_matrix_norm(a[0], -1)), extreme(true, false)),
                   one_matrix("inf", apart,
                              FN(linalg_matrix_norm(a[0], std::numeric_limits<double>::infinity())),
                              extreme(false, true)),
                   one_matrix(
                       "-inf", apart,
                       FN(linalg_matrix_norm(a[0], -std::numeric_limits<double>::infinity())),
                       extreme(false, false)),
                   one_matrix("keepdim", real({2, 2, 3}),
                              FN(linalg_matrix_norm(a[0], 2, {0, 2}, true))),
                   one_matrix("dims", real({2, 2, 3}), FN(linalg_matrix_norm(a[0], 1, {2, 0})))},
       .dtypes = kFullFloats,
       .refuses_others = false}));
  rows.push_back(composite(
      {.name = "linalg.norm",
       .ops = {"linalg_svdvals"},
       .samples = {one_matrix("plain", real({2, 2, 2}), FN(linalg_norm(a[0])), frobenius),
                   one_matrix("matrix", apart, FN(linalg_norm(a[0], 1)), extreme(true, true)),
                   one_matrix("nuc", m, FN(linalg_norm(a[0], "nuc")),
                              by_singular([](double x, double y) { return x + y; })),
                   one_matrix("nuclear_norm", m, FN(nuclear_norm(a[0])),
                              by_singular([](double x, double y) { return x + y; })),
                   one_matrix("vector", given({2, 2}, {3, 4, 6, 8}),
                              FN(linalg_norm(a[0], 2, IntArrayRef{1})),
                              [](const ValuesList& a) -> ValuesList {
                                return {Values{{2},
                                               {std::hypot(a[0].v[0], a[0].v[1]),
                                                std::hypot(a[0].v[2], a[0].v[3])}}};
                              })},
       .dtypes = kFullFloats,
       .refuses_others = false}));
  rows.push_back(composite(
      {.name = "linalg.cond",
       .ops = {"linalg_svdvals", "linalg_inv_ex"},
       .samples = {one_matrix("2", m, FN(linalg_cond(a[0])),
                              by_singular([](double x, double y) { return x / y; })),
                   one_matrix("-2", m, FN(linalg_cond(a[0], -2)),
                              by_singular([](double x, double y) { return y / x; })),
                   one_matrix("1", m, FN(linalg_cond(a[0], 1)),
                              [=](const ValuesList& a) -> ValuesList {
                                return {Values{
                                    {},
                                    {extreme(true, true)(a)[0].v[0] *
                                     extreme(true, true)({inverse_reference(a[0])})[0].v[0]}}};
                              }),
                   one_matrix("fro", m, FN(linalg_cond(a[0], "fro")),
                              [=](const ValuesList& a) -> ValuesList {
                                return {Values{{},
                                               {frobenius(a)[0].v[0] *
                                                frobenius({inverse_reference(a[0])})[0].v[0]}}};
                              })},
       .dtypes = kFullFloats,
       .refuses_others = false}));
}

/// Every letter's sum written out: output[i] += product of the operands at i and the summed
/// letters.
Reference einsum_reference(std::vector<std::string> terms, std::string out) {
  return [=](const ValuesList& a) -> ValuesList {
    std::string letters = out;
    for (const auto& t : terms)
      for (char c : t)
        if (letters.find(c) == std::string::npos) letters += c;
    Sizes all(letters.size(), 1);
    for (size_t k = 0; k < terms.size(); ++k)
      for (size_t d = 0; d < terms[k].size(); ++d) all[letters.find(terms[k][d])] = a[k].sizes[d];
    Values r = zeros_of({all.begin(), all.begin() + static_cast<int64_t>(out.size())});
    each_index(all, [&](const Sizes& i) {
      double product = 1;
      for (size_t k = 0; k < terms.size(); ++k) {
        Sizes at;
        for (char c : terms[k]) at.push_back(i[letters.find(c)]);
        product *= a[k].at(at);
      }
      r.at({i.begin(), i.begin() + static_cast<int64_t>(out.size())}) += product;
    });
    return {r};
  };
}

void add_by_index(std::vector<Row>& rows) {
  const auto ein = [](const char* equation, std::vector<Sizes> shapes,
                      std::vector<std::string> terms, std::string out) {
    Sample s{.label = equation};
    for (Sizes& x : shapes) s.inputs.push_back(real(std::move(x)));
    s.fn = [=](const List& a) -> List { return {einsum(equation, a)}; };
    s.reference = einsum_reference(std::move(terms), std::move(out));
    return s;
  };
  rows.push_back(composite(
      {.name = "einsum",
       .ops = {"bmm"},
       .samples = {ein("ij,jk->ik", {{2, 3}, {3, 4}}, {"ij", "jk"}, "ik"),
                   ein("ij,jk", {{2, 3}, {3, 4}}, {"ij", "jk"}, "ik"),
                   ein("bij,bjk->bik", {{2, 2, 3}, {2, 3, 2}}, {"bij", "bjk"}, "bik"),
                   ein(" b i j , b j k -> k i b ", {{2, 2, 3}, {2, 3, 2}}, {"bij", "bjk"}, "kib"),
                   ein("i,i->", {{3}, {3}}, {"i", "i"}, ""),
                   ein("i,j->ij", {{2}, {3}}, {"i", "j"}, "ij"),
                   ein("ij->ji", {{2, 3}}, {"ij"}, "ji"),
                   ein("ii->i", {{3, 3}}, {"ii"}, "i"),
                   ein("ii", {{3, 3}}, {"ii"}, ""),
                   ein("iji->j", {{2, 3, 2}}, {"iji"}, "j"),
                   ein("ij->", {{2, 3}}, {"ij"}, ""),
                   ein("ji", {{2, 3}}, {"ji"}, "ij"),
                   ein("ij,ij->ij", {{2, 3}, {2, 3}}, {"ij", "ij"}, "ij"),
                   ein("ij,jk,kl->il", {{2, 3}, {3, 2}, {2, 2}}, {"ij", "jk", "kl"}, "il"),
                   ein("i,i,i->i", {{3}, {3}, {3}}, {"i", "i", "i"}, "i"),
                   ein("bn,anm,bm->ba", {{2, 3}, {2, 3, 2}, {2, 2}}, {"bn", "anm", "bm"}, "ba"),
                   ein("...ij,...jk->...ik", {{2, 2, 3}, {2, 3, 2}}, {"aij", "ajk"}, "aik"),
                   ein("i...->...", {{2, 3, 2}}, {"iab"}, "ab"),
                   ein("ij,kj->ik", {{2, 0}, {3, 0}}, {"ij", "kj"}, "ik"),
                   ein("aij,jk->aik", {{2, 2, 3}, {3, 2}}, {"aij", "jk"}, "aik")},
       .dtypes = kAllButBool,
       .refuses_others = false}));
  rows.push_back(composite(
      {.name = "tensordot",
       .ops = {"mm"},
       .samples = {of("two", {real({2, 3, 4}), real({3, 4, 2})}, FN(tensordot(a[0], a[1], 2)),
                      einsum_reference({"abc", "bcd"}, "ad")),
                   of("dims", {real({2, 3}), real({2, 4, 3})},
                      FN(tensordot(a[0], a[1], {1, 0}, {2, 0})),
                      einsum_reference({"ab", "acb"}, "c")),
                   of("none", {real({2}), real({3})}, FN(tensordot(a[0], a[1], 0)),
                      einsum_reference({"a", "b"}, "ab"))},
       .dtypes = kAllButBool,
       .refuses_others = false}));
}

}  // namespace

void add_linalg_function_rows(std::vector<Row>& rows) {
  add_functions(rows);
  add_matrix_norms(rows);
  add_by_index(rows);
}

}  // namespace tandem::table
