#include "tandem/kernels/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "tandem/base/parallel.h"
#include "tandem/kernels/random_philox.h"
#include "tests/kernels/block.h"

namespace tandem {
namespace {

using kernels::RandomFn;
using test::Block;
using test::kLayouts;
using test::Layout;

// Random123's known answers for philox4x32-10.
TEST(Random, PhiloxKnownAnswers) {
  struct Known {
    uint64_t key, low, high;
    uint32_t want[4];
  };
  const Known all[] = {
      {0, 0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {0x299f31d0a4093822,
       0x85a308d3243f6a88,
       0x0370734413198a2e,
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}};
  for (const Known& k : all) {
    const kernels::PhiloxBlock got = kernels::philox(k.key, k.low, k.high);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(got.word[i], k.want[i]);
  }
}

TEST(Random, VectorLoopIsTheCipher) {
  alignas(64) uint32_t words[4 * 37];
  const uint64_t counter = 0xfffffff0;  // crosses 2^32
  kernels::philox_words(0x123456789abcdef0, counter, 37, words);
  for (uint64_t i = 0; i < 37; ++i) {
    const auto block = kernels::philox(0x123456789abcdef0, counter + i, 0);
    for (uint64_t w = 0; w < 4; ++w) ASSERT_EQ(words[4 * i + w], block.word[w]);
  }
}

const RandomFn kFloatFns[] = {RandomFn::Uniform,   RandomFn::Normal, RandomFn::Exponential,
                              RandomFn::Geometric, RandomFn::Cauchy, RandomFn::LogNormal,
                              RandomFn::Bernoulli};

TEST(Random, ThreadsAndLayoutsDoNotChangeABit) {
  for (DType t : {kFloat, kDouble, kHalf, kBFloat16})
    for (RandomFn fn : kFloatFns) {
      Block want({130, 300}, t);
      set_num_threads(1);
      kernels::fill_random(fn, want.array(), 7, 100, 0.5, 2);
      set_num_threads(2);
      for (Layout layout : kLayouts) {
        Block got({130, 300}, t, layout);
        kernels::fill_random(fn, got.array(), 7, 100, 0.5, 2);
        EXPECT_TRUE(got.same_bits(want)) << int(fn) << name_of(t);
      }
      // A longer array starts with the same numbers.
      Block longer({200, 300}, t);
      kernels::fill_random(fn, longer.array(), 7, 100, 0.5, 2);
      EXPECT_EQ(longer.get(38999), want.get(38999));
      Block other({130, 300}, t);
      kernels::fill_random(fn, other.array(), 8, 100, 0.5, 2);
      EXPECT_FALSE(other.same_bits(want));
    }
}

struct Moments {
  double mean = 0, var = 0, low = 1e300, high = -1e300;
};
Moments moments(const Block& b) {
  Moments m;
  const auto v = b.values();
  for (double x : v) {
    m.mean += x;
    m.low = std::min(m.low, x);
    m.high = std::max(m.high, x);
  }
  m.mean /= static_cast<double>(v.size());
  for (double x : v) m.var += (x - m.mean) * (x - m.mean);
  m.var /= static_cast<double>(v.size());
  return m;
}

TEST(Random, DistributionsHaveTheirMoments) {
  for (DType t : {kFloat, kDouble}) {
    Block x({400000}, t);
    auto run = [&](RandomFn fn, double a, double b) {
      kernels::fill_random(fn, x.array(), 42, 0, a, b);
      return moments(x);
    };
    Moments m = run(RandomFn::Uniform, -1, 3);
    EXPECT_NEAR(m.mean, 1, 0.01);
    EXPECT_NEAR(m.var, 16.0 / 12, 0.01);
    EXPECT_GE(m.low, -1);
    EXPECT_LT(m.high, 3);
    m = run(RandomFn::Normal, 2, 3);
    EXPECT_NEAR(m.mean, 2, 0.02);
    EXPECT_NEAR(m.var, 9, 0.1);
    EXPECT_GT(m.high, 2 + 3 * 4);
    m = run(RandomFn::Exponential, 2, 0);
    EXPECT_NEAR(m.mean, 0.5, 0.005);
    EXPECT_NEAR(m.var, 0.25, 0.01);
    EXPECT_GE(m.low, 0);
    m = run(RandomFn::Geometric, 0.25, 0);
    EXPECT_NEAR(m.mean, 4, 0.03);
    EXPECT_EQ(m.low, 1);
    m = run(RandomFn::Bernoulli, 0.3, 0);
    EXPECT_NEAR(m.mean, 0.3, 0.004);
    m = run(RandomFn::LogNormal, 0, 0.25);
    EXPECT_NEAR(m.mean, std::exp(0.25 * 0.25 / 2), 0.003);
    run(RandomFn::Cauchy, 5, 1);
    auto v = x.values();
    std::nth_element(v.begin(), v.begin() + 200000, v.end());
    EXPECT_NEAR(v[200000], 5, 0.02);
  }
}

TEST(Random, NormalsAreNormal) {
  for (DType t : {kFloat, kDouble}) {
    Block x({200000}, t);
    kernels::fill_random(RandomFn::Normal, x.array(), 3, 0, 0, 1);
    auto v = x.values();
    std::sort(v.begin(), v.end());
    double worst = 0;
    for (size_t i = 0; i < v.size(); ++i) {
      const double cdf = 0.5 * std::erfc(-v[i] / std::sqrt(2.0));
      worst = std::max(worst, std::abs(cdf - (static_cast<double>(i) + 0.5) / 200000));
    }
    EXPECT_LT(worst, 1.6 / std::sqrt(200000));  // Kolmogorov and Smirnov, 1 %
    // Neighbours come from one radius and must not be related.
    const auto w = x.values();
    double related = 0;
    for (size_t i = 0; i < w.size(); i += 2) related += w[i] * w[i + 1];
    EXPECT_LT(std::abs(related / 100000), 0.015);
  }
}

TEST(Random, BoxMullerIsAccurate) {
  std::vector<uint32_t> words(4 * 4096);
  kernels::philox_words(5, 0, 4096, words.data());
  words[0] = 0;
  words[1] = 0;
  words[2] = 0xffffffff;
  words[3] = 0x80000000;
  std::vector<float> f(4 * 4096);
  std::vector<double> d(2 * 4096);
  kernels::normals(words.data(), 4096, f.data());
  kernels::normals(words.data(), 4096, d.data());
  const long double two_pi = 6.283185307179586476925286766559L;
  for (size_t i = 0; i < 2 * 4096; ++i) {
    const float u32 = static_cast<float>(words[2 * i] >> 1) * 0x1p-31f + 0x1p-33f;
    const long double r = std::sqrt(-2 * std::log(static_cast<long double>(u32)));
    const long double angle = two_pi * words[2 * i + 1] * 0x1p-32L;
    ASSERT_NEAR(f[2 * i], static_cast<double>(r * std::cos(angle)), 2e-6);
    ASSERT_NEAR(f[2 * i + 1], static_cast<double>(r * std::sin(angle)), 2e-6);
  }
  for (size_t i = 0; i < 4096; ++i) {
    const uint64_t a = static_cast<uint64_t>(words[4 * i + 1]) << 32 | words[4 * i];
    const uint64_t b = static_cast<uint64_t>(words[4 * i + 3]) << 32 | words[4 * i + 2];
    const long double u = (static_cast<long double>(a >> 11) + 1) * 0x1p-53L;
    const long double r = std::sqrt(-2 * std::log(u));
    const long double angle = two_pi * static_cast<long double>(b) * 0x1p-64L;
    ASSERT_NEAR(d[2 * i], static_cast<double>(r * std::cos(angle)), 2e-15);
    ASSERT_NEAR(d[2 * i + 1], static_cast<double>(r * std::sin(angle)), 2e-15);
  }
}

TEST(Random, UniformBitsAndBounds) {
  Block f({100000}, kFloat), d({100000}, kDouble);
  kernels::fill_random(RandomFn::Uniform, f.array(), 1, 0, 0, 1);
  kernels::fill_random(RandomFn::Uniform, d.array(), 1, 0, 0, 1);
  bool odd = false, fine = false;
  for (int64_t i = 0; i < 100000; ++i) {
    const double x = f.get(i) * 0x1p24;
    ASSERT_EQ(x, std::floor(x));
    odd |= static_cast<int64_t>(x) & 1;
    fine |= static_cast<int64_t>(d.get(i) * 0x1p53) & 1;
    ASSERT_LT(d.get(i), 1);
  }
  EXPECT_TRUE(odd);
  EXPECT_TRUE(fine);
  for (DType t : {kHalf, kBFloat16, kFloat}) {
    Block x({200000}, t);
    kernels::fill_random(RandomFn::Uniform, x.array(), 1, 0, -3, -2);
    const Moments m = moments(x);
    EXPECT_LT(m.high, -2) << name_of(t);
    EXPECT_GE(m.low, -3);
    kernels::fill_random(RandomFn::Uniform, x.array(), 1, 0, 0, 1);
    EXPECT_LT(moments(x).high, 1);
  }
}

TEST(Random, Integers) {
  for (DType t : {kByte, kChar, kShort, kInt, kLong, kFloat}) {
    Block x({60000}, t);
    kernels::fill_random(RandomFn::Integers, x.array(), 9, 0, 3, 9);
    std::vector<int> counts(6, 0);
    for (double v : x.values()) {
      ASSERT_GE(v, 3);
      ASSERT_LT(v, 9);
      ++counts[static_cast<size_t>(v) - 3];
    }
    for (int c : counts) EXPECT_NEAR(c, 10000, 500);
  }
  Block whole({1000}, kLong);
  kernels::fill_integers(whole.array(), 9, 0, std::numeric_limits<int64_t>::min(), 0);
  const Moments m = moments(whole);
  EXPECT_LT(m.low, -8e18);
  EXPECT_GT(m.high, 8e18);
}

TEST(Random, Permutations) {
  for (int64_t n : {0, 1, 2, 1000}) {
    Block x({n}, kLong), y({n}, kLong);
    kernels::fill_permutation(x.array(), 4, 0);
    kernels::fill_permutation(y.array(), 4, 1000);
    auto v = x.values();
    std::sort(v.begin(), v.end());
    for (int64_t i = 0; i < n; ++i) ASSERT_EQ(v[static_cast<size_t>(i)], static_cast<double>(i));
    if (n == 1000) {
      EXPECT_FALSE(x.same_bits(y));
    }
  }
  // Each of the 6 orders of 3 comes up about as often.
  std::vector<int> counts(9 * 3, 0);
  for (uint64_t i = 0; i < 6000; ++i) {
    Block x({3}, kLong);
    kernels::fill_permutation(x.array(), 1, i * 2);
    ++counts[static_cast<size_t>(x.get(0) * 3 + x.get(1))];
  }
  EXPECT_EQ(std::count(counts.begin(), counts.end(), 0), 27 - 6);
  for (int c : counts) {
    if (c > 0) {
      EXPECT_NEAR(c, 1000, 150);
    }
  }
}

TEST(Random, BernoulliByElement) {
  Block p({2, 50000}, kFloat, Layout::Transposed, [](int64_t i) { return i < 50000 ? 0.2 : 0.7; });
  Block x({2, 50000}, kBool);
  kernels::fill_bernoulli(x.array(), 1, 0, p.array());
  double first = 0, second = 0;
  for (int64_t i = 0; i < 50000; ++i) {
    first += x.get(i);
    second += x.get(50000 + i);
  }
  EXPECT_NEAR(first / 50000, 0.2, 0.01);
  EXPECT_NEAR(second / 50000, 0.7, 0.01);
}

TEST(Random, PoissonNumbersHaveTheirDistribution) {
  // Below 10 they are found by search, above by rejection.
  for (double rate : {0.1, 1.0, 3.5, 9.9, 10.0, 12.0, 40.0, 1000.0}) {
    const int64_t n = 40000;
    Block rates({n}, kDouble, Layout::Contiguous, [&](int64_t) { return rate; });
    Block x({n}, kDouble);
    kernels::fill_poisson(x.array(), 1, 7, rates.array());
    double sum = 0, squares = 0, cubes = 0;
    std::map<double, double> seen;
    for (int64_t i = 0; i < n; ++i) {
      const double d = x.get(i) - rate;
      ASSERT_EQ(x.get(i), std::floor(x.get(i)));
      sum += d, squares += d * d, cubes += d * d * d;
      ++seen[x.get(i)];
    }
    // Mean, variance and third central moment are all the rate; five standard errors each.
    EXPECT_NEAR(sum / n, 0, 5 * std::sqrt(rate / n)) << rate;
    EXPECT_NEAR(squares / n, rate, 5 * std::sqrt((rate + 2 * rate * rate) / n)) << rate;
    EXPECT_NEAR(cubes / n, rate,
                5 * std::sqrt((rate + 30 * rate * rate + 15 * std::pow(rate, 3)) / n))
        << rate;
    for (const auto& [k, count] : seen) {
      const double chance = std::exp(k * std::log(rate) - rate - std::lgamma(k + 1));
      EXPECT_NEAR(count / n, chance, 5.5 * std::sqrt(chance / n) + 5.0 / n) << k << " of " << rate;
    }
  }
}

TEST(Random, PoissonNumbersBelongToTheirElement) {
  Block rates({300}, kFloat, Layout::Contiguous, [](int64_t i) { return i % 40; });
  Block all({300}, kFloat), other({300}, kFloat), half({300}, kHalf);
  kernels::fill_poisson(all.array(), 1, 0, rates.array());
  kernels::fill_poisson(other.array(), 1, kernels::counters_used(300), rates.array());
  kernels::fill_poisson(half.array(), 1, 0, rates.array());
  int same = 0;
  for (int64_t i = 0; i < 300; ++i) {
    same += all.get(i) == other.get(i);
    EXPECT_EQ(all.get(i), half.get(i));
    if (i % 40 == 0) {
      EXPECT_EQ(all.get(i), 0);
    }
  }
  EXPECT_LT(same, 90);
  for (double bad : {-1.0, std::nan("")}) {
    rates.set(7, bad);
    EXPECT_THROW(kernels::fill_poisson(all.array(), 1, 0, rates.array()), ValueError);
  }
  rates.set(7, INFINITY);
  kernels::fill_poisson(all.array(), 1, 0, rates.array());
  EXPECT_EQ(all.get(7), INFINITY);
}

TEST(Random, Multinomial) {
  Block w({2, 4}, kFloat, {0, 1, 3, 0, 5, 0, 0, 5});
  Block out({2, 20000}, kLong);
  kernels::fill_multinomial(w.array(), true, 1, 0, out.array());
  std::vector<double> counts(8, 0);
  for (int64_t i = 0; i < 40000; ++i)
    ++counts[static_cast<size_t>((i >= 20000 ? 4 : 0) + out.get_int(i))];
  EXPECT_EQ(counts[0] + counts[3] + counts[5] + counts[6], 0);
  EXPECT_NEAR(counts[1] / 20000, 0.25, 0.02);
  EXPECT_NEAR(counts[4] / 20000, 0.5, 0.02);
  Block few({2, 2}, kLong);
  int ones = 0;
  for (uint64_t c = 0; c < 400; ++c) {
    kernels::fill_multinomial(w.array(), false, 1, c * 4, few.array());
    ASSERT_NE(few.get_int(0), few.get_int(1));
    ASSERT_TRUE(few.get_int(0) == 1 || few.get_int(0) == 2);
    ones += few.get_int(0) == 1;
  }
  EXPECT_NEAR(ones / 400.0, 0.25, 0.08);
  Block three({2, 3}, kLong);
  EXPECT_THROW(kernels::fill_multinomial(w.array(), false, 1, 0, three.array()), ValueError);
  for (double bad : {-1.0, std::nan(""), double(INFINITY)}) {
    w.set(0, bad);
    EXPECT_THROW(kernels::fill_multinomial(w.array(), true, 1, 0, few.array()), ValueError);
  }
  Block zeros({4}, kFloat, {0, 0, 0, 0}), one({1}, kLong);
  EXPECT_THROW(kernels::fill_multinomial(zeros.array(), true, 1, 0, one.array()), ValueError);
}

}  // namespace
}  // namespace tandem
