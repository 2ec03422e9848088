// Mistakes in indexing, gathering, scattering and joining.
#include "tests/errors/error_cases.h"

namespace tandem::errors {

void add_index_cases(std::vector<Case>& cases) {
  using namespace indexing;
  const auto one = [](int64_t i) { return full({1}, i, kLong); };
  const std::vector<Case> own = {
      {"gather beyond the end",
       Kind::kIndex,
       [](Things& t) {
         gather(t.x, 1, full({2, 1}, 3, kLong));
       },
       {"gather", "3"}},
      {"gather with a real index",
       Kind::kType,
       [](Things& t) { gather(t.x, 1, t.x); },
       {"gather", "int64", "float32"}},
      {"gather with an index of other dimensions",
       Kind::kShape,
       [=](Things& t) { gather(t.x, 1, one(0)); },
       {"gather", "[1]", "[2, 3]"}},
      {"scatter of another dtype",
       Kind::kType,
       [](Things& t) {
         scatter(t.x, 1, zeros({2, 1}, kLong), t.wide);
       },
       {"scatter", "Float", "Double"}},
      {"scatter_ beyond the end",
       Kind::kIndex,
       [](Things& t) {
         t.x.scatter_(1, tensor({0, 7}).view({2, 1}), 1);
       },
       {"scatter", "7"}},
      {"scatter with an unknown way to combine",
       Kind::kError,
       [](Things& t) {
         scatter(t.x, 1, zeros({2, 1}, kLong), t.x, "divide");
       },
       {"scatter", "divide"}},
      {"index_select beyond the end",
       Kind::kIndex,
       [=](Things& t) { index_select(t.x, 0, one(2)); },
       {"index_select", "2"}},
      {"index_select from the end",
       Kind::kIndex,
       [=](Things& t) { index_select(t.x, 0, one(-1)); },
       {"index_select", "-1", "2"}},
      {"index_add_ from the end",
       Kind::kIndex,
       [=](Things& t) {
         t.x.index_add_(0, one(-2), ones({1, 3}));
       },
       {"index_add", "-2", "2"}},
      {"index_copy from the end",
       Kind::kIndex,
       [=](Things& t) {
         index_copy(t.x, 0, one(-1), ones({1, 3}));
       },
       {"index_copy", "-1", "2"}},
      {"index_select with a matrix",
       Kind::kShape,
       [](Things& t) {
         index_select(t.x, 0, zeros({1, 1}, kLong));
       },
       {"index_select", "[1, 1]"}},
      {"index_add_ beyond the end",
       Kind::kIndex,
       [=](Things& t) {
         t.x.index_add_(0, tensor({0, 5}), ones({2, 3}));
       },
       {"index_add", "5"}},
      {"index_add of another shape",
       Kind::kShape,
       [=](Things& t) {
         index_add(t.x, 0, one(0), ones({1, 4}));
       },
       {"index_add", "[1, 4]"}},
      {"index with a tensor beyond the end",
       Kind::kIndex,
       [=](Things& t) { t.x.index({one(-3)}); },
       {"-3", "2"}},
      {"index with too many indices",
       Kind::kIndex,
       [](Things& t) {
         t.x.index({0, 0, 0});
       },
       {"too many indices", "2"}},
      {"index with a mask of another shape",
       Kind::kIndex,
       [](Things& t) {
         t.x.index({ones({2, 2}, kBool)});
       },
       {"mask", "[2, 2]", "[2, 3]"}},
      {"index with real numbers", Kind::kType, [](Things& t) { t.x.index({t.y}); }, {"Float"}},
      {"index tensors that do not broadcast",
       Kind::kIndex,
       [](Things& t) {
         t.x.index({zeros({2}, kLong), zeros({3}, kLong)});
       },
       {"[2]", "[3]"}},
      {"index_put_ of a shape that does not fit",
       Kind::kShape,
       [=](Things& t) { t.x.index_put_({one(0)}, t.y); },
       {"[4]"}},
      {"index_put_ into a leaf",
       Kind::kError,
       [=](Things& t) { t.w.index_put_({one(0)}, 1); },
       {"leaf"}},
      {"take beyond the end", Kind::kIndex, [=](Things& t) { take(t.x, one(6)); }, {"take", "6"}},
      {"masked_fill with real numbers",
       Kind::kType,
       [](Things& t) { masked_fill(t.x, t.x, 1); },
       {"masked_fill", "Float"}},
      {"masked_select of shapes that do not broadcast",
       Kind::kShape,
       [](Things& t) { masked_select(t.y, t.truth); },
       {"masked_select", "[4]", "[2, 3]"}},
      {"masked_scatter from too few",
       Kind::kShape,
       [](Things& t) {
         masked_scatter(t.x, ones({2, 3}, kBool), t.y);
       },
       {"masked_scatter", "4", "6"}},
      {"cat of nothing",
       Kind::kError,
       [](Things&) { cat(std::vector<Tensor>{}); },
       {"cat", "non-empty"}},
      {"cat of sizes that do not fit",
       Kind::kShape,
       [](Things& t) {
         cat({t.x, ones({2, 4})});
       },
       {"cat", "3", "4", "tensor number 1"}},
      {"cat of other dimensions",
       Kind::kShape,
       [](Things& t) {
         cat({t.x, t.y});
       },
       {"cat", "2", "1"}},
      {"cat of a number",
       Kind::kShape,
       [](Things& t) {
         cat({t.y[0], t.y[1]});
       },
       {"cat", "zero-dimensional", "stack"}},
      {"cat of an undefined tensor",
       Kind::kError,
       [](Things& t) {
         cat({t.x, t.none});
       },
       {"cat", "1", "undefined"}},
      {"cat along a dimension that is not there",
       Kind::kIndex,
       [](Things& t) {
         cat({t.x, t.x}, 2);
       },
       {"cat", "2"}},
      {"cat of cpu and meta",
       Kind::kError,
       [](Things& t) {
         cat({t.x, t.meta});
       },
       {"cat", "cpu", "meta"}},
      {"stack of different shapes",
       Kind::kShape,
       [](Things& t) {
         stack({t.x, t.m});
       },
       {"stack", "[2, 3]", "[3, 3]", "entry 1"}},
      {"repeat to fewer dimensions",
       Kind::kShape,
       [](Things& t) { t.x.repeat({2}); },
       {"repeat", "[2]", "[2, 3]"}},
      {"flip along a dimension twice",
       Kind::kError,
       [](Things& t) {
         flip(t.x, {0, 0});
       },
       {"flip", "0"}},
      {"tril of a vector", Kind::kShape, [](Things& t) { tril(t.y); }, {"tril", "[4]"}},
      {"nonzero of meta", Kind::kError, [](Things& t) { nonzero(t.meta); }, {"nonzero", "meta"}},
  };
  cases.insert(cases.end(), own.begin(), own.end());
}

}  // namespace tandem::errors
