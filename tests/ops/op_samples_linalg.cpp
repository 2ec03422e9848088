// Rows of linear algebra: factorisations, systems, functions of matrices.
#include <cmath>

#include "tests/ops/op_reference.h"
#include "tests/ops/op_table.h"

namespace tandem::table {
namespace {

/// Far from singular: 6 on the diagonal is more than the rest can undo.
Input dominant(Sizes sizes) { return real(std::move(sizes), -1, 1); }
Tensor shifted(const Tensor& a) { return a + eye(a.size(-1), a.options()) * 6; }
Values shifted(Values a) {
  const int64_t n = a.sizes.back();
  for (int64_t s = 0; n > 0 && s < a.numel() / (n * n); ++s)
    for (int64_t i = 0; i < n; ++i) a.v[s * n * n + i * n + i] += 6;
  return a;
}
/// Symmetric, with eigenvalues that are positive and apart.
Tensor symmetric(const Tensor& a) { return a + a.mT(); }
Tensor definite(const Tensor& a) { return shifted(matmul(a, a.mT())); }

/// What every row of this file has: float32 and float64, and LAPACK's own rounding.
Row lapack(Row row) {
  row.dtypes = kFullFloats;
  row.tolerance32 = 2e-4;
  row.tolerance64 = 1e-10;
  row.tolerance_layout = 2e-4;
  row.grad_tolerance = 1e-4;
  return row;
}

Sample one(const char* label, Input x, Fn fn = nullptr, Reference reference = nullptr,
           bool grad = true) {
  return {.label = label, .inputs = {std::move(x)}, .fn = fn, .reference = reference, .grad = grad};
}
Sample two(const char* label, Input x, Input y, Fn fn = nullptr) {
  return {.label = label, .inputs = {std::move(x), std::move(y)}, .fn = fn};
}

/// The samples that rows of one square matrix share.
std::vector<Sample> square_samples() {
  return {one("plain", dominant({3, 3})), one("batch", dominant({2, 2, 2})),
          one("number", dominant({1, 1})), one("empty", dominant({0, 0})),
          one("no batch", dominant({0, 2, 2}))};
}

Values each_matrix(const Values& a, const std::function<double(const Values&)>& f) {
  const int64_t n = a.sizes.back(), m = a.sizes[a.sizes.size() - 2];
  Values out = zeros_of({a.sizes.begin(), a.sizes.end() - 2});
  for (int64_t s = 0; s < out.numel(); ++s)
    out.v[s] = f({{m, n}, {a.v.begin() + s * m * n, a.v.begin() + (s + 1) * m * n}});
  return out;
}
double determinant(const Values& a) { return a.sizes.back() == 0 ? 1 : det_reference(a); }

void add_systems(std::vector<Row>& rows) {
  const Reference inverted = [](const ValuesList& a) -> ValuesList {
    return {inverse_reference(shifted(a[0]))};
  };
  rows.push_back(lapack({.name = "linalg.inv",
                         .ops = {"linalg_inv"},
                         .fn = FN(linalg_inv(shifted(a[0]))),
                         .reference = inverted,
                         .samples = square_samples()}));
  rows.push_back(lapack({.name = "inverse",
                         .ops = {"linalg_inv"},
                         .fn = FN(shifted(a[0]).inverse()),
                         .reference = inverted,
                         .samples = square_samples(),
                         .refuses_others = false}));
  rows.push_back(lapack({.name = "linalg.inv_ex",
                         .ops = {"linalg_inv_ex"},
                         .fn = FN(std::get<0>(linalg_inv_ex(shifted(a[0])))),
                         .reference = inverted,
                         .samples = square_samples()}));
  const auto solution = [](const ValuesList& a) -> ValuesList {
    return {matmul_reference(inverse_reference(shifted(a[0])), a[1])};
  };
  Sample right = two("right", dominant({2, 2}), real({3, 2}),
                     FN(linalg_solve(shifted(a[0]), a[1], /*left=*/false)));
  right.reference = [](const ValuesList& a) -> ValuesList {
    return {matmul_reference(a[1], inverse_reference(shifted(a[0])))};
  };
  Sample vectors = two("a vector each", dominant({2, 2, 2}), real({2, 2}));
  vectors.reference = [](const ValuesList& a) -> ValuesList {
    Values b = a[1];
    b.sizes.push_back(1);
    Values x = matmul_reference(inverse_reference(shifted(a[0])), b);
    x.sizes.pop_back();
    return {x};
  };
  rows.push_back(
      lapack({.name = "linalg.solve",
              .ops = {"linalg_solve"},
              .fn = FN(linalg_solve(shifted(a[0]), a[1])),
              .reference = solution,
              .samples = {two("plain", dominant({3, 3}), real({3, 2})),
                          two("vector", dominant({3, 3}), real({3})),
                          two("batch", dominant({2, 2, 2}), real({2, 2, 3})),
                          two("broadcast", dominant({2, 2}), real({3, 2, 1})),
                          two("empty", dominant({0, 0}), real({0, 2})), vectors, right}}));
  rows.push_back(lapack({.name = "linalg.solve_ex",
                         .ops = {"linalg_inv_ex"},
                         .fn = FN(std::get<0>(linalg_solve_ex(shifted(a[0]), a[1]))),
                         .reference = solution,
                         .samples = {two("plain", dominant({3, 3}), real({3, 2}))},
                         .refuses_others = false}));
  const Reference dets = [](const ValuesList& a) -> ValuesList {
    return {each_matrix(shifted(a[0]), determinant)};
  };
  std::vector<Sample> det_samples = square_samples();
  det_samples.push_back(one(
      "singular", given({2, 2}, {1, 2, 2, 4}), FN(a[0].det()),
      [](const ValuesList&) -> ValuesList {
        return {Values{{}, {0}}};
      },
      false));
  rows.push_back(lapack({.name = "linalg.det",
                         .ops = {"linalg_det", "adjugate"},
                         .fn = FN(linalg_det(shifted(a[0]))),
                         .reference = dets,
                         .samples = det_samples}));
  rows.push_back(lapack({.name = "logdet",
                         .ops = {"linalg_slogdet"},
                         .fn = FN(shifted(a[0]).logdet()),
                         .reference = [](const ValuesList& a) -> ValuesList {
                           Values d = each_matrix(shifted(a[0]), determinant);
                           for (double& x : d.v) x = std::log(x);
                           return {d};
                         },
                         .samples = square_samples()}));
  rows.push_back(lapack(
      {.name = "linalg.slogdet",
       .ops = {"linalg_slogdet"},
       .fn = FN(std::get<0>(linalg_slogdet(-shifted(a[0]))), std::get<1>(slogdet(-shifted(a[0])))),
       .reference = [](const ValuesList& a) -> ValuesList {
         Values d = each_matrix(shifted(a[0]), determinant), sign = d;
         const bool odd = a[0].sizes.back() % 2 == 1;
         for (double& x : sign.v) x = odd ? -1 : 1;
         for (double& x : d.v) x = std::log(x);
         return {sign, d};
       },
       .samples = square_samples(),
       .refuses_others = false}));
  rows.push_back(lapack({.name = "adjugate",
                         .ops = {"adjugate"},
                         .fn = FN(adjugate(shifted(a[0]))),
                         .reference = [](const ValuesList& a) -> ValuesList {
                           Values inv = inverse_reference(shifted(a[0]));
                           const Values d = each_matrix(shifted(a[0]), determinant);
                           const int64_t n = a[0].sizes.back();
                           for (int64_t i = 0; i < inv.numel(); ++i) inv.v[i] *= d.v[i / (n * n)];
                           return {inv};
                         },
                         .samples = square_samples()}));
}

void add_triangles(std::vector<Row>& rows) {
  const Reference product_of_factors = [](const ValuesList& a) -> ValuesList {
    return {shifted(matmul_reference(a[0], transpose_reference(a[0])))};
  };
  const Fn lower = FN(linalg_cholesky(definite(a[0])));
  const Fn rebuilt = [](const List& a) -> List {
    const Tensor l = linalg_cholesky(definite(a[0]));
    return {matmul(l, l.mT())};
  };
  const Fn rebuilt_upper = [](const List& a) -> List {
    const Tensor u = definite(a[0]).cholesky(/*upper=*/true);
    return {matmul(u.mT(), u)};
  };
  rows.push_back(
      lapack({.name = "linalg.cholesky",
              .ops = {"linalg_cholesky"},
              .samples = {
                  one(
                      "given", given({2, 2}, {4, 2, 2, 2}), FN(linalg_cholesky(a[0])),
                      [](const ValuesList&) -> ValuesList {
                        return {Values{{2, 2}, {2, 0, 1, 1}}};
                      },
                      false),
                  one("plain", real({3, 3}), lower), one("batch", real({2, 2, 2}), lower),
                  one("upper", real({3, 3}), FN(cholesky(definite(a[0]), true))),
                  one("empty", real({0, 0}), lower),
                  one("rebuilt", real({3, 3}), rebuilt, product_of_factors),
                  one("rebuilt from upper", real({2, 3, 3}), rebuilt_upper, product_of_factors)}}));
  rows.push_back(lapack({.name = "linalg.cholesky_ex",
                         .ops = {"linalg_cholesky_ex"},
                         .fn = FN(std::get<0>(linalg_cholesky_ex(definite(a[0])))),
                         .samples = {one("plain", real({3, 3})), one("batch", real({2, 2, 2}))},
                         .refuses_others = false}));
  const auto of_definite = [](const ValuesList& a) {
    return inverse_reference(shifted(matmul_reference(a[0], transpose_reference(a[0]))));
  };
  rows.push_back(
      lapack({.name = "cholesky_solve",
              .ops = {"linalg_solve_triangular"},
              .reference = [=](const ValuesList& a) -> ValuesList {
                return {matmul_reference(of_definite(a), a[1])};
              },
              .samples = {two("lower", real({3, 3}), real({3, 2}),
                              FN(a[1].cholesky_solve(linalg_cholesky(definite(a[0]))))),
                          two("upper", real({3, 3}), real({3, 2}),
                              FN(a[1].cholesky_solve(cholesky(definite(a[0]), true), true)))},
              .refuses_others = false}));
  rows.push_back(
      lapack({.name = "cholesky_inverse",
              .ops = {"linalg_solve_triangular"},
              .reference = [=](const ValuesList& a) -> ValuesList { return {of_definite(a)}; },
              .samples = {one("lower", real({3, 3}),
                              FN(linalg_cholesky(definite(a[0])).cholesky_inverse())),
                          one("upper", real({3, 3}),
                              FN(cholesky_inverse(cholesky(definite(a[0]), true), true)))},
              .refuses_others = false}));
  // The other triangle must not matter; the reference clears it.
  const auto solved = [](bool upper, bool unit, bool left) -> Reference {
    return [=](const ValuesList& a) -> ValuesList {
      Values t = shifted(a[0]);
      each_index(t.sizes, [&](const Sizes& i) {
        const int64_t r = i[i.size() - 2], c = i.back();
        if (upper ? r > c : r < c) t.at(i) = 0;
        if (unit && r == c) t.at(i) = 1;
      });
      const Values inv = inverse_reference(t);
      return {left ? matmul_reference(inv, a[1]) : matmul_reference(a[1], inv)};
    };
  };
  const auto triangular = [&](const char* label, Input m, Input b, Fn fn, bool upper, bool unit,
                              bool left) {
    Sample s = two(label, std::move(m), std::move(b), std::move(fn));
    s.reference = solved(upper, unit, left);
    return s;
  };
  rows.push_back(lapack(
      {.name = "linalg.solve_triangular",
       .ops = {"linalg_solve_triangular"},
       .samples = {
           triangular("upper", dominant({3, 3}), real({3, 2}),
                      FN(linalg_solve_triangular(shifted(a[0]), a[1], true)), true, false, true),
           triangular("lower", dominant({2, 3, 3}), real({2, 3, 2}),
                      FN(linalg_solve_triangular(shifted(a[0]), a[1], false)), false, false, true),
           triangular("right", dominant({3, 3}), real({2, 3}),
                      FN(linalg_solve_triangular(shifted(a[0]), a[1], true, false)), true, false,
                      false),
           triangular("unit", dominant({3, 3}), real({3, 2}),
                      FN(linalg_solve_triangular(shifted(a[0]), a[1], true, true, true)), true,
                      true, true),
           triangular("unit lower", dominant({3, 3}), real({3, 2}),
                      FN(linalg_solve_triangular(shifted(a[0]), a[1], false, true, true)), false,
                      true, true),
           triangular("triangular_solve", dominant({3, 3}), real({3, 2}),
                      FN(std::get<0>(a[1].triangular_solve(shifted(a[0])))), true, false, true)}}));
}

void add_orthogonal(std::vector<Row>& rows) {
  const auto qr_of = [](std::string_view mode) -> Fn {
    return [mode](const List& a) -> List {
      const auto [q, r] = linalg_qr(a[0], mode);
      if (mode == "r") return {r};
      return {q, r};
    };
  };
  const Reference itself = [](const ValuesList& a) -> ValuesList { return {a[0]}; };
  const Fn rebuilt = [](const List& a) -> List {
    const auto [q, r] = linalg_qr(a[0]);
    return {matmul(q, r)};
  };
  rows.push_back(lapack(
      {.name = "linalg.qr",
       .ops = {"linalg_qr"},
       .fn = qr_of("reduced"),
       .samples = {
           one("square", dominant({3, 3})), one("tall", real({4, 2})), one("wide", real({2, 4})),
           one("batch", real({2, 3, 2})), one("complete square", real({3, 3}), qr_of("complete")),
           one("complete tall", real({4, 2}), qr_of("complete"), nullptr, false),
           one("complete wide", real({2, 3}), qr_of("complete")),
           one("r", real({3, 2}), qr_of("r")), one("rebuilt", real({4, 3}), rebuilt, itself),
           one("rebuilt wide", real({2, 3, 4}), rebuilt, itself)}}));
  const Fn svd_parts = [](const List& a) -> List {
    const auto [u, s, vh] = linalg_svd(a[0], false);
    return {u, s, vh};
  };
  const Fn svd_full = [](const List& a) -> List {
    const auto [u, s, vh] = linalg_svd(a[0]);
    const int64_t k = s.size(-1);
    return {u.narrow(-1, 0, k), s, vh.narrow(-2, 0, k)};
  };
  const Fn svd_rebuilt = [](const List& a) -> List {
    const auto [u, s, v] = svd(a[0]);
    return {matmul(u * s.unsqueeze(-2), v.mT())};
  };
  rows.push_back(lapack({.name = "linalg.svd",
                         .ops = {"linalg_svd"},
                         .fn = svd_parts,
                         .samples = {one("square", real({3, 3})), one("tall", real({4, 2})),
                                     one("wide", real({2, 4})), one("batch", real({2, 3, 2})),
                                     one("full", real({2, 4}), svd_full),
                                     one("rebuilt", real({4, 3}), svd_rebuilt, itself),
                                     one("rebuilt batch", real({2, 2, 3}), svd_rebuilt, itself)}}));
  rows.push_back(lapack(
      {.name = "linalg.svdvals",
       .ops = {"linalg_svdvals"},
       .fn = FN(linalg_svdvals(a[0])),
       .samples = {one("square", real({3, 3})), one("tall", real({4, 2})),
                   one("batch", real({2, 2, 3})),
                   one("given", given({2, 2}, {3, 0, 0, -2}), nullptr,
                       [](const ValuesList&) -> ValuesList {
                         return {Values{{2}, {3, 2}}};
                       }),
                   one("without vectors", real({3, 2}), FN(std::get<1>(a[0].svd(true, false))))}}));
  const Fn eigen = [](const List& a) -> List {
    const auto [w, v] = linalg_eigh(symmetric(a[0]));
    return {w, v};
  };
  const Fn eigen_rebuilt = [](const List& a) -> List {
    const auto [w, v] = symeig(symmetric(a[0]), true);
    return {matmul(v * w.unsqueeze(-2), v.mT())};
  };
  const Reference twice_symmetric = [](const ValuesList& a) -> ValuesList {
    Values x = a[0];
    const Values t = transpose_reference(x);
    for (size_t i = 0; i < x.v.size(); ++i) x.v[i] += t.v[i];
    return {x};
  };
  rows.push_back(lapack({.name = "linalg.eigh",
                         .ops = {"linalg_eigh"},
                         .fn = eigen,
                         .samples = {one("plain", real({3, 3})), one("batch", real({2, 2, 2})),
                                     one("rebuilt", real({4, 4}), eigen_rebuilt, twice_symmetric),
                                     one("empty", real({0, 0}))},
                         .refuses_others = false}));
  rows.push_back(lapack(
      {.name = "linalg.eigvalsh",
       .ops = {"linalg_eigvalsh"},
       .samples = {one(
                       "given", given({2, 2}, {2, 1, 1, 2}), FN(linalg_eigvalsh(a[0])),
                       [](const ValuesList&) -> ValuesList {
                         return {Values{{2}, {1, 3}}};
                       },
                       false),
                   one("plain", real({3, 3}), FN(linalg_eigvalsh(symmetric(a[0])))),
                   one("upper", real({2, 2, 2}), FN(linalg_eigvalsh(symmetric(a[0]), "U")))}}));
  // Of full rank: (A^T A)^-1 A^T, or A^T (A A^T)^-1.
  const Reference pseudo = [](const ValuesList& a) -> ValuesList {
    const Values t = transpose_reference(a[0]);
    const bool tall = a[0].sizes[a[0].dim() - 2] >= a[0].sizes.back();
    if (tall) return {matmul_reference(inverse_reference(matmul_reference(t, a[0])), t)};
    return {matmul_reference(t, inverse_reference(matmul_reference(a[0], t)))};
  };
  rows.push_back(lapack(
      {.name = "linalg.pinv",
       .ops = {"linalg_pinv"},
       .fn = FN(linalg_pinv(a[0])),
       .reference = pseudo,
       .samples = {one("tall", given({3, 2}, {1, 2, -1, 0.5, 2, 1})),
                   one("wide", given({2, 3}, {1, 2, -1, 0.5, 2, 1})),
                   one("batch", given({2, 2, 2}, {2, 1, 0, 1, 1, -1, 2, 1})),
                   one("pinverse", given({3, 2}, {1, 2, -1, 0.5, 2, 1}), FN(a[0].pinverse())),
                   one(
                       "deficient", given({2, 2}, {1, 1, 1, 1}), nullptr,
                       [](const ValuesList&) -> ValuesList {
                         return {Values{{2, 2}, {0.25, 0.25, 0.25, 0.25}}};
                       },
                       false),
                   one("hermitian", given({2, 2}, {2, 1, 1, 3}),
                       FN(linalg_pinv(symmetric(a[0]) * 0.5, 1e-15, true)))}}));
  Sample least_vector = two("vector", given({3, 2}, {1, 2, -1, 0.5, 2, 1}), real({3}));
  const auto lstsq = [](const List& a) -> List { return {std::get<0>(linalg_lstsq(a[0], a[1]))}; };
  const Fn residuals = [](const List& a) -> List {
    const auto [x, rest, rank, s] = linalg_lstsq(a[0], a[1]);
    return {x, rest, s.detach()};
  };
  Sample all_results =
      two("residuals", given({3, 2}, {1, 2, -1, 0.5, 2, 1}), real({3, 2}), residuals);
  all_results.reference = [pseudo](const ValuesList& a) -> ValuesList {
    const Values x = matmul_reference(pseudo({a[0]})[0], a[1]), ax = matmul_reference(a[0], x);
    Values rest = zeros_of({2});
    for (int64_t i = 0; i < ax.numel(); ++i)
      rest.v[i % 2] += (ax.v[i] - a[1].v[i]) * (ax.v[i] - a[1].v[i]);
    // Singular values from the eigenvalues of A^T A, a 2 x 2 matrix.
    const Values g = matmul_reference(transpose_reference(a[0]), a[0]);
    const double half = (g.v[0] + g.v[3]) / 2;
    const double root = std::sqrt(half * half - (g.v[0] * g.v[3] - g.v[1] * g.v[2]));
    return {x, rest, Values{{2}, {std::sqrt(half + root), std::sqrt(half - root)}}};
  };
  all_results.grad = false;  // the singular values are not differentiated
  Sample rest_alone =
      two("residuals alone", given({3, 2}, {1, 2, -1, 0.5, 2, 1}), real({3, 2}),
          [](const List& a) -> List { return {std::get<1>(linalg_lstsq(a[0], a[1]))}; });
  rest_alone.reference = [all = all_results.reference](const ValuesList& a) -> ValuesList {
    return {all(a)[1]};
  };
  rows.push_back(
      lapack({.name = "linalg.lstsq",
              .ops = {"linalg_lstsq"},
              .fn = lstsq,
              .reference = [pseudo](const ValuesList& a) -> ValuesList {
                return {matmul_reference(pseudo({a[0]})[0], a[1])};
              },
              .samples = {two("tall", given({3, 2}, {1, 2, -1, 0.5, 2, 1}), real({3, 2})),
                          two("wide", given({2, 3}, {1, 2, -1, 0.5, 2, 1}), real({2, 2})),
                          least_vector, all_results, rest_alone}}));
  rows.push_back(lapack(
      {.name = "linalg.matrix_rank",
       .ops = {"linalg_svdvals"},
       .fn = FN(linalg_matrix_rank(a[0])),
       .samples = {one("full", given({2, 2}, {1, 2, 3, 4}), nullptr,
                       [](const ValuesList&) -> ValuesList {
                         return {Values{{}, {2}}};
                       }),
                   one("deficient", given({2, 2, 2}, {1, 2, 2, 4, 0, 0, 0, 0}), nullptr,
                       [](const ValuesList&) -> ValuesList {
                         return {Values{{2}, {1, 0}}};
                       }),
                   one("limit", given({2, 2}, {1, 0, 0, 0.1}), FN(linalg_matrix_rank(a[0], 0.5)),
                       [](const ValuesList&) -> ValuesList {
                         return {Values{{}, {1}}};
                       })},
       .grad = Grad::kNo,
       .out = Out::kLong}));
}

void add_lu(std::vector<Row>& rows) {
  const Fn factor = [](const List& a) -> List {
    const auto [lu, pivots] = linalg_lu_factor(a[0]);
    return {lu};
  };
  const Fn rebuilt = [](const List& a) -> List {
    const auto [p, l, u] = linalg_lu(a[0]);
    return {matmul(p, matmul(l, u))};
  };
  const Reference itself = [](const ValuesList& a) -> ValuesList { return {a[0]}; };
  rows.push_back(lapack({.name = "linalg.lu_factor",
                         .ops = {"linalg_lu_factor", "permutation_matrix"},
                         .fn = factor,
                         .samples = {one("square", distinct({3, 3})), one("wide", real({2, 4})),
                                     one("tall", real({4, 2})), one("batch", real({2, 2, 2}))}}));
  rows.push_back(lapack({.name = "linalg.lu",
                         .ops = {"linalg_lu_factor", "permutation_matrix"},
                         .fn = rebuilt,
                         .reference = itself,
                         .samples = {one("square", real({3, 3})), one("wide", real({2, 3})),
                                     one("tall", real({3, 2})), one("batch", real({2, 2, 2}))},
                         .refuses_others = false}));
  const auto solved = [](bool left, bool adjoint) -> Fn {
    return [=](const List& a) -> List {
      const auto [lu, pivots] = linalg_lu_factor(shifted(a[0]));
      return {linalg_lu_solve(lu, pivots, a[1], left, adjoint)};
    };
  };
  Sample right = two("right", dominant({3, 3}), real({2, 3}), solved(false, false));
  right.reference = [](const ValuesList& a) -> ValuesList {
    return {matmul_reference(a[1], inverse_reference(shifted(a[0])))};
  };
  Sample adjoint = two("adjoint", dominant({3, 3}), real({3, 2}), solved(true, true));
  adjoint.reference = [](const ValuesList& a) -> ValuesList {
    return {matmul_reference(transpose_reference(inverse_reference(shifted(a[0]))), a[1])};
  };
  rows.push_back(lapack({.name = "linalg.lu_solve",
                         .ops = {"linalg_solve_triangular", "permutation_matrix"},
                         .fn = solved(true, false),
                         .reference = [](const ValuesList& a) -> ValuesList {
                           return {matmul_reference(inverse_reference(shifted(a[0])), a[1])};
                         },
                         .samples = {two("plain", dominant({3, 3}), real({3, 2})), right, adjoint},
                         .refuses_others = false}));
}

}  // namespace

void add_linalg_rows(std::vector<Row>& rows) {
  add_systems(rows);
  add_triangles(rows);
  add_orthogonal(rows);
  add_lu(rows);
  add_linalg_function_rows(rows);
}

}  // namespace tandem::table
