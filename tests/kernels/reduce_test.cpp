#include "tandem/kernels/reduce.h"

#include <gtest/gtest.h>

#include <limits>

#include "tandem/base/parallel.h"
#include "tandem/kernels/reduce_rows.h"
#include "tests/kernels/block.h"

namespace tandem {
namespace {

using kernels::ReduceFn;
using test::Block;
using test::kAllDTypes;
using test::kLayouts;
using test::Layout;
using test::Stream;

const double kNan = std::nan("");
const double kInf = std::numeric_limits<double>::infinity();

struct Case {
  std::vector<int64_t> sizes;
  unsigned mask;  // bit d: dimension d is reduced
};
const Case kCases[] = {
    {{}, 0},           {{1}, 1},          {{4}, 1},           {{5}, 0},
    {{33}, 1},         {{5000}, 1},       {{9000}, 1},        {{7, 5}, 1},
    {{7, 5}, 2},       {{7, 5}, 3},       {{200, 3}, 1},      {{131, 40}, 1},
    {{40, 131}, 2},    {{3, 5000}, 2},    {{70, 600}, 1},     {{3, 4, 5}, 2},
    {{3, 4, 5}, 5},    {{3, 70, 5}, 2},   {{9, 4, 33}, 5},    {{6, 3, 7, 5}, 0b1010},
    {{6, 3, 7, 5}, 5}, {{2, 1, 9, 1}, 4}, {{2, 1, 9, 1}, 10}, {{20, 300, 2}, 1},
    {{513, 1, 2}, 1},
};

std::vector<int64_t> reduced_sizes(const Case& c) {
  std::vector<int64_t> out = c.sizes;
  for (size_t d = 0; d < out.size(); ++d)
    if (c.mask >> d & 1) out[d] = 1;
  return out;
}

// The values that fall on each output, in logical order.
std::vector<std::vector<double>> groups(const Block& in, const Case& c) {
  std::vector<int64_t> out = reduced_sizes(c);
  int64_t n = 1;
  for (int64_t s : out) n *= s;
  std::vector<std::vector<double>> g(static_cast<size_t>(n));
  for (int64_t i = 0; i < in.numel(); ++i) {
    int64_t rest = i, to = 0, step = 1;
    for (size_t d = out.size(); d-- > 0;) {
      const int64_t at = rest % c.sizes[d];
      rest /= c.sizes[d];
      if (!(c.mask >> d & 1)) to += at * step;
      step *= out[d];
    }
    g[static_cast<size_t>(to)].push_back(in.get(i));
  }
  return g;
}

struct Mask {
  explicit Mask(unsigned bits) {
    for (unsigned d = 0; d < 8; ++d) on[d] = bits >> d & 1;
  }
  bool on[8];
};

double reference_of(ReduceFn fn, const std::vector<double>& v, double p) {
  double sum = 0, prod = 1, top = -kInf, low = kInf, count = 0, nansum = 0, power = 0, amax = 0;
  for (double x : v) {
    sum += x;
    prod *= x;
    top = x > top || x != x ? x : top;
    low = x < low || x != x ? x : low;
    count += x != 0;
    nansum += x == x ? x : 0;
    power += std::pow(std::abs(x), p);
    amax = std::max(amax, std::abs(x));
  }
  switch (fn) {
    case ReduceFn::Sum:
      return sum;
    case ReduceFn::Mean:
      return sum / static_cast<double>(v.size());
    case ReduceFn::Prod:
      return prod;
    case ReduceFn::Max:
      return top;
    case ReduceFn::Min:
      return low;
    case ReduceFn::Any:
      return count > 0;
    case ReduceFn::All:
      return count == static_cast<double>(v.size());
    case ReduceFn::CountNonzero:
      return count;
    case ReduceFn::NanSum:
      return nansum;
    case ReduceFn::Norm:
      if (p == 0) return count;
      return p == kInf ? amax : std::pow(power, 1 / p);
    case ReduceFn::SumPowers:
      return p == 0 ? count : power;
  }
  return 0;
}

DType result_dtype(ReduceFn fn, DType in) {
  switch (fn) {
    case ReduceFn::Any:
    case ReduceFn::All:
      return kBool;
    case ReduceFn::CountNonzero:
      return kLong;
    case ReduceFn::Sum:
    case ReduceFn::Prod:
      return is_floating(in) ? in : kLong;
    default:
      return in;
  }
}

double tolerance_of(DType t) {
  switch (t) {
    case kHalf:
      return 2e-3;
    case kBFloat16:
      return 1e-2;
    case kFloat:
      return 2e-6;
    case kDouble:
      return 1e-14;
    default:
      return 0;
  }
}

TEST(Reduce, AgreesWithReferenceForEveryDTypeLayoutAndShape) {
  for (DType dtype : kAllDTypes)
    for (Layout layout : kLayouts)
      for (const Case& c : kCases) {
        Stream random(7);
        Block in(c.sizes, dtype, layout, [&](int64_t) {
          const double x = random.next();
          return is_floating(dtype) ? x * 2 - 0.5 : std::floor(x * 4) - (dtype == kByte ? 0 : 1);
        });
        const auto g = groups(in, c);
        for (ReduceFn fn : {ReduceFn::Sum, ReduceFn::Mean, ReduceFn::Max, ReduceFn::Min,
                            ReduceFn::Any, ReduceFn::All, ReduceFn::CountNonzero}) {
          if (fn == ReduceFn::Mean && !is_floating(dtype)) continue;
          Block out(reduced_sizes(c), result_dtype(fn, dtype), layout);
          kernels::reduce(fn, in.array(), Mask(c.mask).on, out.array());
          for (int64_t i = 0; i < out.numel(); ++i) {
            const auto& v = g[static_cast<size_t>(i)];
            double scale = 1;
            if (fn == ReduceFn::Sum) scale = std::max<double>(1, static_cast<double>(v.size()));
            ASSERT_NEAR(out.get(i), reference_of(fn, v, 2), tolerance_of(dtype) * scale)
                << name_of(dtype) << " fn " << int(fn) << " mask " << c.mask << " of "
                << ArrayRef<int64_t>(c.sizes) << " layout " << int(layout) << " at " << i;
          }
        }
      }
}

TEST(Reduce, ProductsAndNorms) {
  for (DType dtype : {kFloat, kDouble, kHalf})
    for (Layout layout : kLayouts)
      for (const Case& c : kCases) {
        Stream random(3);
        Block in(c.sizes, dtype, layout, [&](int64_t) { return 0.98 + random.next() * 0.04; });
        const auto g = groups(in, c);
        for (double p : {0.0, 1.0, 2.0, 3.0, 2.5, kInf})
          for (ReduceFn fn : {ReduceFn::Prod, ReduceFn::Norm, ReduceFn::SumPowers}) {
            if (p == kInf && fn == ReduceFn::SumPowers) continue;
            Block out(reduced_sizes(c), dtype, layout);
            kernels::reduce(fn, in.array(), Mask(c.mask).on, out.array(), p);
            for (int64_t i = 0; i < out.numel(); ++i) {
              const double want = reference_of(fn, g[static_cast<size_t>(i)], p);
              ASSERT_NEAR(out.get(i), want, 8 * tolerance_of(dtype) * std::max(1.0, std::abs(want)))
                  << name_of(dtype) << " fn " << int(fn) << " p " << p << " mask " << c.mask
                  << " of " << ArrayRef<int64_t>(c.sizes) << " layout " << int(layout) << " at "
                  << i;
            }
          }
      }
}

TEST(Reduce, LayoutDoesNotChangeABit) {
  for (DType dtype : {kFloat, kDouble, kBFloat16})
    for (const Case& c : kCases) {
      auto value = [](int64_t i) { return std::sin(static_cast<double>(i)) * 1e3; };
      Block plain(c.sizes, dtype, Layout::Contiguous, value);
      Block want(reduced_sizes(c), dtype);
      for (ReduceFn fn : {ReduceFn::Sum, ReduceFn::Norm}) {
        kernels::reduce(fn, plain.array(), Mask(c.mask).on, want.array());
        for (Layout layout : kLayouts) {
          Block in(c.sizes, dtype, layout, value);
          Block out(reduced_sizes(c), dtype);
          kernels::reduce(fn, in.array(), Mask(c.mask).on, out.array());
          EXPECT_TRUE(out.same_bits(want)) << ArrayRef<int64_t>(c.sizes) << " mask " << c.mask
                                           << " layout " << int(layout) << name_of(dtype);
        }
      }
    }
}

TEST(Reduce, ThreadsDoNotChangeABit) {
  const Case cases[] = {{{3000000}, 1},      {{2, 700000}, 2},  {{700000, 3}, 1},
                        {{3000, 700}, 1},    {{3000, 700}, 2},  {{300, 20, 300}, 5},
                        {{1000, 50, 20}, 2}, {{40, 3, 9000}, 5}};
  for (DType dtype : {kFloat, kDouble})
    for (const Case& c : cases)
      for (Layout layout : {Layout::Contiguous, Layout::Transposed}) {
        Block in(c.sizes, dtype, layout,
                 [](int64_t i) { return static_cast<double>((i * 7919) % 100003) * 1e-2; });
        std::vector<Block> got[2];
        for (int threads : {1, 2}) {
          set_num_threads(threads);
          for (ReduceFn fn : {ReduceFn::Sum, ReduceFn::Prod, ReduceFn::Max}) {
            Block out(reduced_sizes(c), dtype);
            kernels::reduce(fn, in.array(), Mask(c.mask).on, out.array());
            got[threads - 1].push_back(out);
          }
          Block var(reduced_sizes(c), dtype), mean(reduced_sizes(c), dtype);
          const Array v = var.array(), m = mean.array();
          kernels::var_mean(in.array(), Mask(c.mask).on, 1, false, &v, &m);
          got[threads - 1].push_back(var);
          got[threads - 1].push_back(mean);
        }
        for (size_t i = 0; i < got[0].size(); ++i)
          EXPECT_TRUE(got[0][i].same_bits(got[1][i])) << ArrayRef<int64_t>(c.sizes) << " " << i;
      }
  set_num_threads(2);
}

TEST(Reduce, LongSumsStayAccurate) {
  Block in({10000000}, kFloat, Layout::Contiguous, [](int64_t) { return 0.1; });
  Block out({1}, kFloat);
  kernels::reduce(ReduceFn::Sum, in.array(), Mask(1).on, out.array());
  EXPECT_NEAR(out.get(0), static_cast<double>(0.1f) * 1e7, 1.0);
  Block column({4000000, 2}, kFloat, Layout::Contiguous, [](int64_t) { return 0.1; });
  Block sums({1, 2}, kFloat);
  kernels::reduce(ReduceFn::Sum, column.array(), Mask(1).on, sums.array());
  EXPECT_NEAR(sums.get(1), static_cast<double>(0.1f) * 4e6, 0.5);
}

TEST(Reduce, NanAndInfinity) {
  for (int64_t n : {5, 40, 5000}) {
    for (int64_t at : {int64_t{0}, int64_t{3}, n - 1}) {
      Block in({n}, kFloat, Layout::Contiguous,
               [&](int64_t i) { return i == at ? kNan : static_cast<double>(i); });
      Block out({1}, kFloat);
      for (ReduceFn fn : {ReduceFn::Max, ReduceFn::Min, ReduceFn::Sum}) {
        kernels::reduce(fn, in.array(), Mask(1).on, out.array());
        EXPECT_TRUE(std::isnan(out.get(0))) << n << " " << at;
      }
      kernels::reduce(ReduceFn::NanSum, in.array(), Mask(1).on, out.array());
      EXPECT_EQ(out.get(0), static_cast<double>(n * (n - 1) / 2 - at));
    }
  }
  Block in({3}, kFloat, {-kInf, -kInf, -kInf});
  Block out({1}, kFloat);
  kernels::reduce(ReduceFn::Max, in.array(), Mask(1).on, out.array());
  EXPECT_EQ(out.get(0), -kInf);
}

TEST(Reduce, OverNothing) {
  Block in({3, 0, 2}, kFloat);
  auto run = [&](ReduceFn fn, DType t) {
    Block out({3, 1, 2}, t);
    kernels::reduce(fn, in.array(), Mask(2).on, out.array());
    return out.get(5);
  };
  EXPECT_EQ(run(ReduceFn::Sum, kFloat), 0);
  EXPECT_FALSE(std::signbit(run(ReduceFn::Sum, kFloat)));
  EXPECT_EQ(run(ReduceFn::Prod, kFloat), 1);
  EXPECT_TRUE(std::isnan(run(ReduceFn::Mean, kFloat)));
  EXPECT_EQ(run(ReduceFn::Any, kBool), 0);
  EXPECT_EQ(run(ReduceFn::All, kBool), 1);
  Block none({0, 2}, kFloat), empty({0, 1}, kFloat);
  kernels::reduce(ReduceFn::Sum, none.array(), Mask(2).on, empty.array());
}

TEST(Reduce, BroadcastInput) {
  Block in({4, 1}, kFloat, {1, 2, 3, 4});
  in.broadcast(1, 100);
  Block all({1, 1}, kFloat), rows({4, 1}, kFloat), columns({1, 100}, kFloat);
  kernels::reduce(ReduceFn::Sum, in.array(), Mask(3).on, all.array());
  EXPECT_EQ(all.get(0), 1000);
  kernels::reduce(ReduceFn::Sum, in.array(), Mask(2).on, rows.array());
  EXPECT_EQ(rows.values(), (std::vector<double>{100, 200, 300, 400}));
  kernels::reduce(ReduceFn::Sum, in.array(), Mask(1).on, columns.array());
  EXPECT_EQ(columns.get(99), 10);
}

TEST(Reduce, ConvertsBeforeCombining) {
  Block in({3}, kDouble, {0.75, 0.75, 1.75});
  Block ints({1}, kLong);
  kernels::reduce(ReduceFn::Sum, in.array(), Mask(1).on, ints.array());
  EXPECT_EQ(ints.get(0), 1);
  Block bytes({3}, kByte, {200, 200, 200});
  Block wide({1}, kDouble);
  kernels::reduce(ReduceFn::Sum, bytes.array(), Mask(1).on, wide.array());
  EXPECT_EQ(wide.get(0), 600);
  // 0.5 is not zero, though it would truncate to it.
  Block small({2}, kDouble, {0.5, 0.25});
  Block yes({1}, kBool);
  kernels::reduce(ReduceFn::All, small.array(), Mask(1).on, yes.array());
  EXPECT_EQ(yes.get(0), 1);
}

// Rows that are handed over some at a time, the blocks in any order, give the bits of the whole.
template <class T>
void expect_rows_like_the_whole(ReduceFn fn, int64_t rows, int64_t columns) {
  std::vector<T> x(static_cast<size_t>(rows * columns));
  Stream values(static_cast<uint64_t>(rows * 1000 + columns));
  for (T& v : x) v = static_cast<T>(values.next() * 0.1 + (fn == ReduceFn::Prod ? 1 : 0));
  const int64_t in_sizes[] = {rows, columns}, in_strides[] = {columns, 1};
  const int64_t out_sizes[] = {1, columns}, out_strides[] = {columns, 1};
  const bool reduced[] = {true, false};
  std::vector<T> whole(static_cast<size_t>(columns)), parts(whole);
  kernels::reduce(fn, {x.data(), in_sizes, in_strides, rows * columns, 2, dtype_v<T>, true},
                  reduced, {whole.data(), out_sizes, out_strides, columns, 2, dtype_v<T>, true});
  const kernels::RowReduction r(fn, dtype_v<T>, rows, columns);
  std::vector<T> partials(static_cast<size_t>(r.partial_bytes()) / sizeof(T), static_cast<T>(kNan));
  for (int64_t b = r.blocks(); b-- > 0;) {
    const int64_t end = std::min(rows, (b + 1) * r.block_rows());
    for (int64_t from = b * r.block_rows(); from < end; from += r.chunk_rows())
      r.add(partials.data(), from, std::min(end - from, r.chunk_rows()), x.data() + from * columns);
  }
  r.finish(partials.data(), parts.data());
  EXPECT_EQ(std::memcmp(whole.data(), parts.data(), whole.size() * sizeof(T)), 0)
      << rows << " x " << columns << ", function " << static_cast<int>(fn);
}

TEST(RowReduction, GivesTheBitsOfTheWhole) {
  for (ReduceFn fn : {ReduceFn::Sum, ReduceFn::Mean, ReduceFn::Prod, ReduceFn::Max, ReduceFn::Min,
                      ReduceFn::Norm})
    for (int64_t rows : {2, 7, 8, 63, 64, 65, 130, 257, 700, 2049})
      for (int64_t columns : {2, 3, 10, 15, 16, 31, 32, 33, 100, 512}) {
        expect_rows_like_the_whole<float>(fn, rows, columns);
        expect_rows_like_the_whole<double>(fn, rows, columns);
      }
}

TEST(VarMean, AgreesWithReference) {
  for (DType dtype : {kFloat, kDouble, kHalf, kBFloat16})
    for (Layout layout : kLayouts)
      for (const Case& c : kCases) {
        Stream random(5);
        Block in(c.sizes, dtype, layout, [&](int64_t) { return 3 + random.next(); });
        Block var(reduced_sizes(c), dtype, layout), mean(reduced_sizes(c), dtype);
        const Array v = var.array(), m = mean.array();
        for (bool root : {false, true}) {
          kernels::var_mean(in.array(), Mask(c.mask).on, 1, root, &v, &m);
          const auto g = groups(in, c);
          for (int64_t i = 0; i < var.numel(); ++i) {
            const auto& x = g[static_cast<size_t>(i)];
            const double mu = reference_of(ReduceFn::Mean, x, 0);
            double ss = 0;
            for (double y : x) ss += (y - mu) * (y - mu);
            ASSERT_NEAR(mean.get(i), mu, 4 * tolerance_of(dtype));
            if (x.size() == 1) {
              EXPECT_TRUE(std::isnan(var.get(i)));
              continue;
            }
            double want = ss / static_cast<double>(x.size() - 1);
            if (root) want = std::sqrt(want);
            ASSERT_NEAR(var.get(i), want, 2 * tolerance_of(dtype))
                << ArrayRef<int64_t>(c.sizes) << " mask " << c.mask << " layout " << int(layout);
          }
        }
      }
}

TEST(VarMean, LargeOffsetsDoNotCancel) {
  Block in({100000}, kFloat, Layout::Contiguous,
           [](int64_t i) { return 10000.0 + static_cast<double>(i % 2); });
  Block var({1}, kFloat);
  const Array v = var.array();
  kernels::var_mean(in.array(), Mask(1).on, 0, false, &v, nullptr);
  EXPECT_NEAR(var.get(0), 0.25, 1e-4);
}

TEST(ArgReduce, FirstOccurrenceAndNan) {
  for (DType dtype : kAllDTypes)
    for (Layout layout : kLayouts)
      for (bool least : {false, true}) {
        const std::vector<int64_t> sizes = {6, 70, 9};
        for (int64_t dim : {-1, 0, 1, 2}) {
          Stream random(11);
          Block in(sizes, dtype, layout, [&](int64_t) {
            const double x = random.next();
            if (is_floating(dtype) && x < 0.003) return kNan;
            return std::floor(x * 20);
          });
          std::vector<int64_t> out = sizes;
          if (dim >= 0)
            out[static_cast<size_t>(dim)] = 1;
          else
            out = {1, 1, 1};
          Block values(out, dtype, layout), indices(out, kLong);
          const Array v = values.array(), ix = indices.array();
          kernels::arg_reduce(in.array(), dim, least, &v, &ix);
          const Case c = {sizes, dim < 0 ? 7u : 1u << dim};
          const auto g = groups(in, c);
          for (int64_t i = 0; i < values.numel(); ++i) {
            const auto& x = g[static_cast<size_t>(i)];
            size_t best = 0;
            for (size_t k = 1; k < x.size(); ++k)
              if ((least ? x[k] < x[best] : x[k] > x[best]) || (x[k] != x[k] && x[best] == x[best]))
                best = k;
            ASSERT_EQ(indices.get_int(i), static_cast<int64_t>(best))
                << name_of(dtype) << " dim " << dim << " layout " << int(layout);
            if (x[best] == x[best]) {
              ASSERT_EQ(values.get(i), x[best]);
            } else {
              ASSERT_TRUE(std::isnan(values.get(i)));
            }
          }
        }
      }
}

TEST(ArgReduce, LongArraysFindTheFirst) {
  Block in({1000000}, kFloat, Layout::Contiguous,
           [](int64_t i) { return i == 700001 || i == 900000 ? 2.0 : static_cast<double>(i % 2); });
  Block index({1}, kLong);
  const Array ix = index.array();
  kernels::arg_reduce(in.array(), 0, false, nullptr, &ix);
  EXPECT_EQ(index.get_int(0), 700001);
  kernels::arg_reduce(in.array(), -1, true, nullptr, &ix);
  EXPECT_EQ(index.get_int(0), 0);
}

}  // namespace
}  // namespace tandem
