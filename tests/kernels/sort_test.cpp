#include "tandem/kernels/sort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "tests/kernels/block.h"

namespace tandem {
namespace {

using kernels::RankFn;
using test::Block;
using test::kAllDTypes;
using test::kLayouts;
using test::Layout;
using test::Stream;
using Numbers = std::vector<double>;

const double kNan = std::nan("");

bool less(double a, double b) { return a < b || (b != b && a == a); }

// Element numbers of the l-th line along dim.
std::vector<int64_t> line(const std::vector<int64_t>& sizes, size_t dim, int64_t l) {
  int64_t inner = 1;
  for (size_t d = dim + 1; d < sizes.size(); ++d) inner *= sizes[d];
  std::vector<int64_t> numbers;
  for (int64_t k = 0; k < sizes[dim]; ++k)
    numbers.push_back((l / inner * sizes[dim] + k) * inner + l % inner);
  return numbers;
}

Block make(const std::vector<int64_t>& sizes, DType dtype, Layout layout, double range) {
  auto random = std::make_shared<Stream>(5);
  return Block(sizes, dtype, layout, [=](int64_t) {
    const double x = random->next();
    if (is_floating(dtype) && x < 0.02) return kNan;
    const double v = std::floor(x * range);
    return dtype == kByte || dtype == kBool ? v : v - std::floor(range / 3);
  });
}

TEST(Sort, StableForEveryDTypeAndLayout) {
  const std::vector<int64_t> shapes[] = {{1}, {9}, {1000}, {7, 20}, {20, 7}, {3, 300, 2}};
  for (DType dtype : kAllDTypes)
    for (Layout layout : kLayouts)
      for (const auto& sizes : shapes)
        for (size_t dim = 0; dim < sizes.size(); ++dim)
          for (bool descending : {false, true}) {
            Block in = make(sizes, dtype, layout, 50);
            Block values(sizes, dtype, layout), indices(sizes, kLong);
            const Array v = values.array(), ix = indices.array();
            kernels::sort(in.array(), static_cast<int64_t>(dim), descending, &v, &ix);
            for (int64_t l = 0; l < in.numel() / sizes[dim]; ++l) {
              const auto numbers = line(sizes, dim, l);
              std::vector<int64_t> order(numbers.size());
              std::iota(order.begin(), order.end(), 0);
              std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
                const double x = in.get(numbers[static_cast<size_t>(a)]);
                const double y = in.get(numbers[static_cast<size_t>(b)]);
                return descending ? less(y, x) : less(x, y);
              });
              for (size_t k = 0; k < order.size(); ++k) {
                ASSERT_EQ(indices.get_int(numbers[k]), order[k])
                    << name_of(dtype) << ArrayRef<int64_t>(sizes) << " dim " << dim;
                const double want = in.get(numbers[static_cast<size_t>(order[k])]);
                const double got = values.get(numbers[k]);
                ASSERT_TRUE(got == want || (got != got && want != want));
              }
            }
          }
}

TEST(Sort, ExtremeIntegersAndSignedZeros) {
  Block in({4}, kLong, {0, -9e18, 9e18, -1}), values({4}, kLong);
  const Array v = values.array();
  kernels::sort(in.array(), 0, false, &v, nullptr);
  EXPECT_EQ(values.values(), (Numbers{-9e18, -1, 0, 9e18}));
  Block zeros({3}, kFloat, {0.0, -0.0, 0.0}), indices({3}, kLong);
  const Array ix = indices.array();
  kernels::sort(zeros.array(), 0, false, nullptr, &ix);
  EXPECT_EQ(indices.values(), (Numbers{0, 1, 2}));
}

TEST(Sort, TopkIsTheHeadOfSort) {
  for (DType dtype : {kFloat, kDouble, kLong, kByte, kHalf})
    for (bool largest : {true, false})
      for (int64_t k : {0, 1, 5, 19, 20}) {
        Block in = make({6, 20}, dtype, Layout::Contiguous, 10);
        Block sorted({6, 20}, dtype), order({6, 20}, kLong), values({6, k}, dtype),
            indices({6, k}, kLong);
        const Array sv = sorted.array(), si = order.array(), v = values.array(),
                    ix = indices.array();
        kernels::sort(in.array(), 1, largest, &sv, &si);
        kernels::topk(in.array(), 1, k, largest, &v, &ix);
        for (int64_t r = 0; r < 6; ++r)
          for (int64_t i = 0; i < k; ++i)
            ASSERT_EQ(indices.get_int(r * k + i), order.get_int(r * 20 + i));
      }
}

TEST(Sort, RankFunctions) {
  Block in({2, 5}, kFloat, {5, 1, 3, 3, 2, kNan, 4, kNan, 1, 2});
  Block values({2, 1}, kFloat), indices({2, 1}, kLong);
  const Array v = values.array(), ix = indices.array();
  kernels::rank(RankFn::Kth, in.array(), 1, 0, &v, &ix);
  EXPECT_EQ(values.values(), (Numbers{1, 1}));
  EXPECT_EQ(indices.values(), (Numbers{1, 3}));
  kernels::rank(RankFn::Median, in.array(), 1, 0, &v, &ix);
  EXPECT_EQ(values.get(0), 3);
  EXPECT_TRUE(std::isnan(values.get(1)));
  EXPECT_EQ(indices.get_int(1), 0);
  kernels::rank(RankFn::NanMedian, in.array(), 1, 0, &v, &ix);
  EXPECT_EQ(values.values(), (Numbers{3, 2}));
  kernels::rank(RankFn::Mode, in.array(), 1, 0, &v, &ix);
  EXPECT_EQ(values.get(0), 3);
  EXPECT_EQ(indices.get_int(0), 3);
  Block even({4}, kInt, {4, 1, 3, 2}), one({1}, kInt);
  const Array o = one.array();
  kernels::rank(RankFn::Median, even.array(), 0, 0, &o, nullptr);
  EXPECT_EQ(one.get(0), 2);
}

