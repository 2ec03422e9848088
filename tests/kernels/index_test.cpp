#include "tandem/kernels/index.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tandem/base/parallel.h"
#include "tests/kernels/block.h"

// Every kernel against loops over plain vectors, for all dtypes and layouts.
namespace tandem::kernels {
namespace {

using test::Block;
using test::kAllDTypes;
using test::kLayouts;
using test::Layout;
using test::Stream;

using Shape = std::vector<int64_t>;

int64_t product(const Shape& s) {
  return std::accumulate(s.begin(), s.end(), int64_t{1}, std::multiplies<>());
}

Shape unravel(int64_t i, const Shape& s) {
  Shape at(s.size());
  for (size_t d = s.size(); d-- > 0;) {
    at[d] = i % s[d];
    i /= s[d];
  }
  return at;
}

int64_t ravel(const Shape& at, const Shape& s) {
  int64_t i = 0;
  for (size_t d = 0; d < s.size(); ++d) i = i * s[d] + at[d];
  return i;
}

Block numbers(const Shape& s, DType t, Layout l, int seed = 1) {
  Stream r(static_cast<uint64_t>(seed));
  return Block(s, t, l, [&](int64_t) { return static_cast<double>(r.below(t == kBool ? 2 : 50)); });
}

Block indices(const Shape& s, int64_t below, Layout l, int seed, bool negative) {
  Stream r(static_cast<uint64_t>(seed));
  return Block(s, kLong, l, [&](int64_t) {
    const int64_t i = r.below(below);
    return static_cast<double>(negative && r.below(2) ? i - below : i);
  });
}

struct IndexCase {
  Shape x;
  Shape dims;
  Shape index;
};

const std::vector<IndexCase> kIndexCases = {
    {{7}, {0}, {5}},
    {{7, 3}, {0}, {5}},
    {{7, 3}, {1}, {5}},
    {{4, 5, 6}, {1}, {3, 2}},
    {{4, 5, 6}, {0, 1}, {8}},
    {{4, 5, 6}, {0, 2}, {2, 3}},
    {{4, 5, 6}, {1, 2}, {4}},
    {{4, 5, 6}, {0, 1, 2}, {9}},
    {{2, 3, 4, 5}, {1, 3}, {6}},
    {{4, 5}, {0}, {0}},
    {{4, 0}, {0}, {3}},
    {{4, 5}, {1}, {}},
    {{3, 40000}, {1}, {70000}},
    {{300, 130}, {0}, {500}},
    {{2, 3, 4, 5}, {1, 2}, {2, 2}},
};

// For each element of the indexed shape: the number of the element of x that it names.
std::vector<int64_t> named(const IndexCase& c, const std::vector<Block>& index) {
  const Dims out = indexed_shape(c.x, c.dims, c.index);
  const Shape shape = out.vec();
  bool adjacent = true;
  for (size_t k = 1; k < c.dims.size(); ++k) adjacent &= c.dims[k] == c.dims[k - 1] + 1;
  const size_t place = adjacent ? static_cast<size_t>(c.dims[0]) : 0;
  std::vector<int64_t> result;
  for (int64_t i = 0; i < product(shape); ++i) {
    const Shape at = unravel(i, shape);
    const Shape b(at.begin() + place, at.begin() + place + c.index.size());
    Shape rest(at.begin(), at.begin() + place);
    rest.insert(rest.end(), at.begin() + place + c.index.size(), at.end());
    Shape x(c.x.size());
    size_t next = 0;
    for (size_t d = 0; d < c.x.size(); ++d) {
      const auto k =
          std::find(c.dims.begin(), c.dims.end(), static_cast<int64_t>(d)) - c.dims.begin();
      if (k == static_cast<int64_t>(c.dims.size())) {
        x[d] = rest[next++];
      } else {
        x[d] = index[static_cast<size_t>(k)].get_int(ravel(b, c.index));
        if (x[d] < 0) x[d] += c.x[d];
      }
    }
    result.push_back(ravel(x, c.x));
  }
  return result;
}

std::vector<Array> arrays_of(const std::vector<Block>& blocks) {
  std::vector<Array> a;
  for (const Block& b : blocks) a.push_back(b.array());
  return a;
}

std::vector<Block> indices_of(const IndexCase& c, Layout l) {
  std::vector<Block> index;
  for (size_t k = 0; k < c.dims.size(); ++k)
    index.push_back(
        indices(c.index, c.x[static_cast<size_t>(c.dims[k])], l, static_cast<int>(k) + 3, true));
  return index;
}

TEST(Index, ReadsWhatLoopsRead) {
  for (const IndexCase& c : kIndexCases)
    for (DType t : {kFloat, kByte, kHalf, kDouble})
      for (Layout l : kLayouts) {
        const Block x = numbers(c.x, t, l);
        const auto index_blocks = indices_of(c, l);
        Block out(indexed_shape(c.x, c.dims, c.index).vec(), t, l);
        index(x.array(), c.dims, arrays_of(index_blocks).data(), out.array());
        const auto want = named(c, index_blocks);
        for (int64_t i = 0; i < out.numel(); ++i)
          ASSERT_EQ(out.get(i), x.get(want[static_cast<size_t>(i)])) << i;
      }
}

TEST(Index, PutsAndAccumulatesInOrder) {
  for (const IndexCase& c : kIndexCases)
    for (DType t : kAllDTypes)
      for (Layout l : kLayouts)
        for (bool accumulate : {false, true}) {
          if (product(c.x) > 1000 && t != kFloat) continue;
          const Block before = numbers(c.x, t, l);
          Block x = before;
          const auto index_blocks = indices_of(c, l);
          const Block src = numbers(indexed_shape(c.x, c.dims, c.index).vec(), t, l, 9);
          index_put(x.array(), c.dims, arrays_of(index_blocks).data(), src.array(), accumulate);
          Block want = before;
          const auto where = named(c, index_blocks);
          for (int64_t i = 0; i < src.numel(); ++i) {
            const int64_t w = where[static_cast<size_t>(i)];
            want.set(w, accumulate ? want.get(w) + src.get(i) : src.get(i));
          }
          ASSERT_EQ(x.values(), want.values());
        }
}

TEST(Index, OneAndTwoThreadsGiveTheSameBits) {
  const IndexCase c = {{300, 130}, {0}, {5000}};
  const auto index_blocks = indices_of(c, Layout::Contiguous);
  Stream r(5);
  const Block src({5000, 130}, kFloat, Layout::Contiguous, [&](int64_t) { return r.next(); });
  std::vector<Block> results;
  for (int threads : {1, 2}) {
    set_num_threads(threads);
    Block x({300, 130}, kFloat, Layout::Contiguous, [](int64_t) { return 0.1; });
    index_put(x.array(), c.dims, arrays_of(index_blocks).data(), src.array(), true);
    results.push_back(x);
  }
  set_num_threads(2);
  EXPECT_TRUE(results[0].same_bits(results[1]));
}

TEST(Index, OutOfBoundsIsAnError) {
  const Block x = numbers({4, 5}, kFloat, Layout::Contiguous);
  Block out({1, 5}, kFloat);
  for (double bad : {4., -5.}) {
    const Block i({1}, kLong, {bad});
    const Array a = i.array();
    EXPECT_THROW(index(x.array(), Shape{0}, &a, out.array()), IndexError);
    EXPECT_THROW(gather_along(x.array(), 0, a, Block({1}, kFloat).array()), IndexError);
  }
}

struct AlongCase {
  Shape x;
  int64_t dim;
  Shape index;
};
const std::vector<AlongCase> kAlongCases = {
    {{5}, 0, {7}},
    {{4, 6}, 0, {3, 6}},
    {{4, 6}, 1, {4, 9}},
    {{4, 6}, 1, {2, 3}},
    {{3, 4, 5}, 1, {3, 2, 4}},
    {{3, 4, 5}, 2, {2, 4, 8}},
    {{3, 4, 5}, 0, {7, 4, 5}},
    {{}, 0, {}},
    {{4, 6}, 1, {0, 3}},
    {{5, 9000}, 0, {20, 9000}},
    {{9000, 5}, 1, {9000, 11}},
    {{2, 3, 4, 5}, 2, {2, 2, 3, 5}},
};

Shape target(const AlongCase& c, const Block& index, int64_t i) {
  Shape at = unravel(i, c.index);
  if (!at.empty()) at[static_cast<size_t>(c.dim)] = index.get_int(i);
  return at;
}

TEST(Gather, ReadsWhatLoopsRead) {
  for (const AlongCase& c : kAlongCases)
    for (DType t : {kFloat, kByte, kBFloat16, kLong})
      for (Layout l : kLayouts) {
        const Block x = numbers(c.x, t, l);
        const Block index =
            indices(c.index, c.x.empty() ? 1 : c.x[static_cast<size_t>(c.dim)], l, 4, false);
        Block out(c.index, t, l);
        gather_along(x.array(), c.dim, index.array(), out.array());
        for (int64_t i = 0; i < out.numel(); ++i)
          ASSERT_EQ(out.get(i), x.get(ravel(target(c, index, i), c.x)));
      }
}

TEST(Scatter, CombinesInOrder) {
  for (const AlongCase& c : kAlongCases)
    for (DType t : kAllDTypes)
      for (Layout l : kLayouts)
        for (ScatterFn fn :
             {ScatterFn::Set, ScatterFn::Add, ScatterFn::Mul, ScatterFn::Min, ScatterFn::Max}) {
          if (product(c.x) > 1000 && t != kFloat) continue;
          const Block before = numbers(c.x, t, l);
          Block x = before, want = before;
          const Block index =
              indices(c.index, c.x.empty() ? 1 : c.x[static_cast<size_t>(c.dim)], l, 4, false);
          const Block src = numbers(c.index, t, l, 8);
          scatter_along(fn, x.array(), c.dim, index.array(), src.array());
          for (int64_t i = 0; i < src.numel(); ++i) {
            const int64_t w = ravel(target(c, index, i), c.x);
            const double a = want.get(w), b = src.get(i);
            double v = b;
            if (fn == ScatterFn::Add) v = a + b;
            if (fn == ScatterFn::Mul) v = a * b;
            if (fn == ScatterFn::Min) v = std::min(a, b);
            if (fn == ScatterFn::Max) v = std::max(a, b);
            if (t == kByte || t == kChar || t == kShort)
              v = static_cast<double>(static_cast<int64_t>(v) & 0xffff);
            if (t == kChar) v = static_cast<int8_t>(static_cast<int64_t>(v));
            if (t == kByte) v = static_cast<uint8_t>(static_cast<int64_t>(v));
            if (t == kShort) v = static_cast<int16_t>(static_cast<int64_t>(v));
            want.set(w, v);
          }
          if (fn == ScatterFn::Mul && (t == kInt || t == kLong || t == kHalf))
            continue;  // may leave the range
          ASSERT_EQ(x.values(), want.values()) << t << static_cast<int>(fn);
        }
}

TEST(Nonzero, FindsInOrder) {
  for (const Shape& s : std::vector<Shape>{{10}, {3, 4}, {2, 3, 5}, {0}, {70001}, {100, 700}})
    for (Layout l : kLayouts) {
      const Block mask = numbers(s, kBool, l, 3);
      Shape want;
      for (int64_t i = 0; i < mask.numel(); ++i)
        if (mask.get(i) != 0)
          for (int64_t v : unravel(i, s)) want.push_back(v);
      const int64_t n = count_true(mask.array());
      ASSERT_EQ(n * static_cast<int64_t>(s.size()), static_cast<int64_t>(want.size()));
      Block out({n, static_cast<int64_t>(s.size())}, kLong, l);
      find_true(mask.array(), out.array());
      for (int64_t i = 0; i < out.numel(); ++i)
        ASSERT_EQ(out.get_int(i), want[static_cast<size_t>(i)]);
    }
}

TEST(Triangle, KeepsOneSide) {
  for (const Shape& s : std::vector<Shape>{{4, 6}, {6, 4}, {2, 3, 3}, {0, 3}, {300, 300}})
    for (Layout l : kLayouts)
      for (bool upper : {false, true})
        for (int64_t diagonal : {-7, -2, 0, 1, 9}) {
          const Block x = numbers(s, kFloat, l);
          Block out(s, kFloat, l);
          triangle(x.array(), out.array(), diagonal, upper);
          for (int64_t i = 0; i < x.numel(); ++i) {
            const Shape at = unravel(i, s);
            const int64_t d = at[s.size() - 1] - at[s.size() - 2];
            ASSERT_EQ(out.get(i), (upper ? d >= diagonal : d <= diagonal) ? x.get(i) : 0);
          }
        }
}

TEST(Flip, ReversesDimensions) {
  const Shape s = {3, 4, 5};
  for (Layout l : kLayouts)
    for (int mask = 0; mask < 8; ++mask) {
      Shape dims;
      for (int64_t d = 0; d < 3; ++d)
        if (mask >> d & 1) dims.push_back(d);
      const Block x = numbers(s, kShort, l);
      Block out(s, kShort, l);
      flip(x.array(), out.array(), dims);
      for (int64_t i = 0; i < x.numel(); ++i) {
        Shape at = unravel(i, s);
        for (int64_t d : dims)
          at[static_cast<size_t>(d)] = s[static_cast<size_t>(d)] - 1 - at[static_cast<size_t>(d)];
        ASSERT_EQ(out.get(i), x.get(ravel(at, s)));
      }
    }
}

TEST(Concatenate, PutsOneAfterAnother) {
  for (int64_t dim : {0, 1, 2})
    for (Layout l : kLayouts)
      for (bool mixed : {false, true}) {
        std::vector<Block> in;
        Shape total = {3, 4, 5};
        total[static_cast<size_t>(dim)] = 0;
        for (int64_t n : {2, 0, 5, 1}) {
          Shape s = {3, 4, 5};
          s[static_cast<size_t>(dim)] = n;
          total[static_cast<size_t>(dim)] += n;
          in.push_back(numbers(s, mixed && n == 5 ? kByte : kFloat, l, static_cast<int>(n) + 1));
        }
        Block out(total, kFloat, l);
        concatenate(arrays_of(in).data(), 4, dim, out.array());
        int64_t start = 0;
        for (const Block& b : in) {
          for (int64_t i = 0; i < b.numel(); ++i) {
            Shape at = unravel(i, b.sizes());
            at[static_cast<size_t>(dim)] += start;
            ASSERT_EQ(out.get(ravel(at, total)), b.get(i));
          }
          start += b.sizes()[static_cast<size_t>(dim)];
        }
      }
}

TEST(Concatenate, ManyBytes) {
  const Block a = numbers({200, 700}, kFloat, Layout::Contiguous),
              b = numbers({200, 900}, kFloat, Layout::Contiguous, 2);
  Block out({200, 1600}, kFloat);
  const Array in[] = {a.array(), b.array()};
  concatenate(in, 2, 1, out.array());
  for (int64_t i = 0; i < 200; ++i) {
    for (int64_t j = 0; j < 700; ++j) ASSERT_EQ(out.get(i * 1600 + j), a.get(i * 700 + j));
    for (int64_t j = 0; j < 900; ++j) ASSERT_EQ(out.get(i * 1600 + 700 + j), b.get(i * 900 + j));
  }
}

TEST(Roll, GoesRound) {
  const Block x = numbers({3, 5}, kInt, Layout::Transposed);
  for (int64_t shift : {0, 2, -1, 7, 5}) {
    Block out({3, 5}, kInt);
    roll(x.array(), out.array(), 1, shift);
    for (int64_t i = 0; i < 3; ++i)
      for (int64_t j = 0; j < 5; ++j)
        ASSERT_EQ(out.get(i * 5 + (((j + shift) % 5) + 5) % 5), x.get(i * 5 + j));
  }
}

}  // namespace
}  // namespace tandem::kernels
