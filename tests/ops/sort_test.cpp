// Sorting and what is made of it, where the op table does not look.
#include <gtest/gtest.h>

#include <cmath>

#include "tandem/compile/compile.h"
#include "tandem/compile/vmap.h"
#include "tests/helpers.h"
#include "tests/ops/numbers.h"

namespace tandem {
namespace {

using test::error_of;

TEST(SortOps, NanIsGreatestAndTiesKeepTheirOrder) {
  const Tensor x = make({2, kNan, 1, 2}, {4});
  auto [up, where_up] = x.sort();
  EXPECT_EQ(numbers(where_up), (Numbers{2, 0, 3, 1}));
  EXPECT_TRUE(std::isnan(numbers(up)[3]));
  auto [down, where_down] = x.sort(0, true);
  EXPECT_EQ(numbers(where_down), (Numbers{1, 0, 3, 2}));
  EXPECT_EQ(numbers(x.argsort(/*stable=*/true, 0, false)), (Numbers{2, 0, 3, 1}));
  auto [top, where_top] = x.topk(2);
  EXPECT_EQ(numbers(where_top), (Numbers{1, 0}));
}

TEST(SortOps, GradientsGoBackToTheirPlaces) {
  const Tensor x = make({3, 1, 2}, {3});
  EXPECT_EQ(grad_of(x, [](const Tensor& t) { return std::get<0>(t.sort()); }), (Numbers{3, 1, 2}));
  EXPECT_EQ(grad_of(x, [](const Tensor& t) { return std::get<0>(t.topk(2)); }), (Numbers{1, 0, 2}));
  EXPECT_EQ(grad_of(x, [](const Tensor& t) { return t.median(); }), (Numbers{0, 0, 1}));
  EXPECT_EQ(grad_of(x, [](const Tensor& t) { return std::get<0>(t.kthvalue(3)); }),
            (Numbers{1, 0, 0}));
  EXPECT_EQ(
      grad_of(make({1, 3, 2, 5}, {4}), [](const Tensor& t) { return std::get<0>(t.cummax(0)); }),
      (Numbers{1, 5, 0, 4}));
}

TEST(SortOps, MediansAndModes) {
  EXPECT_EQ(make({4, 1, 3, 2}, {4}).median().item<double>(), 2);
  EXPECT_TRUE(std::isnan(make({4, kNan, 3}, {3}).median().item<double>()));
  EXPECT_EQ(make({4, kNan, 3}, {3}).nanmedian().item<double>(), 3);
  EXPECT_TRUE(std::isnan(empty({0}).median().item<double>()));
  auto [values, indices] = make({1, 2, 2, 3, 3, 3, 1, 1}, {2, 4}, kInt).mode(1);
  EXPECT_EQ(numbers(values), (Numbers{2, 1}));
  EXPECT_EQ(numbers(indices), (Numbers{2, 3}));
  EXPECT_EQ(std::get<0>(make({1, 2, 3, 4}, {2, 2}).median(0, true)).sizes(), (IntArrayRef{1, 2}));
}

TEST(SortOps, Quantiles) {
  const Tensor x = make({4, 1, 3, 2, 8, 6, 7, 5}, {2, 4});
  EXPECT_EQ(x.quantile(0.5).item<double>(), 4.5);
  EXPECT_EQ(numbers(x.quantile(0.5, 1)), (Numbers{2.5, 6.5}));
  EXPECT_EQ(numbers(x.quantile(make({0, 0.25, 1}, {3}), 1)), (Numbers{1, 5, 1.75, 5.75, 4, 8}));
  EXPECT_EQ(x.quantile(make({0, 1}, {2}), 1, true).sizes(), (IntArrayRef{2, 2, 1}));
  EXPECT_EQ(x.quantile(make({0, 1}, {2}), {}, true).sizes(), (IntArrayRef{2, 1, 1}));
  EXPECT_EQ(x.quantile(0.5, 0, true).sizes(), (IntArrayRef{1, 4}));
  EXPECT_EQ(x.quantile(0.4, 1, false, "lower")[0].item<double>(), 2);
  EXPECT_EQ(x.quantile(0.4, 1, false, "higher")[0].item<double>(), 3);
  EXPECT_EQ(x.quantile(0.4, 1, false, "nearest")[0].item<double>(), 2);
  EXPECT_EQ(x.quantile(0.4, 1, false, "midpoint")[0].item<double>(), 2.5);
  const Tensor holes = make({1, kNan, 3, 2}, {4});
  EXPECT_TRUE(std::isnan(holes.quantile(0.5).item<double>()));
  EXPECT_EQ(holes.nanquantile(0.5).item<double>(), 2);
  EXPECT_NE(error_of([&] { x.quantile(1.5); }).find("quantile: q must be in the range [0, 1]"),
            std::string::npos);
}

TEST(SortOps, Unique) {
  const Tensor x = make({3, 1, 3, 2}, {2, 2}, kInt);
  auto [values, inverse, counts] = _unique2(x, true, true, true);
  EXPECT_EQ(numbers(values), (Numbers{1, 2, 3}));
  EXPECT_EQ(values.dtype(), kInt);
  EXPECT_EQ(numbers(inverse), (Numbers{2, 0, 2, 1}));
  EXPECT_EQ(inverse.sizes(), x.sizes());
  EXPECT_EQ(numbers(counts), (Numbers{1, 1, 2}));
  EXPECT_EQ(std::get<1>(_unique2(x)).numel(), 0);
  auto [rows, row_inverse, row_counts] =
      unique_dim(make({1, 2, 0, 1, 1, 2}, {3, 2}), 0, true, true, true);
  EXPECT_EQ(numbers(rows), (Numbers{0, 1, 1, 2}));
  EXPECT_EQ(numbers(row_inverse), (Numbers{1, 0, 1}));
  auto [runs, run_inverse, run_counts] = unique_consecutive(make({1, 1, 2, 1}, {4}), true, true);
  EXPECT_EQ(numbers(runs), (Numbers{1, 2, 1}));
  EXPECT_EQ(numbers(run_counts), (Numbers{2, 1, 1}));
}

TEST(SortOps, SearchesAndCounts) {
  const Tensor edges = make({1, 3, 5}, {3});
  EXPECT_EQ(numbers(searchsorted(edges, make({3, 0, 9}, {3}))), (Numbers{1, 0, 3}));
  EXPECT_EQ(numbers(searchsorted(edges, make({3}, {1}), true, true)), (Numbers{2}));
  EXPECT_EQ(searchsorted(edges, make({3}, {1}), true).dtype(), kInt);
  EXPECT_EQ(searchsorted(edges, 3, false, false, "right").item<int64_t>(), 2);
  EXPECT_EQ(numbers(bucketize(make({2, 4}, {2}), edges)), (Numbers{1, 2}));
  EXPECT_EQ(numbers(make({0, 1, 2, 3}, {4}).histc(2)), (Numbers{2, 2}));
  EXPECT_EQ(numbers(make({1, 1, 3}, {3}, kLong).bincount()), (Numbers{0, 2, 0, 1}));
  EXPECT_EQ(numbers(make({1, 0}, {2}, kInt).bincount(make({0.5, 2}, {2}), 3)),
            (Numbers{2, 0.5, 0}));
  EXPECT_NE(error_of([] { make({-1}, {1}, kLong).bincount(); }).find("bincount: only supports"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              searchsorted(edges, edges, false, false, "up");
            }).find("searchsorted: side can only be"),
            std::string::npos);
}

TEST(SortOps, Errors) {
  const Tensor x = make({1, 2, 3}, {3});
  EXPECT_NE(error_of([&] { x.topk(4); }).find("topk: selected index k = 4 is out of range"),
            std::string::npos);
  EXPECT_NE(error_of([&] { x.kthvalue(0); }).find("kthvalue: selected number k = 0"),
            std::string::npos);
  EXPECT_NE(error_of([&] { x.kthvalue(4); }).find("kthvalue: selected number k = 4"),
            std::string::npos);
  EXPECT_NE(error_of([&] { x.sort(1); }).find("sort: Dimension out of range"), std::string::npos);
}

TEST(StatisticsOps, DifferencesAndIntegrals) {
  const Tensor x = make({1, 4, 9, 16}, {4});
  EXPECT_EQ(numbers(x.diff()), (Numbers{3, 5, 7}));
  EXPECT_EQ(numbers(x.diff(2)), (Numbers{2, 2}));
  EXPECT_EQ(numbers(x.diff(1, 0, make({0}, {1}))), (Numbers{1, 3, 5, 7}));
  EXPECT_EQ(trapezoid(x).item<double>(), 21.5);
  EXPECT_EQ(trapezoid(x, make({0, 1, 3, 4}, {4})).item<double>(), 2.5 + 13 + 12.5);
  EXPECT_EQ(numbers(cumulative_trapezoid(x)), (Numbers{2.5, 9, 21.5}));
  EXPECT_EQ(dist(x, x - 2, 1).item<double>(), 8);
  EXPECT_EQ(numbers(cdist(make({0, 0, 3, 4}, {2, 2}), make({0, 0}, {1, 2}))), (Numbers{0, 5}));
}

TEST(StatisticsOps, Covariance) {
  const Tensor x = make({0, 1, 2, 2, 1, 0}, {2, 3});
  EXPECT_EQ(numbers(x.cov()), (Numbers{1, -1, -1, 1}));
  EXPECT_EQ(numbers(x.corrcoef()), (Numbers{1, -1, -1, 1}));
  EXPECT_DOUBLE_EQ(numbers(x.cov(0))[0], 2.0 / 3);
  EXPECT_EQ(make({1, 3}, {2}).cov().item<double>(), 2);
  // Counting an observation twice is the same as having it twice.
  const Numbers twice = numbers(make({0, 1, 2, 2, 2, 1, 0, 0}, {2, 4}).cov());
  const Numbers counted = numbers(x.cov(1, make({1, 1, 2}, {3}, kLong)));
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(counted[i], twice[i], 1e-14);
}

TEST(CreationOps, Sequences) {
  EXPECT_EQ(arange(5).dtype(), kLong);
  EXPECT_EQ(numbers(arange(1, 2, 0.25)), (Numbers{1, 1.25, 1.5, 1.75}));
  EXPECT_EQ(arange(1.0).dtype(), kFloat);
  EXPECT_EQ(numbers(arange(5, 0, -2)), (Numbers{5, 3, 1}));
  EXPECT_EQ(numbers(range(0, 2)), (Numbers{0, 1, 2}));
  EXPECT_EQ(numbers(linspace(0, 1, 5)), (Numbers{0, 0.25, 0.5, 0.75, 1}));
  EXPECT_EQ(numbers(linspace(3, 4, 1)), (Numbers{3}));
  EXPECT_EQ(numbers(logspace(0, 2, 3, 10, kDouble)), (Numbers{1, 10, 100}));
  EXPECT_EQ(numbers(eye(2, 3)), (Numbers{1, 0, 0, 0, 1, 0}));
  EXPECT_EQ(numbers(tril_indices(2, 2)), (Numbers{0, 1, 1, 0, 0, 1}));
  EXPECT_EQ(numbers(triu_indices(2, 2, 1)), (Numbers{0, 1}));
  EXPECT_NE(error_of([] { arange(0, 5, 0); }).find("arange: step must be nonzero"),
            std::string::npos);
  EXPECT_NE(error_of([] { arange(5, 0); }).find("inconsistent with step sign"), std::string::npos);
  EXPECT_NE(error_of([] { linspace(0, 1, -1); }).find("linspace: number of steps"),
            std::string::npos);
  const Tensor s = empty_strided({2, 3}, {1, 2});
  EXPECT_EQ(s.strides(), (IntArrayRef{1, 2}));
}

TEST(CreationOps, Combinations) {
  const auto grids = meshgrid({make({1, 2}, {2}), make({3, 4, 5}, {3})});
  EXPECT_EQ(grids[0].sizes(), (IntArrayRef{2, 3}));
  EXPECT_EQ(numbers(grids[1]), (Numbers{3, 4, 5, 3, 4, 5}));
  EXPECT_EQ(meshgrid({make({1, 2}, {2}), make({3, 4, 5}, {3})}, "xy")[0].sizes(),
            (IntArrayRef{3, 2}));
  EXPECT_EQ(numbers(vander(make({2, 3}, {2}), 3)), (Numbers{4, 2, 1, 9, 3, 1}));
  EXPECT_EQ(numbers(cartesian_prod({make({1, 2}, {2}), make({3, 4}, {2})})),
            (Numbers{1, 3, 1, 4, 2, 3, 2, 4}));
  EXPECT_EQ(numbers(combinations(make({1, 2, 3}, {3}))), (Numbers{1, 2, 1, 3, 2, 3}));
  EXPECT_EQ(numbers(combinations(make({1, 2}, {2}), 2, true)), (Numbers{1, 1, 1, 2, 2, 2}));
  EXPECT_EQ(numbers(one_hot(make({1, 0}, {2}, kLong))), (Numbers{0, 1, 1, 0}));
  EXPECT_EQ(one_hot(make({1, 0}, {2}, kLong), 4).sizes(), (IntArrayRef{2, 4}));
}

TEST(CreationOps, OneHotOfAGivenNumberOfClasses) {
  const auto three = [](const Tensor& y) { return one_hot(y, 3); };
  const Tensor y = make({2, 0, 1, 1}, {2, 2}, kLong);
  const auto compiled = compile(three);
  EXPECT_TRUE(compiled(y).equal(three(y)));
  EXPECT_TRUE(compiled(y.t()).equal(three(y.t())));
  EXPECT_TRUE(vmap(three)(y).equal(three(y)));
  EXPECT_EQ(three(empty({0}, kLong)).sizes(), (IntArrayRef{0, 3}));
  // Classes that are not there are found when it runs.
  const Tensor large = make({0, 3}, {2}, kLong), negative = make({0, -1}, {2}, kLong);
  EXPECT_NE(error_of([&] { three(large); }).find("Class values must be smaller than num_classes"),
            std::string::npos);
  EXPECT_NE(error_of([&] { three(negative); }).find("Class values must be non-negative."),
            std::string::npos);
  EXPECT_NE(error_of([&] { one_hot(negative); }).find("Class values must be non-negative."),
            std::string::npos);
  EXPECT_NE(
      error_of([&] { compiled(large); }).find("Class values must be smaller than num_classes"),
      std::string::npos);
  EXPECT_NE(error_of([&] { compiled(negative); }).find("Class values must be non-negative."),
            std::string::npos);
}

}  // namespace
}  // namespace tandem
