// Channels side by side give what each channel gives by itself, bit for bit.
#include "tandem/kernels/pool.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/kernels/block.h"

namespace tandem::kernels {
namespace {

using test::Block;
using test::Layout;

std::string text_of(const PoolShape& s) {
  std::string text = std::to_string(s.inner) + " channels";
  for (const Extents* e : {&s.in, &s.out, &s.kernel, &s.stride, &s.padding, &s.dilation}) {
    text += " |";
    for (const int64_t n : *e) text += " " + std::to_string(n);
  }
  return text;
}

// All elements of a plane for each of `inner` channels; one channel of it.
std::vector<int64_t> block_sizes(const PoolShape& s, const Extents& e) {
  return {s.planes, e[0], e[1], e[2], s.inner};
}
double some_value(int64_t i) {
  if (i % 97 == 5) return std::nan("");
  if (i % 31 == 7) return -std::numeric_limits<double>::infinity();
  return static_cast<double>(i * 7919 % 23) - 11;  // with equal ones
}
void expect_same_bits(const Block& want, const Block& got, int64_t channel, int64_t inner) {
  for (int64_t i = 0; i < want.numel(); ++i) {
    const double a = want.get(i), b = got.get(i * inner + channel);
    ASSERT_TRUE(std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b))
        << "element " << i << " of channel " << channel << ": " << a << ", " << b;
  }
}

void check_channels(PoolShape s, DType dtype, DType index_dtype) {
  SCOPED_TRACE(text_of(s));
  for (int d = 0; d < 3; ++d)
    s.out[d] =
        (s.in[d] + 2 * s.padding[d] - s.dilation[d] * (s.kernel[d] - 1) - 1) / s.stride[d] + 1;
  PoolShape one = s;
  one.inner = 1;
  const auto all = [&](const Extents& e, DType t, auto value) {
    return Block(block_sizes(s, e), t, Layout::Contiguous, value);
  };
  Block x = all(s.in, dtype, some_value),
        g = all(s.out, dtype, [](int64_t i) { return i % 13 - 6.; });
  Block best(block_sizes(s, s.out), dtype), index(block_sizes(s, s.out), index_dtype);
  Block back(block_sizes(s, s.in), dtype), again(block_sizes(s, s.out), dtype);
  Block mean(block_sizes(s, s.out), dtype), spread(block_sizes(s, s.in), dtype);
  max_pool(x.array(), s, best.array(), index.array());
  pool_scatter(g.array(), index.array(), s, back.array());
  pool_gather(x.array(), index.array(), s, again.array());
  const bool has_means = s.dilation == Extents{1, 1, 1};  // averages know no others
  if (has_means) {
    avg_pool(x.array(), s, {}, mean.array());
    avg_pool_transposed(g.array(), s, {}, spread.array());
  }
  for (int64_t c = 0; c < s.inner; ++c) {
    const auto channel = [&](const Block& of, const Extents& e) {
      return Block(block_sizes(one, e), of.array().dtype, Layout::Contiguous,
                   [&](int64_t i) { return of.get(i * s.inner + c); });
    };
    Block x1 = channel(x, s.in), g1 = channel(g, s.out);
    Block best1(block_sizes(one, s.out), dtype), index1(block_sizes(one, s.out), index_dtype);
    Block back1(block_sizes(one, s.in), dtype), again1(block_sizes(one, s.out), dtype);
    Block mean1(block_sizes(one, s.out), dtype), spread1(block_sizes(one, s.in), dtype);
    max_pool(x1.array(), one, best1.array(), index1.array());
    pool_scatter(g1.array(), index1.array(), one, back1.array());
    pool_gather(x1.array(), index1.array(), one, again1.array());
    expect_same_bits(best1, best, c, s.inner);
    expect_same_bits(index1, index, c, s.inner);
    expect_same_bits(back1, back, c, s.inner);
    expect_same_bits(again1, again, c, s.inner);
    if (!has_means) continue;
    avg_pool(x1.array(), one, {}, mean1.array());
    avg_pool_transposed(g1.array(), one, {}, spread1.array());
    expect_same_bits(mean1, mean, c, s.inner);
    expect_same_bits(spread1, spread, c, s.inner);
  }
}

TEST(Pool, ChannelsSideBySide) {
  const PoolShape shapes[] = {
      {.planes = 3, .in = {1, 28, 28}, .kernel = {1, 2, 2}, .stride = {1, 2, 2}},
      {.planes = 2,
       .in = {1, 7, 9},
       .kernel = {1, 3, 3},
       .stride = {1, 2, 2},
       .padding = {0, 1, 1}},
      {.planes = 2,
       .in = {1, 11, 10},
       .kernel = {1, 3, 2},
       .stride = {1, 1, 1},
       .padding = {0, 1, 1}},
      {.planes = 1, .in = {1, 12, 13}, .kernel = {1, 2, 3}, .stride = {1, 3, 4}},
      {.planes = 2,
       .in = {5, 6, 7},
       .kernel = {2, 3, 3},
       .stride = {2, 1, 2},
       .padding = {1, 1, 1}},
      {.planes = 1,
       .in = {1, 9, 12},
       .kernel = {1, 3, 3},
       .stride = {1, 1, 2},
       .padding = {0, 1, 1},
       .dilation = {1, 2, 2}},
      {.planes = 40, .in = {1, 1, 1}, .kernel = {1, 1, 1}},
  };
  for (PoolShape s : shapes)
    for (const int64_t inner : {8, 16, 5})
      for (const DType dtype : {kFloat, kDouble})
        for (const DType index : {kByte, kLong}) {
          s.inner = inner;
          check_channels(s, dtype, index);
        }
}

}  // namespace
}  // namespace tandem::kernels
