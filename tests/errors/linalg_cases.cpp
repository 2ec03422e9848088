// Mistakes in linear algebra.
#include "tests/errors/error_cases.h"

namespace tandem::errors {

void add_linalg_cases(std::vector<Case>& cases) {
  const auto singular = [] { return ones({2, 2}); };
  const std::vector<Case> own = {
      {"inverse of a singular matrix",
       Kind::kError,
       [=](Things&) { inverse(singular()); },
       {"linalg.inv", "singular", "2"}},
      {"inverse of a matrix that is not square",
       Kind::kShape,
       [](Things& t) { inverse(t.x); },
       {"linalg.inv", "square", "2 by 3"}},
      {"inverse of whole numbers",
       Kind::kType,
       [](Things& t) { inverse(t.ints); },
       {"linalg.inv", "floating point", "Long"}},
      {"inverse of a vector",
       Kind::kShape,
       [](Things& t) { inverse(t.y); },
       {"linalg.inv", "at least 2 dimensions", "[4]"}},
      {"solving with a singular matrix",
       Kind::kError,
       [=](Things&) { linalg_solve(singular(), ones({2})); },
       {"linalg.solve", "singular"}},
      {"solving with sizes that do not fit",
       Kind::kShape,
       [](Things& t) {
         linalg_solve(t.m, ones({2, 1}));
       },
       {"linalg.solve", "[3, 3]", "[2, 1]"}},
      {"cholesky of what is not positive",
       Kind::kError,
       [](Things&) {
         linalg_cholesky(zeros({2, 2}) - eye(2));
       },
       {"linalg.cholesky", "positive"}},
      {"det of a matrix that is not square",
       Kind::kShape,
       [](Things& t) { det(t.x); },
       {"linalg.det", "2 by 3"}},
      {"eigh of a matrix that is not square",
       Kind::kShape,
       [](Things& t) { linalg_eigh(t.x); },
       {"linalg.eigh", "2 by 3"}},
      {"svd of a vector",
       Kind::kShape,
       [](Things& t) { svd(t.y); },
       {"svd", "at least 2 dimensions"}},
      {"qr in an unknown mode",
       Kind::kError,
       [](Things& t) { linalg_qr(t.m, "half"); },
       {"qr", "half", "reduced"}},
      {"a power of a matrix that is not square",
       Kind::kShape,
       [](Things& t) { matrix_power(t.x, 2); },
       {"matrix_power", "2 by 3"}},
      {"trace of a vector", Kind::kShape, [](Things& t) { trace(t.y); }, {"trace", "1"}},
      {"cross of other than three",
       Kind::kShape,
       [](Things& t) { linalg_cross(t.y, t.y); },
       {"cross", "3", "4"}},
      {"einsum with a letter too many",
       Kind::kError,
       [](Things& t) { einsum("ijk->i", {t.x}); },
       {"einsum", "ijk", "2"}},
      {"einsum of sizes that do not fit",
       Kind::kError,
       [](Things& t) {
         einsum("ij,jk->ik", {t.x, t.x});
       },
       {"einsum", "j", "3", "2"}},
      {"einsum with too few operands",
       Kind::kError,
       [](Things& t) { einsum("ij,jk->ik", {t.x}); },
       {"einsum", "2", "1"}},
      {"einsum with an unknown result letter",
       Kind::kError,
       [](Things& t) { einsum("ij->z", {t.x}); },
       {"einsum", "z"}},
      {"einsum with a strange sign",
       Kind::kError,
       [](Things& t) { einsum("i+j->i", {t.x}); },
       {"einsum", "+"}},
  };
  cases.insert(cases.end(), own.begin(), own.end());
}

}  // namespace tandem::errors
