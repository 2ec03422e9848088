#include "tandem/kernels/scan.h"

#include <gtest/gtest.h>

#include "tandem/base/parallel.h"
#include "tests/kernels/block.h"

namespace tandem {
namespace {

using kernels::ScanFn;
using test::Block;
using test::kAllDTypes;
using test::kLayouts;
using test::Layout;
using test::Stream;

// Element numbers of the line along dim that number i lies on, up to and including i.
std::vector<int64_t> before(const std::vector<int64_t>& sizes, size_t dim, int64_t i) {
  int64_t step = 1;
  for (size_t d = dim + 1; d < sizes.size(); ++d) step *= sizes[d];
  const int64_t at = i / step % sizes[dim];
  std::vector<int64_t> line;
  for (int64_t k = 0; k <= at; ++k) line.push_back(i + (k - at) * step);
  return line;
}

TEST(Scan, AgreesWithReference) {
  const std::vector<int64_t> shapes[] = {{1}, {7}, {300}, {4, 5}, {3, 300}, {300, 3}, {3, 40, 5}};
  for (DType dtype : kAllDTypes)
    for (Layout layout : kLayouts)
      for (const auto& sizes : shapes)
        for (size_t dim = 0; dim < sizes.size(); ++dim) {
          Stream random(2);
          Block in(sizes, dtype, layout, [&](int64_t) {
            const double x = random.next();
            return is_floating(dtype) ? 0.95 + x / 10 : std::floor(x * 3);
          });
          const DType wide = is_floating(dtype) ? dtype : kLong;
          Block sum(sizes, wide, layout), prod(sizes, wide);
          kernels::scan(ScanFn::Sum, in.array(), static_cast<int64_t>(dim), sum.array());
          kernels::scan(ScanFn::Prod, in.array(), static_cast<int64_t>(dim), prod.array());
          Block top(sizes, dtype), low(sizes, dtype, layout), where(sizes, kLong, layout);
          const Array ix = where.array();
          kernels::scan(ScanFn::Max, in.array(), static_cast<int64_t>(dim), top.array(), &ix);
          kernels::scan(ScanFn::Min, in.array(), static_cast<int64_t>(dim), low.array());
          const double tol = dtype == kDouble  ? 1e-12
                             : dtype == kFloat ? 1e-6
                             : dtype == kHalf  ? 1e-3
                                               : 1e-2;
          for (int64_t i = 0; i < in.numel(); ++i) {
            double s = 0, p = 1, t = -1e9, l = 1e9;
            size_t w = 0;
            const auto line = before(sizes, dim, i);
            for (size_t k = 0; k < line.size(); ++k) {
              const double x = in.get(line[k]);
              s += x;
              p *= x;
              if (x >= t) w = k;
              t = std::max(t, x);
              l = std::min(l, x);
            }
            ASSERT_NEAR(sum.get(i), s, tol * std::max(1.0, s)) << name_of(dtype);
            ASSERT_NEAR(prod.get(i), p, tol * std::max(1.0, p)) << name_of(dtype);
            ASSERT_EQ(top.get(i), t);
            ASSERT_EQ(low.get(i), l);
            ASSERT_EQ(where.get_int(i), static_cast<int64_t>(w));
          }
        }
}

TEST(Scan, NanStaysFromWhereItStands) {
  const double nan = std::nan("");
  Block in({4}, kFloat, {1, nan, 5, nan}), out({4}, kFloat), where({4}, kLong);
  const Array ix = where.array();
  kernels::scan(ScanFn::Max, in.array(), 0, out.array(), &ix);
  EXPECT_EQ(out.get(0), 1);
  EXPECT_TRUE(std::isnan(out.get(2)));
  EXPECT_EQ(where.get_int(2), 1);
  EXPECT_EQ(where.get_int(3), 3);
}

TEST(Scan, LogSumExp) {
  const double inf = std::numeric_limits<double>::infinity();
  Block in({5}, kDouble, {-inf, 1000, 1000, -5, inf}), out({5}, kDouble);
  kernels::scan(ScanFn::LogSumExp, in.array(), 0, out.array());
  EXPECT_EQ(out.get(0), -inf);
  EXPECT_EQ(out.get(1), 1000);
  EXPECT_NEAR(out.get(2), 1000 + std::log(2.0), 1e-12);
  EXPECT_EQ(out.get(4), inf);
}

TEST(Scan, InPlaceEmptyAndZeroDimensional) {
  Block a({2, 3}, kInt, {1, 2, 3, 4, 5, 6});
  kernels::scan(ScanFn::Sum, a.array(), 1, a.array());
  EXPECT_EQ(a.values(), (std::vector<double>{1, 3, 6, 4, 9, 15}));
  Block none({2, 0}, kFloat);
  kernels::scan(ScanFn::Sum, none.array(), 1, none.array());
  Block one({}, kFloat, {3}), result({}, kFloat), where({}, kLong, {9});
  const Array ix = where.array();
  kernels::scan(ScanFn::Max, one.array(), 0, result.array(), &ix);
  EXPECT_EQ(result.get(0), 3);
  EXPECT_EQ(where.get_int(0), 0);
}

TEST(Scan, FromTheEnd) {
  for (Layout layout : kLayouts)
    for (size_t dim : {size_t{0}, size_t{1}}) {
      const std::vector<int64_t> sizes = {300, 7};
      Block in(sizes, kDouble, layout, [](int64_t i) { return static_cast<double>(i % 11); });
      Block sum(sizes, kDouble, layout);
      const int64_t d = static_cast<int64_t>(dim);
      kernels::scan(ScanFn::Sum, in.array(), d, sum.array(), nullptr, true);
      const int64_t step = dim == 0 ? 7 : 1;
      for (int64_t i = in.numel(); i-- > 0;) {
        const bool last = i / step % sizes[dim] == sizes[dim] - 1;
        ASSERT_EQ(sum.get(i), in.get(i) + (last ? 0 : sum.get(i + step)));
      }
    }
}

TEST(Scan, Recurrence) {
  for (Layout layout : kLayouts)
    for (size_t dim : {size_t{0}, size_t{1}})
      for (bool reverse : {false, true}) {
        const std::vector<int64_t> sizes = {300, 7};
        Block a(sizes, kDouble, layout, [](int64_t i) { return static_cast<double>(i % 3) / 2; });
        Block b(sizes, kDouble, Layout::Contiguous,
                [](int64_t i) { return static_cast<double>(i % 5); });
        Block out(sizes, kDouble, layout);
        kernels::recurrence(a.array(), b.array(), static_cast<int64_t>(dim), reverse, out.array());
        const int64_t step = dim == 0 ? 7 : 1, n = sizes[dim];
        for (int64_t i = 0; i < a.numel(); ++i) {
          const int64_t at = i / step % n;
          const bool first = at == (reverse ? n - 1 : 0);
          const double before = first ? 0 : out.get(reverse ? i + step : i - step);
          ASSERT_EQ(out.get(i), b.get(i) + a.get(i) * before);
        }
      }
}

TEST(Scan, ThreadsDoNotChangeABit) {
  Block in({200, 300}, kFloat, Layout::Contiguous,
           [](int64_t i) { return std::sin(static_cast<double>(i)); });
  for (int64_t dim : {0, 1}) {
    Block one({200, 300}, kFloat), two({200, 300}, kFloat);
    set_num_threads(1);
    kernels::scan(ScanFn::Sum, in.array(), dim, one.array());
    set_num_threads(2);
    kernels::scan(ScanFn::Sum, in.array(), dim, two.array());
    EXPECT_TRUE(one.same_bits(two));
  }
}

}  // namespace
}  // namespace tandem