TEST(Sort, Unique) {
  for (DType dtype : {kFloat, kDouble, kInt, kLong, kByte, kHalf})
    for (Layout layout : kLayouts) {
      Stream random(9);
      Block in({7, 30}, dtype, layout, [&](int64_t) { return std::floor(random.next() * 12); });
      const kernels::Unique u = kernels::unique(in.array());
      std::map<double, int64_t> counts;
      for (double x : in.values()) ++counts[x];
      ASSERT_EQ(u.first.size(), counts.size());
      size_t i = 0;
      for (const auto& [value, count] : counts) {
        EXPECT_EQ(in.get(u.first[i]), value);
        EXPECT_EQ(u.counts[i], count);
        ++i;
      }
      for (int64_t k = 0; k < in.numel(); ++k)
        ASSERT_EQ(in.get(u.first[static_cast<size_t>(u.inverse[static_cast<size_t>(k)])]),
                  in.get(k));
    }
  Block nans({3}, kFloat, {kNan, 1, kNan});
  EXPECT_EQ(kernels::unique(nans.array()).first.size(), 3u);
  EXPECT_TRUE(kernels::unique(Block({0}, kFloat).array()).first.empty());
}

TEST(Sort, UniqueConsecutiveAndSlices) {
  Block in({6}, kInt, {1, 1, 2, 2, 2, 1});
  const auto runs = kernels::unique_consecutive(in.array());
  EXPECT_EQ(runs.first, (std::vector<int64_t>{0, 2, 5}));
  EXPECT_EQ(runs.counts, (std::vector<int64_t>{2, 3, 1}));
  EXPECT_EQ(runs.inverse, (std::vector<int64_t>{0, 0, 1, 1, 1, 2}));
  Block rows({4, 2}, kFloat, {3, 1, 1, 2, 3, 1, 1, 1});
  const auto u = kernels::unique_slices(rows.array(), 0, false);
  EXPECT_EQ(u.first, (std::vector<int64_t>{3, 1, 0}));
  EXPECT_EQ(u.inverse, (std::vector<int64_t>{2, 1, 2, 0}));
  EXPECT_EQ(u.counts, (std::vector<int64_t>{1, 1, 2}));
  Block columns({2, 3}, kFloat, {1, 1, 2, 5, 5, 5});
  const auto c = kernels::unique_slices(columns.array(), 1, true);
  EXPECT_EQ(c.first, (std::vector<int64_t>{0, 2}));
}

TEST(Sort, SearchSorted) {
  Block sorted({4}, kFloat, {1, 3, 3, 5}), values({2, 3}, kFloat, {0, 3, 6, 5, 2, kNan});
  Block out({2, 3}, kLong);
  kernels::search_sorted(sorted.array(), values.array(), false, nullptr, out.array());
  EXPECT_EQ(out.values(), (Numbers{0, 1, 4, 3, 1, 4}));
  kernels::search_sorted(sorted.array(), values.array(), true, nullptr, out.array());
  EXPECT_EQ(out.values(), (Numbers{0, 3, 4, 4, 1, 4}));
  Block rows({2, 3}, kLong, {1, 2, 3, 10, 20, 30}), ints({2, 2}, kLong, {2, 9, 2, 25});
  Block narrow({2, 2}, kInt);
  kernels::search_sorted(rows.array(), ints.array(), false, nullptr, narrow.array());
  EXPECT_EQ(narrow.values(), (Numbers{1, 3, 0, 2}));
  Block unsorted({3}, kFloat, {5, 1, 3}), sorter({3}, kLong, {1, 2, 0}), one({1}, kFloat, {4});
  Block where({1}, kLong);
  const Array order = sorter.array();
  kernels::search_sorted(unsorted.array(), one.array(), false, &order, where.array());
  EXPECT_EQ(where.get(0), 2);
  Block bad({3}, kLong, {1, 2, 3});
  const Array wrong = bad.array();
  EXPECT_THROW(kernels::search_sorted(unsorted.array(), one.array(), false, &wrong, where.array()),
               IndexError);
}

TEST(Sort, HistogramAndBincount) {
  Block in({6}, kFloat, {0, 1, 2, 3, 3.5, kNan}), out({4}, kFloat);
  kernels::histogram(in.array(), 0, 3, out.array());
  EXPECT_EQ(out.values(), (Numbers{1, 1, 1, 1}));
  Block ints({5}, kInt, {1, 3, 1, 0, 1}), counts({5}, kLong);
  kernels::bincount(ints.array(), nullptr, counts.array());
  EXPECT_EQ(counts.values(), (Numbers{1, 3, 0, 1, 0}));
  Block weights({5}, kFloat, {0.5, 1, 2, 3, 0.25}), sums({4}, kFloat);
  const Array w = weights.array();
  kernels::bincount(ints.array(), &w, sums.array());
  EXPECT_EQ(sums.values(), (Numbers{3, 2.75, 0, 1}));
}

}  // namespace
}  // namespace tandem
